"""What errors say, whoever they are from."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from faircascade.client import ServiceError, ServiceUnavailable
from faircascade.service.http import schemas
from tests.client.examples import example
from tests.client.server import Behaviour, Server, does_nothing, refuses, says, shows_a_page


def test_a_refusal_is_told_as_the_service_put_it(server: Server, client: Any) -> None:
    problem = example(schemas.Problem)
    server.will(says(problem, 422), refuses(409, "Conflict", "another answer was learned"))
    with pytest.raises(ServiceError) as caught:
        client.recommend("u", k=0)
    error = caught.value
    assert not isinstance(error, ServiceUnavailable)
    assert (error.status, error.title) == (422, "Unprocessable Content")
    assert error.detail == "body.k must be at least 1, got 0"
    assert [(e.field, e.message) for e in error.errors] == [("body.k", "must be at least 1, got 0")]
    assert error.request_id == "b7c1d0"
    assert str(error) == (
        "422 Unprocessable Content: body.k must be at least 1, got 0 (request b7c1d0)"
    )
    assert str(copy.copy(error)) == str(error)
    with pytest.raises(ServiceError, match="409 Conflict: another answer was learned"):
        client.feedback("x", 1)


def test_an_error_names_the_request_as_the_service_did_or_else_as_it_was_sent(
    server: Server, client: Any
) -> None:
    server.will(
        refuses(404, "Not Found", headers={"X_Request_ID": "abc"}), refuses(404, "Not Found")
    )
    with pytest.raises(ServiceError) as caught:
        client.item("a")
    assert caught.value.request_id == "abc"
    with pytest.raises(ServiceError) as caught:
        client.item("a")
    assert caught.value.request_id == server.seen[1].headers["x-request-id"]


@pytest.mark.parametrize("status", [400, 500, 599])
def test_an_error_page_of_a_proxy_is_an_error_too(server: Server, client: Any, status: int) -> None:
    server.will(shows_a_page(status))
    with pytest.raises(ServiceError, match=r"text/html.* is a proxy in between\?") as caught:
        client.policy()
    assert caught.value.status == status


@pytest.mark.parametrize(
    "answer", [shows_a_page(200), says([]), says({"impression_id": "x"}), does_nothing]
)
def test_something_else_than_the_service_is_not_taken_for_it(
    server: Server, client: Any, answer: Behaviour
) -> None:
    server.will(answer)
    with pytest.raises(ServiceError, match="check the address of the service"):
        client.recommend("u")


def test_a_document_of_another_kind_is_not_taken_for_ours(server: Server, client: Any) -> None:
    server.will(says(["not", "an", "object"]))
    with pytest.raises(ServiceError, match="Unexpected Answer"):
        client.policy()
