"""What only a real server and a real connection show."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from faircascade.service.settings import ServiceSettings
from tests.service.http.applications import app_of, new_service
from tests.service.http.wire import Line, get, listening, post

MAX_BODY = 10_000
ASK = json.dumps({"user": "ann", "k": 3}).encode()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    service = new_service(
        tmp_path_factory.mktemp("store"), settings=ServiceSettings(max_body=MAX_BODY)
    )
    with listening(app_of(service)) as url:
        yield url


@pytest.fixture
def line(url: str) -> Iterator[Line]:
    with Line(url) as line:
        yield line


def works(line: Line) -> bool:
    """Return whether the connection can still be used."""
    line.send(post("/v1/recommendations", ASK))
    return line.answer()[0] == 200


def test_a_connection_can_be_used_after_errors_of_every_kind(line: Line) -> None:
    wrong = [
        (404, get("/nowhere")),
        (405, get("/v1/feedback")),
        (406, get("/v1/policy", "Accept: text/html")),
        (415, post("/v1/feedback", b"a=b").replace(b"application/json", b"text/plain")),
        (422, post("/v1/recommendations", b"{")),
        (422, get("/v1/items?limit=0")),
        (404, post("/v1/feedback", b'{"impression_id": "1-a"}')),
    ]
    for status, request in wrong:
        line.send(request)
        assert line.answer()[0] == status
    assert works(line)


def test_a_body_that_is_announced_too_large_is_refused_before_it_comes(line: Line) -> None:
    head, _, _ = post("/v1/recommendations", b"").partition(b"Content-Length")
    line.send(head + b"Content-Length: 50000\r\n\r\n")
    status, headers, body = line.answer()
    assert (status, headers["content-type"]) == (413, "application/problem+json")
    assert json.loads(body)["detail"] == "the body must have at most 10,000 bytes"
    line.send(b"x" * 50_000)  # a client that did not listen sends it all the same
    assert works(line)


def test_a_body_that_grows_too_large_on_the_way_is_refused_and_the_rest_ignored(line: Line) -> None:
    head, _, _ = post("/v1/recommendations", b"").partition(b"Content-Length")
    line.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"400\r\n" + b" " * 0x400 + b"\r\n"
    for _ in range(20):
        line.send(chunk)
    assert line.answer()[0] == 413
    for _ in range(500):
        line.send(chunk)
    line.send(b"0\r\n\r\n")
    assert works(line)


def test_who_asks_before_sending_too_much_is_told_and_the_connection_ends(line: Line) -> None:
    head, _, _ = post("/v1/recommendations", b"").partition(b"Content-Length")
    line.send(head + b"Content-Length: 50000\r\nExpect: 100-continue\r\n\r\n")
    assert line.answer()[0] == 413
    assert line.ended()


def test_who_asks_before_sending_is_told_to_go_on(line: Line) -> None:
    request = post("/v1/recommendations", ASK, "Expect: 100-continue")
    line.send(request.removesuffix(ASK))
    assert line.answer()[0] == 100
    line.send(ASK)
    assert line.answer()[0] == 200


def test_a_body_in_pieces_is_put_together(line: Line) -> None:
    head, _, _ = post("/v1/recommendations", b"").partition(b"Content-Length")
    line.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
    for byte in ASK:
        line.send(b"1\r\n" + bytes([byte]) + b"\r\n")
    line.send(b"0\r\n\r\n")
    assert line.answer()[0] == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/v1/policy", "/v1/items", "/metrics", "/readyz"])
def test_head_is_get_without_the_body(line: Line, path: str) -> None:
    line.send(get(path, method="HEAD"))
    status, headers, _ = line.answer(of_head=True)
    assert (status, headers["content-length"]) != (200, "0")
    assert status == 200
    line.send(get(path))
    status, shown, body = line.answer()
    assert (status, shown["content-type"]) == (200, headers["content-type"])
    assert body


def test_headers_of_a_hundred_kilobytes_are_too_large(line: Line) -> None:
    line.send(get("/v1/policy", "X-Long: " + "x" * 100_000))
    status, _, body = line.answer()
    assert (status, json.loads(body)["title"]) == (431, "Request Header Fields Too Large")
    assert line.ended()


def test_a_path_that_is_not_text_is_refused_rather_than_taken_for_another(line: Line) -> None:
    line.send(get("/v1/users/%FF", method="DELETE"))
    assert line.answer()[0] == 422
    line.send(get("/v1/users/%EF%BF%BD", method="DELETE"))  # a user whose name is just that mark
    assert line.answer()[0] == 404


def test_a_client_that_leaves_in_the_middle_disturbs_nobody(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Line(url) as leaving:
        leaving.send(post("/v1/recommendations", ASK)[:-5])
    with Line(url) as staying:
        assert works(staying)
    assert caplog.records == []


def test_requests_that_come_before_the_answers_are_answered_in_order(line: Line) -> None:
    line.send(b"".join(get(f"/v1/items/{item}") for item in "abc"))
    assert [json.loads(line.answer()[2])["item"] for _ in range(3)] == ["a", "b", "c"]
