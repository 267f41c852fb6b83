"""Brings events to the service, several requests at a time where order allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from faircascade.client import ServiceError
from faircascade.service.imports.events import (
    FeedbackEvent,
    ItemChange,
    ItemRemoval,
    Malformed,
    Record,
    Refusal,
    UserErasure,
)
from faircascade.service.imports.order import Parsed, Read, feedback_batches, item_runs
from faircascade.service.imports.service_client import ServiceClient

MOST_FAILURES = 5
"""How often a request may end in an internal error (500) before it is divided or refused."""
MOST_REASONS = 3
"""How many wrong fields a refusal names."""
_PAUSE = 0.2
"""Seconds before the second such attempt; twice as long before the next."""
_TOO_MUCH = frozenset({400, 409, 413, 422})
"""Statuses that are about what a request holds, so that a part of it may succeed."""


class ImportStopped(Exception):  # noqa: N818 - it says what is the matter
    """The import cannot go on, whatever comes next; nothing is lost."""


@dataclass
class Counts:
    """What became of events."""

    events: int = 0
    feedback: int = 0
    items_changed: int = 0
    items_removed: int = 0
    users_erased: int = 0
    refused: int = 0

    def add(self, other: Counts) -> None:
        """Count further events."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)


@dataclass
class Delivered:
    """What became of some events that came one after the other."""

    counts: Counts = field(default_factory=Counts)
    refusals: list[tuple[int, Refusal]] = field(default_factory=list)

    def in_order(self) -> list[Refusal]:
        """Return what was refused as it came."""
        return [refusal for _, refusal in sorted(self.refusals, key=lambda found: found[0])]


class Delivery:
    """Sends events and returns when the service has acknowledged or refused each of them."""

    def __init__(self, client: ServiceClient, *, batch: int, requests: int) -> None:
        """Send at most so many events in a request, and so many requests at a time."""
        self._client = client
        self._batch = batch
        self._free = asyncio.Semaphore(requests)

    async def deliver(self, span: Sequence[Read]) -> Delivered:
        """Bring events to the service as if they had been sent one after the other.

        They are erasures, all of them, or none is.
        """
        work = _Work(self._client, self._free, span)
        events = work.well_formed()
        answers = [parsed for parsed in events if isinstance(parsed[1], FeedbackEvent)]
        changes = [parsed for parsed in events if isinstance(parsed[1], ItemChange | ItemRemoval)]
        erasures = [parsed for parsed in events if isinstance(parsed[1], UserErasure)]
        batches = feedback_batches(answers, self._batch)
        await _all(
            [
                *(work.feedback(batch) for batch in batches),
                self._items(work, changes),
                *(work.erase(parsed) for parsed in erasures),
            ]
        )
        work.delivered.counts.events = len(span)
        work.delivered.counts.refused = len(work.delivered.refusals)
        return work.delivered

    async def _items(self, work: _Work, items: Sequence[Parsed]) -> None:
        for run in item_runs(items, self._batch):
            if isinstance(run[0][1], ItemChange):
                await work.put_items(run)
            else:
                await _all([work.remove_item(parsed) for parsed in run])


class _Work:
    """The requests about some events, and what came of them."""

    def __init__(
        self, client: ServiceClient, free: asyncio.Semaphore, span: Sequence[Read]
    ) -> None:
        self._client = client
        self._free = free
        self._span = span
        self._place = {id(record): place for place, (record, _) in enumerate(span)}
        self.delivered = Delivered()

    def well_formed(self) -> list[Parsed]:
        """Return the events; what is none is refused."""
        events: list[Parsed] = []
        for record, event in self._span:
            if isinstance(event, Malformed):
                self._refuse(record, str(event))
            else:
                events.append((record, event))
        return events

    async def feedback(self, batch: Sequence[Parsed]) -> None:
        """Send answers; each is learned or refused by itself."""
        answer = await self._send("/v1/feedback/batch", "feedback", batch, self.feedback)
        if answer is None:
            return
        for (record, _), result in zip(batch, answer["results"], strict=True):
            if result["status"] == 200:
                self.delivered.counts.feedback += 1
            else:
                problem = result["problem"]
                errors = [(error["field"], error["message"]) for error in problem["errors"]]
                self._refuse(record, _reason(problem["detail"], errors), result["status"])

    async def put_items(self, batch: Sequence[Parsed]) -> None:
        """Send new states of items."""
        if await self._send("/v1/items", "items", batch, self.put_items) is not None:
            self.delivered.counts.items_changed += len(batch)

    async def remove_item(self, parsed: Parsed) -> None:
        """Remove an item, unless it is gone already."""
        event = parsed[1]
        assert isinstance(event, ItemRemoval)
        if await self._delete(parsed[0], lambda: self._client.remove_item(event.item)):
            self.delivered.counts.items_removed += 1

    async def erase(self, parsed: Parsed) -> None:
        """Erase a user, unless nothing is known of them."""
        event = parsed[1]
        assert isinstance(event, UserErasure)
        if await self._delete(parsed[0], lambda: self._client.erase_user(event.user)):
            self.delivered.counts.users_erased += 1

    async def _send(
        self,
        path: str,
        name: str,
        batch: Sequence[Parsed],
        again: Callable[[Sequence[Parsed]], Awaitable[None]],
    ) -> Any:
        """Post a batch and return the answer; None if it was refused, or was sent in two halves.

        A request is refused as a whole for what is wrong with one of its events, or because it is
        larger than the service takes.
        """
        entries = [
            event.model_dump_json(exclude={"type"}, exclude_unset=True).encode()
            for _, event in batch
        ]
        try:
            return await self._request(lambda: self._client.send(path, name, entries))
        except ServiceError as error:
            if len(batch) == 1:
                self._refuse_as_told(batch[0][0], error)
                return None
        half = len(batch) // 2
        await again(batch[:half])
        await again(batch[half:])
        return None

    async def _delete(self, record: Record, call: Callable[[], Awaitable[None]]) -> bool:
        """Return True unless it was refused; what is not there (any more) is deleted."""
        try:
            await self._request(call)
        except ServiceError as error:
            if error.status != 404:
                self._refuse_as_told(record, error)
                return False
        return True

    async def _request(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return an answer, or raise an error that is about what the request holds."""
        failures = 0
        while True:
            try:
                async with self._free:
                    return await call()
            except ServiceError as error:
                failures += 1
                if error.status == 500 and failures < MOST_FAILURES:
                    await asyncio.sleep(_PAUSE * 2 ** (failures - 1))
                elif error.status in _TOO_MUCH or error.status in (404, 500):
                    raise
                else:
                    raise ImportStopped(str(error)) from error

    def _refuse_as_told(self, record: Record, error: ServiceError) -> None:
        errors = [(one.field, one.message) for one in error.errors]
        self._refuse(record, _reason(error.detail, errors), error.status)

    def _refuse(self, record: Record, reason: str, status: int | None = None) -> None:
        refusal = Refusal(record, reason, status)
        self.delivered.refusals.append((self._place[id(record)], refusal))


async def _all(work: Sequence[Awaitable[None]]) -> None:
    """Wait for all; the first error ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            for one in work:
                group.create_task(_awaited(one))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _awaited(one: Awaitable[None]) -> None:
    await one


def _reason(detail: str, errors: Iterable[tuple[str, str]]) -> str:
    """Return what is wrong with an event: fields of a batch are named without their place in it."""
    found = [f"{_field(field)} {message}" for field, message in errors]
    return "; ".join(found[:MOST_REASONS]) or detail


def _field(name: str) -> str:
    """Return the name of a field without the places that go before it: body.items.0.features."""
    words = name.split(".")
    places = ("body", "path", "feedback", "items")
    while len(words) > 1 and (words[0] in places or words[0].isdecimal()):
        words.pop(0)
    return ".".join(words)
