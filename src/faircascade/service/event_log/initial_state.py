"""All that a store holds when its event log begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from faircascade.service.event_log.formats import TableFile
from faircascade.service.event_log.records import Records
from faircascade.service.stores.base import Store

_AT_ONCE = 1_000

NOT_LOGGED = ("ping", "event_log", "file")
"""Small values that are about the store itself, and not in its log."""


async def write_state(store: Store, file: TableFile, dim: int) -> None:
    """Write the records of everything that a store holds."""
    async for records in _state(store, dim):
        if len(records):
            await asyncio.to_thread(lambda some: file.write(some.table()), records)


async def _state(store: Store, dim: int) -> AsyncIterator[Records]:
    """Yield records, some at a time."""
    contents = store.contents()
    async for items in contents.items():
        yield _records(dim, lambda to, one: to.item(one.item, one.version), items)
    async for users in contents.users():
        yield _records(dim, lambda to, one: to.user(one), users)
    async for cohorts in contents.cohorts():
        yield _records(dim, lambda to, one: to.cohort(one), cohorts)
    async for impressions in contents.impressions():
        yield _records(dim, lambda to, one: to.impression(one), impressions)
    cursor, counts = await store.counts()
    if counts is not None:
        yield _records(dim, lambda to, one: to.counts(one), [counts])
    after = cursor if counts is not None else ""
    while events := await store.events(after, _AT_ONCE):
        after = events[-1][0]
        yield _records(dim, lambda to, one: to.event(one), [event for _, event in events])
    async for values in contents.meta():
        some = [(name, value) for name, value in values.items() if name not in NOT_LOGGED]
        yield _records(dim, lambda to, one: to.meta(*one), some)


def _records(dim: int, add: Callable[[Records, Any], None], some: Any) -> Records:
    records = Records(dim)
    for one in some:
        add(records, one)
    return records
