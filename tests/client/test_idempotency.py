"""Which calls are sent again after a failure, and when."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from faircascade.client import Item, ServiceError, ServiceUnavailable
from faircascade.service.http import schemas
from tests.client.examples import IMPRESSION, RECEIPT, example
from tests.client.server import (
    Behaviour,
    Server,
    breaks_off,
    does_nothing,
    hanging_up,
    hangs,
    refuses,
    says,
    shows_a_page,
    trickles,
)

SHOWN = says(example(schemas.Recommendation))
LEARNED = says(example(schemas.FeedbackReceipt))
OVERLOADED = refuses(503, "Service Unavailable", "the store is away")

UNSURE = refuses(504, "Gateway Timeout", "the store did not say whether it counted the list")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "failure",
    [OVERLOADED, refuses(429, "Too Many Requests"), shows_a_page(502), UNSURE],
    ids=["503", "429", "502", "504"],
)
def test_what_can_be_repeated_is_until_it_succeeds(
    server: Server, client: Any, slept: list[float], failure: Behaviour
) -> None:
    for call, success in [
        (lambda: client.feedback("x", 2), LEARNED),
        (lambda: client.policy(), says({})),
        (lambda: client.put_items([Item("a", [1.0])]), says({"changed": 1, "total": 1})),
        (lambda: client.remove_item("a"), does_nothing),
    ]:
        slept.clear()
        server.will(failure, failure, success)
        call()
        assert len(server.seen) == 3
        assert len({seen.headers["x-request-id"] for seen in server.seen}) == 1
        assert len(slept) == 2
        assert slept[0] <= 0.1
        assert slept[1] <= 0.2


def test_every_call_has_a_request_id_of_its_own(server: Server, client: Any) -> None:
    server.will(says({}), says({}))
    client.policy()
    client.policy()
    assert len({seen.headers["x-request-id"] for seen in server.seen}) == 2


@pytest.mark.parametrize("failure", [breaks_off, hangs])
def test_feedback_is_repeated_after_a_lost_answer(
    server: Server, connect: Any, failure: Behaviour
) -> None:
    server.will(failure, LEARNED)
    assert connect(server.url, timeout=0.2).feedback(IMPRESSION, 2) == RECEIPT
    assert len(server.seen) == 2


@pytest.mark.parametrize("failure", [OVERLOADED, refuses(429, "Too Many Requests")])
def test_a_recommendation_is_repeated_if_the_service_did_nothing(
    server: Server, client: Any, failure: Behaviour
) -> None:
    server.will(failure, failure, SHOWN)
    assert client.recommend("user-7") == IMPRESSION
    assert len(server.seen) == 3


@pytest.mark.parametrize("failure", [breaks_off, hangs, shows_a_page(502), UNSURE])
def test_a_recommendation_is_never_repeated_if_it_may_have_been_counted(
    server: Server, connect: Any, slept: list[float], failure: Behaviour
) -> None:
    server.will(failure)
    with pytest.raises(ServiceUnavailable) as caught:
        connect(server.url, timeout=0.2).recommend("user-7")
    assert len(server.seen) == 1
    assert not slept
    assert "may have been counted" in str(caught.value)


def test_a_connection_that_is_closed_without_a_word_is_lost(connect: Any) -> None:
    with hanging_up() as (url, heard):
        client = connect(url, retries=2)
        with pytest.raises(ServiceUnavailable, match="may have been counted"):
            client.recommend("u")
        assert len(heard) == 1
        with pytest.raises(ServiceUnavailable, match=r"broke .*gave up after 3 attempts"):
            client.feedback("x")
        assert len(heard) == 4


def test_without_a_service_every_call_is_tried_again(connect: Any, slept: list[float]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ServiceUnavailable) as caught:
        connect(url, retries=3).recommend("u")
    assert len(slept) == 3
    assert caught.value.status is None
    for words in (url, "could not connect", "check that the service is running", "4 attempts"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("failure", "attempts", "message"),
    [
        (httpx.ConnectTimeout, 3, "could not connect to http://service within 5 s"),
        (httpx.PoolTimeout, 3, "none of the client's 100 connections was free within 5 s"),
        (httpx.WriteTimeout, 1, "no answer from http://service within 5 s"),
        (httpx.ReadError, 1, r"the connection to http://service broke \(ReadError\('x'\)\)"),
        (httpx.DecodingError, 1, "the connection to http://service broke"),
    ],
)
def test_a_recommendation_is_sent_again_only_if_it_was_not(
    connect: Any, failure: type[httpx.RequestError], attempts: int, message: str
) -> None:
    sent = []

    def fail(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise failure("x", request=request)

    client = connect("http://service", retries=2, transport=httpx.MockTransport(fail))
    with pytest.raises(ServiceUnavailable, match=message):
        client.recommend("u")
    assert len(sent) == attempts


def test_an_answer_that_never_ends_is_given_up_at_the_deadline(
    server: Server, connect: Any
) -> None:
    server.will(trickles)
    with pytest.raises(ServiceUnavailable, match="too slowly"):
        connect(server.url, deadline=0.2).feedback("x")


def test_a_removal_whose_answer_was_lost_succeeds_though_the_item_is_gone(
    server: Server, client: Any
) -> None:
    server.will(breaks_off, refuses(404, "Not Found"))
    assert client.remove_item("a") is None
    server.will(OVERLOADED, refuses(404, "Not Found"))
    with pytest.raises(ServiceError, match="Not Found"):
        client.remove_item("a")


def test_the_service_says_when_to_come_back_within_bounds(
    server: Server, client: Any, slept: list[float]
) -> None:
    def busy(after: str) -> Behaviour:
        return refuses(429, "Too Many Requests", headers={"Retry_After": after})

    server.will(busy("3"), busy("3600"), busy("Wed, 21 Oct 2015 07:28:00 GMT"), busy("soon"), SHOWN)
    client.recommend("user-7")
    assert 3 <= slept[0] <= 3.1
    assert 10 <= slept[1] <= 10.2
    assert slept[2] <= 0.4
    assert slept[3] <= 0.8


def test_retries_are_counted_and_none_may_be_wanted(server: Server, connect: Any) -> None:
    server.will(OVERLOADED)
    with pytest.raises(ServiceUnavailable, match="503 Service Unavailable: the store is away"):
        connect(server.url, retries=0).policy()
    server.will(*[OVERLOADED] * 3)
    with pytest.raises(ServiceUnavailable, match="gave up after 3 attempts"):
        connect(server.url, retries=2).policy()
