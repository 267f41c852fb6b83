"""Counts the events of the store, each once, also next to other services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

from faircascade.service.exposure.counters import Counters, ExposureSnapshot, Timeline
from faircascade.service.exposure.encoding import from_bytes, to_bytes
from faircascade.service.exposure.recipients import Recipients
from faircascade.service.exposure.tally import Tallies
from faircascade.service.stores.base import Slots, Store
from faircascade.types import Ints

CHUNK = 500
"""Events that are counted at a time, so that requests in between need not wait long."""
AWAY = 60.0
"""Seconds without reading after which events may be gone; stores keep them for minutes."""


class ExposureTracker:
    """What was shown and clicked so far, as far as events were read.

    To be used from one event loop. Snapshots and trails may be read in any thread.
    """

    def __init__(self, clock: Callable[[], float], recipients: Callable[[], Recipients]) -> None:
        """Count by a clock, in seconds since 1970.

        `recipients` returns the catalogue as it is; the fairness of a step is measured over it when
        the step is over.
        """
        self._clock = clock
        self._holders = recipients
        self._account = Counters()
        self._cursor = ""
        self._covered = ""  # cursor of the latest counts in the store that ours are known to cover
        self._read = -inf  # when the last reading began that left nothing unread
        self._certain = False  # True if no event was dropped before we read it
        self._busy = asyncio.Lock()

    async def restore(self, store: Store) -> None:
        """Start from the counts that the store keeps; without any, from nothing."""
        async with self._busy:
            await self._restore(store)

    async def _restore(self, store: Store) -> None:
        cursor, kept = await store.counts()
        self._account = Counters() if kept is None else await asyncio.to_thread(from_bytes, kept)
        self._cursor = self._covered = cursor if kept is not None else ""
        self._read, self._certain = -inf, False

    async def catch_up(self, store: Store, limit: int = CHUNK) -> int:
        """Count the events that came since the last time; return how many.

        Events that another service has counted and kept may be dropped after some minutes. A
        service that did not read for that long cannot know what was dropped, and starts again from
        the stored counts.
        """
        counted = 0
        async with self._busy:
            while True:
                began = self._clock()
                events = await store.events(self._cursor, limit)
                self._certain &= abs(self._clock() - self._read) <= AWAY
                if events:
                    found = [event for _, event in events]
                    self._account.count(found, self._clock(), self._holders())
                    self._cursor = events[-1][0]
                counted += len(events)
                if len(events) >= limit:
                    await asyncio.sleep(0)  # a store need not wait for anything
                    continue
                if self._certain or await self._covers(store):
                    break
                await self._restore(store)
            self._read, self._certain = began, True
            self._account.advance(self._clock(), self._holders())
        return counted

    async def _covers(self, store: Store) -> bool:
        """Return True if nobody has kept counts of events that we may not have seen."""
        cursor, kept = await store.counts()
        return kept is None or cursor == self._covered

    async def keep(self, store: Store) -> bool:
        """Keep the counts in the store; False if they may lack something and were not."""
        async with self._busy:
            if not self._certain:
                return False
            cursor, account = self._cursor, self._account.copy()
            await store.keep_counts(cursor, await asyncio.to_thread(to_bytes, account))
            self._covered = cursor
            return True

    @property
    def cursor(self) -> str:
        """Up to which event of the store everything is counted."""
        return self._cursor

    @property
    def behind(self) -> float:
        """Seconds since everything that had happened was counted; infinite before the start."""
        return max(0.0, self._clock() - self._read)

    def snapshot(self, window: str) -> ExposureSnapshot:
        """Return a copy of the counts of "1h", "24h", "7d" or "all", as of now."""
        return self._up_to_date().snapshot(window, self._clock())

    def timeline(self, window: str) -> Timeline:
        """Return a copy of the steps of "1h", "24h" or "7d", as of now."""
        return self._up_to_date().timeline(window, self._clock())

    def _up_to_date(self) -> Counters:
        self._account.advance(self._clock(), self._holders())
        return self._account

    def tallies(self, *keys: str) -> Tallies:
        """Return a copy of what was counted of some experiments."""
        return self._account.tallies.copy(keys)

    def units_of(self, slots: Slots | Ints) -> Ints:
        """Return the exposure E_P that items have had in total, in units, (n,)."""
        return self._account.counts.units_of(slots)
