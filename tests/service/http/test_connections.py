"""One connection cannot hold up the others, whatever comes on it or does not."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from faircascade.service.http import connection_pool, connections
from faircascade.service.http.connection_pool import ConnectionPool
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from tests.service.http.applications import app_of, new_service
from tests.service.http.wire import PATIENCE, Line, get, listening, post

ASK = json.dumps({"user": "ann", "k": 3}).encode()
SOON = 0.2
"""Seconds, in place of those that a client has."""


@pytest.fixture
def served(tmp_path: Path) -> Service:
    return new_service(tmp_path)


@pytest.fixture
def app(served: Service) -> FastAPI:
    return app_of(served)


@pytest.fixture
def pool(app: FastAPI) -> ConnectionPool:
    found: ConnectionPool = app.state.dependencies.connections
    return found


@pytest.fixture
def url(app: FastAPI) -> Iterator[str]:
    with listening(app) as url:
        yield url


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    monkeypatch.setattr(connections, "BODY_SECONDS", SOON)


def refused(line: Line, status: int) -> str:
    """Return the detail of the problem that is answered, after which the connection ends."""
    got, headers, body = line.answer()
    problem = json.loads(body)
    assert (got, problem["status"]) == (status, status)
    assert headers["content-type"] == "application/problem+json"
    assert headers["x-request-id"] == problem["request_id"]
    assert headers["connection"] == "close"
    assert line.ended()
    return str(problem["detail"])


# sizes


def flood(line: Line, size: int) -> None:
    piece = b"x" * 2**16
    for _ in range(size // len(piece)):
        line.send(piece)


def test_a_header_that_never_ends_is_refused_and_holds_up_nobody(url: str) -> None:
    with Line(url) as line, httpx.Client(base_url=url) as other:
        other.get("/healthz")
        line.send(b"GET /v1/policy HTTP/1.1\r\nHost: x\r\nX-Long: ")
        flooding = threading.Thread(target=flood, args=(line, 50_000_000))
        flooding.start()
        meanwhile = 0
        while flooding.is_alive():
            assert other.get("/healthz").status_code == 200
            meanwhile += 1
        flooding.join()
        assert meanwhile > 1
        assert refused(line, 431) == "all header fields must have at most 65,536 bytes together"


@pytest.mark.parametrize("piece", [b"A: b\r\n", b"X-Some: thing\r\n"])
def test_headers_that_never_end_are_refused(url: str, piece: bytes) -> None:
    with Line(url) as line:
        line.send(get("/v1/policy").removesuffix(b"\r\n") + piece * (200_000 // len(piece)))
        refused(line, 431)


def test_a_path_that_never_ends_is_refused(url: str) -> None:
    with Line(url) as line:
        line.send(b"GET /" + b"x" * 200_000)
        refused(line, 431)


def test_what_comes_after_a_body_in_pieces_cannot_be_endless_either(url: str) -> None:
    head, _, _ = post("/v1/recommendations", b"").partition(b"Content-Length")
    with Line(url) as line:
        line.send(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Long: " + b"x" * 200_000)
        refused(line, 431)


def test_a_head_of_just_less_and_a_body_of_much_more_are_fine(url: str) -> None:
    body = json.dumps({"user": "ann", "k": 3, "exclude": ["x" * 200] * 5_000}).encode()
    assert len(body) > 1_000_000
    with Line(url) as line:
        for _ in range(2):
            line.send(post("/v1/recommendations", body, "X-Long: " + "x" * 65_000))
            assert line.answer()[0] == 200


def test_what_is_not_http_is_a_problem_too(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with Line(url) as line:
        line.send(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        assert refused(line, 400) == "the request is not HTTP"


def test_a_refusal_is_not_taken_for_the_answer_to_an_earlier_request(
    url: str, served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommend, seen = served.recommend, threading.Event()

    async def later(asks: Any, **options: Any) -> Any:
        await asyncio.to_thread(seen.wait)
        return await recommend(asks, **options)

    monkeypatch.setattr(served, "recommend", later)
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK) + b"\x16\x03\x01\r\n\r\n")
        assert line.ended()
    seen.set()


def test_a_wish_for_another_protocol_is_not_logged(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Line(url) as line:
        line.send(get("/healthz", "Connection: Upgrade", "Upgrade: websocket"))
        assert line.answer()[0] == 200
    assert caplog.records == []


# times


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("part", [b"G", b"GET /v1/policy HTTP/1.1\r\nHost: x\r\nX-", b"\r\n"])
def test_a_head_that_does_not_come_to_an_end_is_not_waited_for(url: str, part: bytes) -> None:
    with Line(url) as line:
        line.send(part)
        assert refused(line, 408) == "the head of the request must be here within 0.2 seconds"


@pytest.mark.usefixtures("hurried")
def test_a_body_that_does_not_come_to_an_end_is_not_waited_for(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK)[:-3])
        assert refused(line, 408) == "the body of the request must be here within 0.2 seconds"
    assert caplog.records == []


def test_a_connection_on_which_nothing_is_asked_is_closed_without_a_word(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE", SOON)
    with Line(url) as line:
        assert line.ended()


def test_a_connection_that_was_opened_in_advance_waits_for_its_first_request(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    with Line(url) as early, Line(url) as late:
        early.send(b"G")
        refused(early, 408)  # as long as a head may take is over for both
        late.send(post("/v1/recommendations", ASK))
        assert late.answer()[0] == 200


@pytest.mark.usefixtures("hurried")
def test_the_second_request_has_as_much_time_as_the_first(url: str) -> None:
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK))
        assert line.answer()[0] == 200
        line.send(b"GET /v1/po")
        refused(line, 408)


@pytest.mark.usefixtures("hurried")
def test_a_body_that_nobody_wants_is_not_waited_for_either(url: str) -> None:
    with Line(url) as line:
        line.send(post("/nowhere", ASK)[:-3])
        assert line.answer()[0] == 404
        assert line.ended()


def test_the_service_may_take_longer_than_the_client(
    url: str, served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(connections, name, 0.05)
    recommend = served.recommend

    async def slowly(asks: Any, **options: Any) -> Any:
        await asyncio.sleep(4 * 0.05)
        return await recommend(asks, **options)

    monkeypatch.setattr(served, "recommend", slowly)
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK) * 2)  # the second one waits for the first
        assert [line.answer()[0] for _ in range(2)] == [200, 200]


# answers that are not taken


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connections, name, SOON)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("last", [(), ("Connection: close",)])
def test_a_client_that_does_not_read_is_cut_off(
    url: str, pool: ConnectionPool, last: tuple[str, ...]
) -> None:
    with Line(url, source="127.0.0.2") as line:
        line.send(get("/static/scalar.js") * 3 + get("/static/scalar.js", *last))
        until(lambda: len(pool) == 1)
        until(lambda: len(pool) == 0)


def test_where_too_much_waits_to_be_taken_the_slowest_is_cut_off(
    url: str, pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(httpx.get(f"{url}/static/scalar.js").content)
    monkeypatch.setattr(connection_pool, "UNTAKEN", size)
    with ExitStack() as stack:
        lines = []
        for _ in range(3):
            lines.append(stack.enter_context(Line(url)))
            lines[-1].send(get("/static/scalar.js") * 10)
            until(lambda: len(pool) == 1 and not pool.resting)
        for _ in range(10):
            assert len(lines[-1].answer()[2]) == size
        assert len(lines[0].read()) < 10 * size


@pytest.mark.usefixtures("impatient")
def test_a_client_that_reads_slowly_gets_all_of_it(url: str) -> None:
    size = len(httpx.get(f"{url}/static/scalar.js").content)
    with Line(url) as line:
        line.send(get("/static/scalar.js") * 5)
        assert [len(line.answer()[2]) for _ in range(5)] == [size] * 5


def test_more_requests_than_may_wait_on_a_connection_are_refused(
    url: str, served: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommend, sent = served.recommend, threading.Event()

    async def later(asks: Any, **options: Any) -> Any:
        await asyncio.to_thread(sent.wait)
        return await recommend(asks, **options)

    monkeypatch.setattr(served, "recommend", later)
    monkeypatch.setattr(connections, "MOST_PIPELINED", 3)
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK) + get("/healthz") * 1_000)
        sent.set()
        assert [line.answer()[0] for _ in range(4)] == [200] * 4
        assert refused(line, 429) == (
            "at most 3 requests may wait on a connection; "
            "wait for answers, or open another connection"
        )


# numbers


@contextmanager
def full(folder: Path, **settings: Any) -> Iterator[tuple[str, ConnectionPool]]:
    """Serve with few connections; yield the address, and who is connected."""
    app = app_of(new_service(folder, settings=ServiceSettings(**settings)))
    with listening(app) as url:
        yield url, app.state.dependencies.connections


def asks(line: Line) -> bool:
    line.send(get("/healthz"))
    return line.answer()[0] == 200


def test_the_connection_that_rests_for_the_longest_makes_room(tmp_path: Path) -> None:
    with full(tmp_path, max_connections=3) as (url, _), ExitStack() as stack:
        first, second, third = (stack.enter_context(Line(url)) for _ in range(3))
        assert asks(second)
        assert asks(third)
        assert asks(first)
        fourth = stack.enter_context(Line(url))
        assert second.ended()
        assert all(asks(line) for line in (first, third, fourth))


def test_a_connection_that_is_one_too_many_is_told_so_and_the_others_go_on(tmp_path: Path) -> None:
    with full(tmp_path, max_connections=2) as (url, pool), ExitStack() as stack:
        busy = [stack.enter_context(Line(url)) for _ in range(2)]
        for line in busy:
            line.send(post("/v1/recommendations", ASK)[:-3])
        until(lambda: len(pool) - len(pool.resting) == 2)
        third = stack.enter_context(Line(url))
        third.send(get("/v1/policy"))
        status, headers, body = third.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["detail"] == (
            "there are 2 connections, the most there may be; try again soon"
        )
        assert third.ended()
        for line in busy:
            line.send(post("/v1/recommendations", ASK)[-3:])
            assert line.answer()[0] == 200
        with httpx.Client(base_url=url) as other:
            assert "faircascade_connections_refused_total" in other.get("/metrics").text


def test_one_address_leaves_room_for_others(tmp_path: Path) -> None:
    with full(tmp_path, max_connections_per_peer=2) as (url, pool), ExitStack() as stack:
        mine = [stack.enter_context(Line(url)) for _ in range(2)]
        assert all(asks(line) for line in mine)
        other = stack.enter_context(Line(url, source="127.0.0.2"))
        third = stack.enter_context(Line(url))
        assert mine[0].ended()
        assert all(asks(line) for line in (mine[1], third, other))
        for line in (mine[1], third):
            line.send(post("/v1/recommendations", ASK)[:-3])
        until(lambda: len(pool) - len(pool.resting) == 2)
        fourth = stack.enter_context(Line(url))
        assert refused(fourth, 503) == (
            "127.0.0.1 has 2 connections, the most from one address; "
            "close some, or start the service with --proxy ADDRESS if it is a proxy"
        )
        assert asks(other)


def test_there_are_no_more_connections_than_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (200, 4096))
    most = connection_pool.most_connections(850)
    assert 0 < most <= 200 - connection_pool.ROOM
    assert "ulimit -n" in caplog.text
    caplog.clear()
    assert connection_pool.most_connections(most) == most
    assert caplog.records == []


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_peer"])
def test_of_a_burst_each_is_answered_and_none_makes_room_for_the_next(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "NEW", 3600.0)
    with full(tmp_path, **{limit: 2}) as (url, _), ExitStack() as stack:
        burst = [stack.enter_context(Line(url)) for _ in range(4)]
        for line in burst:
            line.send(get("/healthz"))
        assert [line.answer()[0] for line in burst] == [200, 200, 503, 503]


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_peer"])
def test_a_connection_that_has_not_asked_for_a_while_makes_room(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "NEW", 0.0)
    with full(tmp_path, **{limit: 1}) as (url, _), Line(url) as first, Line(url) as second:
        assert first.ended()
        assert asks(second)


def test_a_burst_of_one_address_leaves_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "NEW", 3600.0)
    with full(tmp_path, max_connections=2) as (url, _), ExitStack() as stack:
        mine = [stack.enter_context(Line(url)) for _ in range(2)]
        other = stack.enter_context(Line(url, source="127.0.0.2"))
        assert mine[0].ended()
        assert all(asks(line) for line in (mine[1], other))


@pytest.mark.parametrize("proxy", ["127.0.0.1", "127.0.0.0/24"])
def test_a_proxy_may_have_all_connections(tmp_path: Path, proxy: str) -> None:
    with (
        full(tmp_path, max_connections_per_peer=1, proxies=(proxy,)) as (url, _),
        ExitStack() as stack,
    ):
        assert all(asks(line) for line in [stack.enter_context(Line(url)) for _ in range(5)])


def test_far_too_many_connections_are_answered_and_closed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "ROOM", 0)
    monkeypatch.setattr(connections, "LINGER_SECONDS", 3600)
    with full(tmp_path, max_connections=1) as (url, pool), Line(url) as first:
        first.send(post("/v1/recommendations", ASK)[:-3])
        until(lambda: len(pool) - len(pool.resting) == 1)
        with Line(url) as line:
            refused(line, 503)


# bodies


def test_large_bodies_together_are_bounded_and_small_ones_are_always_taken(tmp_path: Path) -> None:
    large = json.dumps({"user": "ann", "exclude": ["x" * 250] * 3_000}).encode()
    size = len(large)
    with full(tmp_path, max_body=size, max_bodies=size) as (url, _), ExitStack() as stack:
        first, second, small = (stack.enter_context(Line(url)) for _ in range(3))
        first.send(post("/v1/recommendations", large)[:-100_000])
        until(lambda: no_room(url, large))
        second.send(post("/v1/recommendations", large))
        status, headers, body = second.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["detail"] == (
            f"bodies under way may have {size:,} bytes together, and these are in use; "
            "try again soon, or send less than 65,536 bytes, which are always taken"
        )
        small.send(post("/v1/recommendations", ASK))
        assert small.answer()[0] == 200
        first.send(large[-100_000:])
        assert first.answer()[0] == 200
        second.send(post("/v1/recommendations", large))
        assert second.answer()[0] == 200


def no_room(url: str, body: bytes) -> bool:
    """Tell whether a large body is refused."""
    with Line(url) as line:
        line.send(post("/v1/recommendations", body))
        return line.answer()[0] == 503


def until(true: Callable[[], bool]) -> None:
    """Wait for something that the server does in its own time."""
    late = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < late
        time.sleep(0.01)
