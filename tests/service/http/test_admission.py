"""What is too much is refused at once, and what is let in is answered in time."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.http.admission import PATIENCE, Admission, Limit, Patience
from faircascade.service.service import Service
from tests.service.http.applications import Client, app_of, new_service
from tests.service.http.wire import PATIENCE as TEST_PATIENCE
from tests.service.http.wire import Line, get, listening, post
from tests.service.in_process import Clock

ASK = json.dumps({"user": "ann", "k": 3}).encode()
PATH = "/v1/recommendations"
REFUSED = "there are more requests than can be answered in time; nothing was done, try again"


# the limit


def limit_of(clock: Clock, *, fewest: int = 4, most: int = 64) -> Limit:
    return Limit(PATH, Patience(seconds=0.05, fewest=fewest, most=most), clock)


def answer(limit: Limit, clock: Clock, count: int, seconds: float) -> int:
    """Let requests in at once, and answer them after some seconds; return how many there were."""
    tickets = []
    for _ in range(count):
        if (ticket := limit.ticket()) is not None:
            ticket.arrive()
            tickets.append(ticket)
    clock.now += seconds
    for ticket in tickets:
        ticket.leave(answered=True)
    return len(tickets)


def test_no_more_are_let_in_than_are_answered_in_time() -> None:
    """Each takes 2 ms, one after the other: 25 of them take 50 ms."""
    clock = Clock()
    limit = limit_of(clock)
    sizes = []
    for _ in range(200):
        let_in = min(100, int(limit.size) + (limit.size % 1 > 0))
        assert answer(limit, clock, 100, 0.002 * let_in) == let_in
        sizes.append(let_in)
    assert all(16 <= size <= 27 for size in sizes[50:])


def test_where_answers_come_quickly_the_limit_is_back_at_its_most() -> None:
    clock = Clock()
    limit = limit_of(clock)
    for _ in range(50):
        answer(limit, clock, 64, 1.0)
    assert limit.size == 4
    for _ in range(80):
        answer(limit, clock, 64, 0.001)
    assert limit.size == pytest.approx(64, abs=1)


@given(st.lists(st.tuples(st.integers(1, 200), st.floats(0, 1))))
def test_some_are_always_let_in_and_all_of_them_leave(steps: list[tuple[int, float]]) -> None:
    clock = Clock()
    limit = limit_of(clock)
    for count, seconds in steps:
        let_in = answer(limit, clock, count, seconds)
        assert min(count, 4) <= let_in <= 65
        assert limit.under_way == 0
        assert 4 <= limit.size <= 64


def test_many_old_answers_at_once_are_one_reason_to_shrink() -> None:
    clock = Clock()
    limit = limit_of(clock)
    answer(limit, clock, 60, 1.0)
    assert limit.size == pytest.approx(0.7 * 64)


def test_recommendations_are_refused_before_feedback() -> None:
    ask, feedback = PATIENCE["/v1/recommendations"], PATIENCE["/v1/feedback"]
    assert ask.most <= feedback.fewest
    assert 10 * ask.seconds < feedback.seconds


# over HTTP


@pytest.fixture
def app(served: Service) -> FastAPI:
    return app_of(served)


@pytest.fixture
def served(tmp_path: Path) -> Service:
    return new_service(tmp_path)


@pytest.fixture
def url(app: FastAPI) -> Iterator[str]:
    with listening(app) as url:
        yield url


@contextmanager
def full(app: FastAPI, *paths: str) -> Iterator[None]:
    """Let nothing more in."""
    admission: Admission = app.state.dependencies.admission
    sizes = {path: admission.limits[path].size for path in paths}
    for path in paths:
        admission.limits[path].size = 0.0
    yield
    for path, size in sizes.items():
        admission.limits[path].size = size


def test_what_is_too_much_is_refused_before_anything_is_counted(
    url: str, app: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    with Line(url) as line, httpx.Client(base_url=url) as other:
        with full(app, PATH):
            for name in ("mine", "yours"):
                line.send(post(PATH, ASK, f"X-Request-ID: {name}"))
                status, headers, body = line.answer()
                assert (status, headers["retry-after"], headers["x-request-id"]) == (503, "1", name)
                assert headers["content-type"] == "application/problem+json"
                assert headers["x-content-type-options"] == "nosniff"
                assert "date" in headers
                problem = json.loads(body)
                assert (problem["detail"], problem["request_id"]) == (REFUSED, name)
        line.send(post(PATH, ASK))
        assert line.answer()[0] == 200
        text = other.get("/metrics").text
        assert f'faircascade_shed_total{{route="{PATH}"}} 2.0' in text
        assert f'route="{PATH}",status="503"}} 2.0' in text
        assert other.get("/v1/users/ann").json()["recommendations"] == 1
    assert [record.message for record in caplog.records] == ["too many requests"]


@pytest.mark.parametrize("head", [("Expect: 100-continue",), ("Connection: close",)])
def test_a_refusal_of_a_request_that_is_out_of_the_ordinary_is_the_same(
    url: str, app: FastAPI, head: tuple[str, ...]
) -> None:
    with full(app, PATH), Line(url) as line:
        line.send(post(PATH, ASK, *head))
        status, headers, body = line.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["detail"] == REFUSED


def test_a_body_that_comes_after_the_refusal_is_skipped(url: str, app: FastAPI) -> None:
    request = post(PATH, ASK)
    with Line(url) as line:
        with full(app, PATH):
            line.send(request[:-5])
            assert line.answer()[0] == 503
        line.send(request[-5:] + request)
        assert line.answer()[0] == 200


def test_without_our_server_too_much_is_refused_as_well(service: Service, client: Client) -> None:
    with full(client.app, PATH, "/v1/feedback/batch"):
        for path in (PATH, "/v1/feedback/batch"):
            answer = client.post(path, {})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["detail"] == REFUSED
            assert answer.headers["x-request-id"] == answer.json()["request_id"]
    client.recommend()


def test_probes_and_the_dashboard_are_never_refused(url: str, app: FastAPI) -> None:
    with full(app, *PATIENCE), httpx.Client(base_url=url) as client:
        for path in ("/", "/healthz", "/readyz", "/metrics", "/v1/exposure", "/v1/items"):
            assert client.get(path).status_code == 200


def test_a_body_that_does_not_come_to_an_end_keeps_nobody_out(url: str, app: FastAPI) -> None:
    limit = app.state.dependencies.admission.limits[PATH]
    limit.size = 1.0
    with Line(url) as slow, Line(url) as line:
        slow.send(post(PATH, ASK)[:-3])
        for _ in range(3):
            line.send(post(PATH, ASK))
            assert line.answer()[0] == 200
        slow.send(post(PATH, ASK)[-3:])
        assert slow.answer()[0] == 200
    assert limit.under_way == 0


@pytest.mark.parametrize("body", [ASK, b"{", b""])
def test_a_request_that_is_over_is_under_way_no_more(url: str, app: FastAPI, body: bytes) -> None:
    with Line(url) as line:
        for _ in range(3):
            line.send(post(PATH, body) + get("/healthz"))
            line.answer()
            assert line.answer()[0] == 200
    assert app.state.dependencies.admission.limits[PATH].under_way == 0


def test_a_slate_whose_client_is_gone_is_not_counted_as_shown(
    url: str, app: FastAPI, served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = app.state.dependencies.connections
    recommend, asked, over = served.recommend, threading.Event(), threading.Event()

    async def later(asks: Any, **options: Any) -> Any:
        asked.set()
        while len(pool):
            await asyncio.sleep(0.001)
        try:
            return await recommend(asks, **options)
        finally:
            over.set()

    monkeypatch.setattr(served, "recommend", later)
    with Line(url) as line:
        line.send(post(PATH, ASK))
        assert asked.wait(TEST_PATIENCE)
    assert over.wait(TEST_PATIENCE)
    with httpx.Client(base_url=url) as other:
        assert other.get("/v1/users/ann").status_code == 404
        assert 'status="499"} 1.0' in other.get("/metrics").text
