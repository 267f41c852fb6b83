"""Every error is a problem document that says what is wrong."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from faircascade.service.http.schemas import Problem
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown, StoreUnsure
from tests.service.http.applications import Client, call_and_leave


def problem(answer: Any, status: int) -> Problem:
    """Return the problem that an answer is."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = Problem.model_validate(answer.json(), strict=True)
    assert found.status == status
    assert found.request_id == answer.headers["x-request-id"]
    return found


ASK = "/v1/recommendations"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"body.user": "is missing"}),
        ({"user": ""}, {"body.user": "must not be empty"}),
        ({"user": None}, {"body.user": "must be text, got null"}),
        ({"user": 7}, {"body.user": "must be text, got 7"}),
        ({"user": "x" * 300}, {"body.user": "must have at most 256 characters, got 300"}),
        (
            {"user": "a\nb"},
            {"body.user": r"must be text without control characters, got 'a\nb'"},
        ),
        ({"user": "a", "k": 0}, {"body.k": "must be at least 1, got 0"}),
        ({"user": "a", "k": 101}, {"body.k": "must be at most 100, got 101"}),
        ({"user": "a", "k": "3"}, {"body.k": "must be a whole number, got '3'"}),
        ({"user": "a", "k": True}, {"body.k": "must be a whole number, got true"}),
        ({"user": "a", "k": 2.5}, {"body.k": "must be a whole number, got 2.5"}),
        ({"user": "a", "k": []}, {"body.k": "must be a whole number, got a list"}),
        ({"user": "a", "candidates": "b"}, {"body.candidates": "must be a list, got 'b'"}),
        ({"user": "a", "candidates": ["b", 1]}, {"body.candidates.1": "must be text, got 1"}),
        ([], {"body": "must be an object, got a list"}),
        (
            {"user": "a", "K": 3, "k": -1},
            {
                "body.k": "must be at least 1, got -1",
                "body.K": "is not a field; there are: user, k, candidates, exclude, where, "
                "at_most, pinned, user_labels",
            },
        ),
    ],
)
def test_a_body_is_told_field_rule_and_value(client: Client, body: Any, expected: Any) -> None:
    found = problem(client.post(ASK, body), 422)
    assert {error.field: error.message for error in found.errors} == expected
    first = found.errors[0]
    assert found.detail.startswith(f"{first.field} {first.message}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "body is empty"),
        (b" \n", "body is empty"),
        (b"{", "body must be JSON: EOF while parsing an object at line 1 column 1"),
        (b'{"user": "a", "k": NaN}', "body.k must be a whole number, got nan"),
        (b'{"user": "\\ud800"}', "body must be JSON: unexpected end of hex escape"),
        (b'{"user": "\xff"}', "body must be JSON: invalid unicode code point"),
        (b"[" * 5000, "body must be JSON: recursion limit exceeded"),
        (b'{"user": "a", "k": ' + b"1" * 5000 + b"}", "body must be JSON: number out of range"),
        ('{"user": "a"}'.encode("utf-16"), "body must be JSON: expected value"),
    ],
)
def test_what_is_not_json_is_told_so(client: Client, text: bytes, expected: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.request("POST", ASK, content=text, headers=headers)
    assert problem(answer, 422).detail.startswith(expected)


def test_no_body_at_all_is_told_so_and_not_asked_for_its_type(client: Client) -> None:
    assert problem(client.request("POST", ASK), 422).detail == "body is empty"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=0", "query.limit must be at least 1, got '0'"),
        ("limit=1001", "query.limit must be at most 1000, got '1001'"),
        ("limit=x", "query.limit must be a whole number, got 'x'"),
        ("offset=-1", "query.offset must be at least 0, got '-1'"),
        ("ofset=1", "query.ofset is not a parameter here"),
    ],
)
def test_a_query_is_told_field_rule_and_value(client: Client, query: str, expected: str) -> None:
    assert problem(client.get(f"/v1/items?{query}"), 422).detail == expected


def test_long_input_is_not_sent_back(client: Client) -> None:
    for body, status in (
        ({"user": ["x"] * 10_000}, 422),
        ({"user": "a", "k": "y" * 10_000}, 422),
        ({"user": "a", "z" * 10_000: 1}, 422),
        ({"user": "a", "candidates": ["\U0001f600" * 256]}, 409),
        ({"user": "a", "k": 10**300}, 422),
        ({"user": "a", **{f"x{n}": n for n in range(10_000)}}, 422),
    ):
        answer = client.post(ASK, body)
        assert problem(answer, status)
        assert len(answer.content) < 2_000


@pytest.mark.parametrize(
    ("entries", "rule"),
    [
        (0, "at least 1 entry"),
        (1_001, "at most 1,000 entries, got 1,001"),
        (10_001, "at most 10,000 entries"),
    ],
)
def test_a_batch_has_some_entries_and_not_too_many(client: Client, entries: int, rule: str) -> None:
    answer = client.post("/v1/recommendations/batch", {"requests": [{"user": "a"}] * entries})
    assert problem(answer, 422).detail == f"body.requests must have {rule}"


def test_nothing_at_a_path_is_a_problem_too(client: Client) -> None:
    for path in ("/nowhere", "/v1", "/v1/items2", "/v1/recommendations/", "/static/", "/static/x"):
        assert problem(client.get(path), 404).title == "Not Found"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/items", "GET, HEAD, POST"),
        ("/v1/items/a", "GET, HEAD, PUT, DELETE"),
        ("/v1/users/a", "GET, HEAD, DELETE"),
        ("/v1/feedback", "POST"),
        ("/", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_told_which_it_takes(
    client: Client, path: str, allowed: str
) -> None:
    answer = client.request("PATCH", path)
    assert answer.headers["allow"] == allowed
    assert problem(answer, 405).detail == f"this path takes {allowed}, got PATCH"


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("application/*;q=0.1", 200),
        ("text/html, */*;q=0.8", 200),
        ("", 200),
        ("text/html", 406),
        ("application/json;q=0, */*", 406),
        ("*/*;q=0.0", 406),
    ],
)
def test_json_is_sent_to_whom_it_suits(client: Client, accept: str, status: int) -> None:
    answer = client.get("/v1/policy", headers={"Accept": accept})
    assert answer.status_code == status
    if status == 406:
        problem(answer, 406)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=UTF-8", 200),
        ('application/json;charset="utf-8"', 200),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
    ],
)
def test_bodies_are_json(client: Client, kind: str, status: int) -> None:
    answer = client.request("POST", ASK, content=b'{"user": "a"}', headers={"Content-Type": kind})
    assert answer.status_code == status
    if status == 415:
        assert problem(answer, 415).detail.endswith(f"got {kind!r}")


def test_a_store_that_is_down_is_a_reason_to_try_again(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any, **__: Any) -> Any:
        raise StoreDown("/secret/place: disk I/O error")

    monkeypatch.setattr(service.store, "begin_round", down)
    answer = client.post(ASK, {"user": "a"})
    assert answer.headers["retry-after"] == "1"
    assert "secret" not in problem(answer, 503).detail
    assert "faircascade_store_errors_total 1.0" in client.get("/metrics").text


@pytest.mark.parametrize("batch", [False, True])
def test_a_store_that_does_not_say_whether_it_counted_a_slate_is_504(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    async def unsure(*_: Any, **__: Any) -> Any:
        raise StoreUnsure("cache:6379: no answer in time")

    monkeypatch.setattr(service.store, "record", unsure)
    ask = {"user": "a"}
    path, body = (f"{ASK}/batch", {"requests": [ask]}) if batch else (ASK, ask)
    answer = client.post(path, body)
    assert "retry-after" not in answer.headers
    problem(answer, 504)
    assert "faircascade_store_errors_total 1.0" in client.get("/metrics").text
    responses = client.get("/openapi.json").json()["paths"][path]["post"]["responses"]
    assert {"503", "504"} <= responses.keys()


def test_an_error_of_ours_is_logged_and_not_shown(
    client: Client,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(service, "recommend", broken)
    answer = client.post(ASK, {"user": "a"})
    found = problem(answer, 500)
    assert "secret" not in answer.text
    assert found.request_id in found.detail
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info
    assert vars(record)["request_id"] == found.request_id
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("given", ["a", "A.b_c-9", "x" * 64])
def test_a_sane_request_id_is_kept(client: Client, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, '"', "a\u00e9", "<script>"])
def test_any_other_request_id_is_replaced(client: Client, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-ID": given.encode("latin-1")})
    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 16


def test_no_answer_is_open_to_other_sites(client: Client) -> None:
    origin = {"Origin": "http://elsewhere", "Access-Control-Request-Method": "POST"}
    for method, path in (("GET", "/v1/policy"), ("OPTIONS", ASK), ("GET", "/")):
        answer = client.request(method, path, headers=origin)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_client_that_is_gone_is_not_an_error(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.run(call_and_leave, client.app, ASK)
    assert caplog.records == []
    assert 'status="499"' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/items?offset=0&offset=5", "query.offset must be given once, got 2"),
        ("/v1/items?offset=0&limit=1&off%73et=0", "query.offset must be given once, got 2"),
        ("/v1/exposure?window=&window=1h&window=all", "query.window must be given once, got 3"),
        ("/v1/policy?x&x", "query.x must be given once, got 2"),
    ],
)
def test_a_parameter_that_is_given_twice_is_not_guessed(
    client: Client, path: str, detail: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == 422
    assert answer.json()["detail"] == detail


def test_every_parameter_that_is_given_twice_is_named(client: Client) -> None:
    answer = client.get("/v1/items?offset=0&limit=5&offset=1&limit=6").json()
    assert [error["field"] for error in answer["errors"]] == ["query.offset", "query.limit"]
    assert client.get("/v1/items?offset=0&limit=5").status_code == 200
