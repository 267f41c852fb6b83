"""Copies of whole stores, from one kind to another."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from faircascade.service.stores.base import Event, Store
from faircascade.service.stores.contents import (
    ContentCounts,
    StoreContents,
    StoredCohort,
    StoredUser,
)
from faircascade.service.stores.registry import public_address, store_at
from faircascade.types import Floats

T = TypeVar("T")

COPYING = "copying"
"""Under which name a store remembers that a copy into it is not finished."""
_OWN = (COPYING, "ping", "event_log")
"""What is not copied: a copy has another log, if any."""
_EVENTS_AT_ONCE = 1_000

Watch = Callable[[str, float], None]
"""Called with what is being copied and the share of the whole that is done."""


@dataclass(frozen=True, kw_only=True)
class StoreSummary:
    """What a store holds, in numbers."""

    shape: dict[str, int]
    counts: ContentCounts
    durability: str | None
    unfinished: bool
    """Whether a copy into it was interrupted."""


async def copy_store(
    source: str, target: str, *, ttl: float, watch: Watch | None = None
) -> ContentCounts:
    """Copy everything from one address to another, which must be empty; return what was copied.

    Nobody may use either of them meanwhile. Until it is done, the target cannot be served; a copy
    that was interrupted begins anew.
    """
    here, there = store_at(source, ttl=ttl), store_at(target, ttl=ttl)
    shape = await here.stored_shape()
    if shape is None:
        raise ValueError(f"{public_address(source)}: holds no store, so there is nothing to copy")
    async with opened(here, shape) as contents:
        await refuse_half_copied(here, source)
        if await here.changes("", 1):
            raise ValueError(
                f"{public_address(source)}: holds changes that are not in its event log yet; start "
                "and stop the service with --event-log, or end the log with 'faircascade store "
                "unlog'"
            )
        await make_room(there, target)
        async with opened(there, shape) as copied:
            await there.set_meta(COPYING, {"from": public_address(source)})
            sent = await _copy(here, contents, there, copied, watch or (lambda *_: None))
            await _compare(copied, sent, public_address(target))
            await there.set_meta(COPYING, None)
    return sent.counts()


async def summary(address: str, *, ttl: float) -> StoreSummary:
    """Return what the store at an address holds."""
    store = store_at(address, ttl=ttl)
    shape = await store.stored_shape()
    if shape is None:
        raise ValueError(f"{public_address(address)}: holds no store")
    async with opened(store, shape) as contents:
        return StoreSummary(
            shape=shape.plain(),
            counts=await contents.count(),
            durability=store.durability,
            unfinished=await store.get_meta(COPYING) is not None,
        )


async def refuse_half_copied(store: Store, address: str) -> None:
    """Refuse an open store that does not hold all of what was to be copied into it."""
    if (copying := await store.get_meta(COPYING)) is not None:
        name = public_address(address)
        raise ValueError(
            f"{name}: a copy from {copying['from']} was interrupted; run the same 'faircascade "
            "store' command again, or use another store"
        )


@asynccontextmanager
async def opened(store: Store, shape: Any) -> AsyncIterator[StoreContents]:
    await store.open(shape)
    try:
        yield store.contents()
    finally:
        await store.close()


async def make_room(store: Store, address: str) -> None:
    """Refuse a store that holds something, unless it is what a copy left behind."""
    shape = await store.stored_shape()
    if shape is None:
        return
    async with opened(store, shape) as contents:
        if await store.get_meta(COPYING) is None and any(_numbers(await contents.count())):
            raise ValueError(
                f"{public_address(address)}: holds a store already; copy to an empty place"
            )
        await contents.clear()


def _numbers(counts: ContentCounts) -> list[int]:
    return [getattr(counts, one.name) for one in fields(counts)]


class _Sent:
    """What was copied so far."""

    def __init__(self) -> None:
        self.users = Fingerprint()
        self.cohorts = Fingerprint()
        self.numbers = dict.fromkeys((one.name for one in fields(ContentCounts)), 0)

    def counts(self) -> ContentCounts:
        return ContentCounts(**self.numbers)


class Fingerprint:
    """A number that changes with anything known of any user or cohort, and not with their order."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, user: StoredUser) -> None:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(user.user.encode("utf-8", "surrogatepass"))
        digest.update(f"\0{user.rounds}\0{sorted(user.account.items())}\0".encode())
        self._add(digest, user.sums)

    def add_cohort(self, cohort: StoredCohort) -> None:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(cohort.name.encode("utf-8", "surrogatepass"))
        digest.update(f"\0{cohort.slates}\0".encode())
        self._add(digest, cohort.sums)

    def _add(self, digest: hashlib.blake2b, sums: Floats) -> None:
        digest.update(np.ascontiguousarray(sums, dtype="<f8").tobytes())
        self.value = (self.value + int.from_bytes(digest.digest(), "little")) % 2**128


async def _copy(
    here: Store, contents: StoreContents, there: Store, copied: StoreContents, watch: Watch
) -> _Sent:
    sent = _Sent()
    expected = await contents.count()
    whole = max(1, sum(_numbers(expected)))

    def done(kind: str, more: int) -> None:
        sent.numbers[kind] += more
        watch(kind, min(1.0, sum(sent.numbers.values()) / whole))

    async for items in contents.items():
        await copied.add_items(items)
        done("items", len(items))
    async for users in contents.users():
        new = await copied.add_users(users)
        for user, is_new in zip(users, new, strict=True):
            if is_new:
                sent.users.add(user)
        done("users", sum(new))
    async for cohorts in contents.cohorts():
        new = await copied.add_cohorts(cohorts)
        for cohort, is_new in zip(cohorts, new, strict=True):
            if is_new:
                sent.cohorts.add_cohort(cohort)
        done("cohorts", sum(new))
    async for impressions in contents.impressions():
        done("impressions", await copied.add_impressions(impressions))
    cursor, counts = await here.counts()
    if counts is not None:
        await there.keep_counts("", counts)
    async for events in _events_after(here, cursor if counts is not None else ""):
        await copied.add_events(events)
        done("events", len(events))
    async for values in contents.meta():
        for name, value in values.items():
            if name not in _OWN:
                await there.set_meta(name, value)
    return sent


async def _events_after(store: Store, cursor: str) -> AsyncIterator[Sequence[Event]]:
    """Yield the events that the counts do not cover; nobody needs the others any more."""
    while found := await store.events(cursor, _EVENTS_AT_ONCE):
        cursor = found[-1][0]
        yield [event for _, event in found]


async def _compare(copied: StoreContents, sent: _Sent, name: str) -> None:
    """Read the copy again, and refuse it if anything is missing."""
    counts = await copied.count()
    for one in fields(counts):
        found, expected = getattr(counts, one.name), sent.numbers[one.name]
        if found != expected:
            raise ValueError(
                f"{name}: has {found:,} {one.name} after the copy, and {expected:,} were sent; "
                "make sure that nobody uses either store, and copy again"
            )
    users, cohorts = Fingerprint(), Fingerprint()
    async for some in copied.users():
        for user in some:
            users.add(user)
    async for taught in copied.cohorts():
        for cohort in taught:
            cohorts.add_cohort(cohort)
    for what, here, there in (("users", users, sent.users), ("cohorts", cohorts, sent.cohorts)):
        if here.value != there.value:
            raise ValueError(
                f"{name}: {what} differ after the copy; make sure that nobody uses either store, "
                "and copy again"
            )
