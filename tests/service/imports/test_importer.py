"""What is committed was acknowledged, in order, whenever the import stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.importer import Importer, ImportResult
from faircascade.service.imports.outage import Outage
from faircascade.service.imports.sources.base import EventSource, SourceDown, SourceOptions
from tests.service.imports.fake_service import FakeService, problem


class Shelf(EventSource):
    """Events from a list; remembers what was committed, and checks it."""

    name = "a shelf"

    def __init__(self, events: Sequence[Any], service: FakeService, *, endless: bool) -> None:
        self.records = [Record(json.dumps(e).encode(), str(n)) for n, e in enumerate(events)]
        self.service = service
        self.endless = endless
        self.read_so_far = self.committed = 0
        self.refusals: list[Refusal] = []
        self.closed = False
        self.failures = 0
        """How often it does not answer before it does."""

    @classmethod
    def from_address(cls, address: str, options: SourceOptions) -> Shelf:
        raise NotImplementedError

    async def open(self) -> None:
        self._fail()

    async def read(self, most: int) -> Sequence[Record] | None:
        self._fail()
        await asyncio.sleep(0.001)
        found = self.records[self.read_so_far : self.read_so_far + most]
        self.read_so_far += len(found)
        return found or ([] if self.endless else None)

    async def commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        self._fail()
        begin = self.committed
        assert [int(record.at) for record in records] == list(range(begin, begin + len(records)))
        for record in records:
            assert _done_name(json.loads(record.text)) in self.service.done
        self.committed += len(records)
        self.refusals += refusals

    async def close(self) -> None:
        self.closed = True

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise SourceDown("not now")


def _done_name(event: dict[str, Any]) -> str:
    return event.get("impression_id") or f"!{event['user']}"


def feedback(n: int) -> dict[str, Any]:
    return {"type": "feedback", "impression_id": f"i{n}"}


def run(shelf: Shelf, service: FakeService, **options: Any) -> ImportResult:
    return asyncio.run(_run(shelf, service, **options))


async def _run(shelf: Shelf, service: FakeService, **options: Any) -> ImportResult:
    client = service.client()

    def stop(counts: Any, share: Any) -> None:
        if shelf.endless and shelf.committed >= len(shelf.records) / 2:
            importer.stop()

    importer = Importer(shelf, client, batch=3, requests=2, watch=stop, **options)
    try:
        return await importer.run()
    finally:
        await client.close()


@pytest.fixture
def service() -> FakeService:
    return FakeService()


def test_everything_is_committed_after_it_was_acknowledged(service: FakeService) -> None:
    erasures = [{"type": "erase_user", "user": f"u{n}"} for n in range(3)]
    events = [feedback(n) for n in range(20)] + erasures + [feedback(n) for n in range(20, 40)]
    shelf = Shelf(events, service, endless=False)
    result = run(shelf, service)
    assert result.finished
    assert (result.counts.feedback, result.counts.users_erased) == (40, 3)
    assert shelf.committed == 43
    assert shelf.closed


def test_an_erasure_begins_when_all_before_it_is_committed(service: FakeService) -> None:
    events = [feedback(0), {"type": "erase_user", "user": "ada"}, feedback(1)]
    shelf = Shelf(events, service, endless=False)
    committed = []

    def trouble(request: httpx.Request) -> None:
        committed.append((request.url.path, shelf.committed))

    service.trouble = trouble
    run(shelf, service)
    assert committed[1:] == [
        ("/v1/feedback/batch", 0),
        ("/v1/users/ada", 1),
        ("/v1/feedback/batch", 2),
    ]


def test_a_source_that_does_not_answer_is_waited_for(service: FakeService) -> None:
    shelf = Shelf([feedback(n) for n in range(5)], service, endless=False)
    shelf.failures = 3
    assert run(shelf, service).counts.feedback == 5


def test_told_to_stop_it_commits_what_is_under_way_and_no_more(service: FakeService) -> None:
    shelf = Shelf([feedback(n) for n in range(60)], service, endless=True)
    result = run(shelf, service)
    assert not result.finished
    assert 30 <= shelf.committed == result.counts.events < 60


def test_told_to_stop_it_does_not_wait_for_a_service_that_is_away(service: FakeService) -> None:
    shelf = Shelf([feedback(n) for n in range(5)], service, endless=True)

    async def story() -> ImportResult:
        client = service.client()
        importer = Importer(shelf, client)

        def trouble(request: httpx.Request) -> httpx.Response | None:
            if request.url.path == "/v1/policy":
                return None
            importer.stop()
            return problem(503)

        service.trouble = trouble
        try:
            return await importer.run()
        finally:
            await client.close()

    result = asyncio.run(story())
    assert (result.finished, shelf.committed, shelf.closed) == (False, 0, True)


def test_an_outage_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    outage = Outage("service", lambda: now)
    for now in (0.0, 1.0, 2.5, 60.0):  # noqa: B007 - the clock reads it
        outage.failed("it is away")
    outage.over()
    outage.over()
    assert [record.getMessage() for record in caplog.records] == [
        "waiting for the service: it is away",
        "the service answers again after 60 s",
    ]


def test_a_service_that_is_back_at_once_is_not_worth_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    outage = Outage("service", lambda: now)
    for now in (0.0, 1.0, 5.0, 6.0):  # noqa: B007 - the clock reads it
        outage.failed("too many requests")
        outage.over()
    assert not caplog.records
