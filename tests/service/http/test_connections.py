"""One connection cannot hold up the others, whatever comes on it or does not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from faircascade.service.http import connections
from faircascade.service.service import Service
from tests.service.http.applications import app_of, new_service
from tests.service.http.wire import Line, get, listening, post

ASK = json.dumps({"user": "ann", "k": 3}).encode()
SOON = 0.2
"""Seconds, in place of those that a client has."""


@pytest.fixture
def served(tmp_path: Path) -> Service:
    return new_service(tmp_path)


@pytest.fixture
def url(served: Service) -> Iterator[str]:
    with listening(app_of(served)) as url:
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

    async def later(asks: Any) -> Any:
        await asyncio.to_thread(seen.wait)
        return await recommend(asks)

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


@pytest.mark.usefixtures("hurried")
def test_a_connection_on_which_nothing_is_asked_is_closed_without_a_word(url: str) -> None:
    with Line(url) as line:
        assert line.ended()


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

    async def slowly(asks: Any) -> Any:
        await asyncio.sleep(4 * 0.05)
        return await recommend(asks)

    monkeypatch.setattr(served, "recommend", slowly)
    with Line(url) as line:
        line.send(post("/v1/recommendations", ASK) * 2)  # the second one waits for the first
        assert [line.answer()[0] for _ in range(2)] == [200, 200]


# numbers


def test_too_many_connections_are_told_so_and_the_others_go_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(Line(url)) for _ in range(3))
        third.send(get("/v1/policy"))
        status, headers, body = third.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["detail"] == "there are more than 2 connections; try again soon"
        assert third.ended()
        for line in (first, second):
            line.send(get("/healthz"))
            assert line.answer()[0] == 200


def test_far_too_many_connections_are_closed_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 0)
    monkeypatch.setattr(connections, "ROOM", 0)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 3600)
    with Line(url) as line:
        assert line.ended()
