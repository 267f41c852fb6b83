"""Every event is acknowledged or refused, and what the service cannot do now is waited for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from faircascade.client import ServiceError
from faircascade.service.imports import delivery as module
from faircascade.service.imports.delivery import Delivered, Delivery, ImportStopped
from faircascade.service.imports.events import Record
from faircascade.service.imports.order import spans
from tests.service.imports.fake_service import FakeService, problem, with_client


def feedback(name: str) -> dict[str, Any]:
    return {"type": "feedback", "impression_id": name, "clicked_position": 1}


def put(name: str) -> dict[str, Any]:
    return {"type": "put_item", "item": name, "features": [0.5]}


def remove(name: str) -> dict[str, Any]:
    return {"type": "remove_item", "item": name}


def erase(name: str) -> dict[str, Any]:
    return {"type": "erase_user", "user": name}


def deliver(service: FakeService, *events: Any, batch: int = 3) -> Delivered:
    """Deliver events that are one span."""
    records = [
        Record(event if isinstance(event, bytes) else json.dumps(event).encode(), str(n))
        for n, event in enumerate(events)
    ]
    ((_, span),) = spans(records)
    return with_client(
        service, lambda client: Delivery(client, batch=batch, requests=2).deliver(span)
    )


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    return FakeService()


def reasons(delivered: Delivered) -> dict[str, str]:
    return {refusal.record.at: refusal.reason for refusal in delivered.in_order()}


def test_events_of_all_kinds_are_acknowledged_and_counted(service: FakeService) -> None:
    found = deliver(service, feedback("a"), put("x"), feedback("b"), remove("x"), put("y"))
    assert sorted(service.done) == ["+x", "+y", "-x", "a", "b"]
    assert [one for one in service.done if one[0] in "+-"] == ["+x", "-x", "+y"]
    assert (found.counts.feedback, found.counts.items_changed, found.counts.items_removed) == (
        2,
        2,
        1,
    )
    assert deliver(service, erase("ada"), erase("bob")).counts.users_erased == 2


def test_what_is_sent_is_what_the_api_takes(service: FakeService) -> None:
    deliver(service, {**feedback("a"), "shown": 4})
    assert json.loads(service.requests[-1].content) == {
        "feedback": [{"impression_id": "a", "clicked_position": 1, "shown": 4}]
    }


def test_refused_feedback_does_not_hold_up_the_rest(service: FakeService) -> None:
    service.refuses = {"b": 404, "d": 409}
    found = deliver(service, *map(feedback, "abcde"), b"nonsense")
    assert sorted(service.done) == ["a", "c", "e"]
    assert found.counts.refused == 3
    assert reasons(found)["1"] == "b is refused"
    assert [refusal.status for refusal in found.in_order()] == [404, 409, None]


def test_an_item_that_is_refused_is_taken_out_of_its_batch(service: FakeService) -> None:
    service.refuses = {"c": 422}
    found = deliver(service, *map(put, "abcdefg"), batch=7)
    assert service.done == [f"+{name}" for name in "abdefg"]
    assert reasons(found) == {"2": "body.items.0.features are wrong"}


def test_a_service_that_takes_smaller_batches_gets_smaller_ones(service: FakeService) -> None:
    service.largest = 2
    assert deliver(service, *map(feedback, "abcdefg"), batch=7).counts.feedback == 7
    assert sorted(service.done) == list("abcdefg")


def test_what_is_gone_already_counts_as_removed(service: FakeService) -> None:
    service.refuses = {"x": 404, "ada": 404, "last": 409}
    found = deliver(service, remove("x"), remove("last"))
    assert (found.counts.items_removed, reasons(found)) == (1, {"1": "last is refused"})
    assert deliver(service, erase("ada")).counts.users_erased == 1


def test_a_service_that_is_away_or_overloaded_is_waited_for(service: FakeService) -> None:
    troubles = [
        problem(503, Retry_After="1"),
        problem(429, Retry_After="2"),
        problem(504),
        httpx.Response(502, text="<html>"),
        httpx.Response(404, text="<html>a proxy without its service</html>"),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
    ] * 20

    def trouble(request: httpx.Request) -> httpx.Response | None:
        if request.url.path == "/v1/policy" or not troubles:
            return None
        found = troubles.pop()
        if isinstance(found, Exception):
            raise found
        return found

    service.trouble = trouble
    assert deliver(service, *map(feedback, "abcd")).counts.feedback == 4
    assert not troubles


def test_an_event_that_breaks_the_service_is_refused_in_the_end(service: FakeService) -> None:
    def trouble(request: httpx.Request) -> httpx.Response | None:
        return problem(500, "internal error") if b'"bad"' in request.content else None

    service.trouble = trouble
    found = deliver(service, feedback("a"), feedback("bad"), feedback("c"))
    assert sorted(service.done) == ["a", "c"]
    assert reasons(found) == {"1": "internal error"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_ends_the_import(service: FakeService, status: int) -> None:
    def trouble(request: httpx.Request) -> httpx.Response | None:
        return None if request.url.path == "/v1/policy" else problem(status, "the key is wrong")

    service.trouble = trouble
    with pytest.raises(ImportStopped, match="the key is wrong"):
        deliver(service, feedback("a"))


def test_something_that_is_no_service_is_noticed_at_the_start(service: FakeService) -> None:
    service.trouble = lambda request: httpx.Response(404, text="<html>")

    async def nothing(_: Any) -> None:
        await asyncio.sleep(0)

    with pytest.raises(ServiceError, match="is not the service's"):
        with_client(service, nothing)
