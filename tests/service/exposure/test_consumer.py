"""Every event is counted once, whoever else counts, keeps, drops, fails or is away."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.service.exposure import ExposureTracker
from faircascade.service.exposure.consumer import AWAY
from faircascade.service.stores.base import Event, StoreDown
from tests.service.exposure.events import NOW, answered, catalogue, listed, plainly, slowly

ITEMS = catalogue(8)
GRACE = 120.0
"""Seconds for which the log below keeps events that are covered by counts."""


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Log:
    """The part of a store that exposure uses. It drops what is covered as soon as it may."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.written: list[Event] = []
        self.dropped = 0
        self.kept: tuple[str, bytes | None] = ("", None)
        self.meanwhile = []  # what others do before the next reading
        self.down: set[str] = set()
        self.reads = 0

    def write(self, *events: Event) -> None:
        self.written += events

    def _check(self, method: str) -> None:
        if method in self.down:
            raise StoreDown(f"{method} cannot be read")

    async def events(self, after: str, limit: int):
        await asyncio.sleep(0)
        while self.meanwhile:
            await self.meanwhile.pop()()
        self._check("events")
        self.reads += 1
        first = max(int(after or 0), self.dropped)
        found = self.written[first : first + limit]
        return [(str(first + n), event) for n, event in enumerate(found, start=1)]

    async def counts(self):
        await asyncio.sleep(0)
        self._check("counts")
        return self.kept

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        await asyncio.sleep(0)
        if self.kept[1] is not None and int(cursor or 0) < int(self.kept[0] or 0):
            return
        self.kept = cursor, counts
        old = self.clock.now - GRACE
        while self.dropped < int(cursor or 0) and self.written[self.dropped].time < old:
            self.dropped += 1


class EventSource:
    """A log, and services that count."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.log = Log(self.clock)

    def service(self) -> ExposureTracker:
        return ExposureTracker(self.clock, lambda: ITEMS)

    def write(self, n: int = 1) -> None:
        for _ in range(n):
            slot = len(self.log.written) % 8
            self.log.write(listed(self.clock.now, slot), answered(self.clock.now, slot))

    def check(self, service: ExposureTracker) -> None:
        """The service has counted everything, once."""
        counts = service.snapshot("all").counts
        assert plainly(counts, 8) == slowly(self.log.written, 8)


def test_events_are_read_in_pieces_until_none_is_left() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write(25)
        assert await service.catch_up(source.log, limit=7) == 50
        assert source.log.reads == 8
        source.check(service)
        source.write()
        assert await service.catch_up(source.log, limit=7) == 2
        assert await service.catch_up(source.log, limit=7) == 0
        source.check(service)

    asyncio.run(run())


def test_two_who_catch_up_at_once_count_nothing_twice() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write(20)
        counted = await asyncio.gather(*(service.catch_up(source.log, limit=3) for _ in range(3)))
        assert sum(counted) == 40
        source.check(service)

    asyncio.run(run())


def test_counts_outlive_the_process() -> None:
    async def run() -> None:
        source, before = (made := EventSource()), made.service()
        source.write(10)
        await before.catch_up(source.log)
        assert await before.keep(source.log)
        source.write(5)
        after = source.service()
        await after.restore(source.log)
        assert plainly(after.snapshot("1h").counts, 8) == slowly(source.log.written[:20], 8)
        assert await after.catch_up(source.log) == 10
        source.check(after)

    asyncio.run(run())


def test_without_kept_counts_restoring_starts_from_nothing() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write(3)
        await service.restore(source.log)
        assert service.snapshot("all").counts.slates == 0
        await service.catch_up(source.log)
        source.check(service)

    asyncio.run(run())


def test_a_store_that_fails_in_the_middle_loses_and_doubles_nothing() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()

        async def fail() -> None:
            source.log.down = {"events"}

        source.write(10)
        await service.catch_up(source.log)
        source.write(10)
        await service.catch_up(source.log, limit=5)
        source.log.meanwhile.append(fail)
        with pytest.raises(StoreDown):
            await service.catch_up(source.log, limit=5)
        source.log.down = set()
        source.write(2)
        await service.catch_up(source.log, limit=5)
        source.check(service)

    asyncio.run(run())


def test_who_was_away_while_events_were_dropped_starts_again_from_what_is_kept() -> None:
    async def run() -> None:
        source = EventSource()
        here, away = source.service(), source.service()
        source.write(10)
        for service in (here, away):
            await service.catch_up(source.log)
        source.write(10)
        await here.catch_up(source.log)
        source.clock.now += GRACE + 1
        source.write(3)
        await here.catch_up(source.log)
        await here.keep(source.log)
        source.write(4)
        assert source.log.dropped == 40  # twice as many as the other one has read
        await away.catch_up(source.log)
        source.check(away)
        assert plainly(away.snapshot("1h").counts, 8) == slowly(source.log.written, 8)

    asyncio.run(run())


def test_who_was_away_is_not_fooled_by_reading_up_to_what_is_kept() -> None:
    async def run() -> None:
        source = EventSource()
        here, away = source.service(), source.service()
        for service in (here, away):
            await service.catch_up(source.log)
        source.write(4)
        source.clock.now += GRACE + 1
        source.write(1)
        await here.catch_up(source.log)
        await here.keep(source.log)
        assert (source.log.dropped, source.log.kept[0]) == (8, "10")
        await away.catch_up(source.log)
        source.check(away)

    asyncio.run(run())


def test_who_was_away_alone_goes_on_from_where_it_was() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write(10)
        await service.catch_up(source.log)
        await service.keep(source.log)
        source.clock.now += 1e5
        source.write(10)
        assert await service.catch_up(source.log) == 20
        source.check(service)

    asyncio.run(run())


def test_counts_kept_between_restoring_and_reading_are_noticed() -> None:
    async def run() -> None:
        source = EventSource()
        first, other, late = (source.service() for _ in range(3))
        source.write(5)
        await first.catch_up(source.log)
        await first.keep(source.log)
        source.write(5)
        source.clock.now += 2 * GRACE
        await late.catch_up(source.log)
        await late.restore(source.log)

        async def others() -> None:
            await other.catch_up(source.log)
            await other.keep(source.log)

        source.log.meanwhile.append(others)
        await late.catch_up(source.log)
        assert source.log.dropped == 20
        source.check(late)

    asyncio.run(run())


def test_a_reading_that_took_too_long_is_doubted() -> None:
    async def run() -> None:
        source = EventSource()
        here, slow = source.service(), source.service()
        for service in (here, slow):
            await service.catch_up(source.log)
        source.write(6)

        async def others() -> None:
            source.clock.now += GRACE + 1
            await here.catch_up(source.log)
            await here.keep(source.log)

        source.log.meanwhile.append(others)
        await slow.catch_up(source.log, limit=3)
        assert source.log.dropped == 12
        source.check(slow)

    asyncio.run(run())


def test_counts_that_may_lack_something_are_not_kept() -> None:
    async def run() -> None:
        source = EventSource()
        here, away = source.service(), source.service()
        assert not await away.keep(source.log)  # nothing was read yet
        for service in (here, away):
            await service.catch_up(source.log)
        source.write(4)
        source.clock.now += GRACE + 1
        await here.catch_up(source.log)
        await here.keep(source.log)
        source.write(1)
        source.log.down = {"counts"}  # so that it cannot be told what was dropped
        with pytest.raises(StoreDown):
            await away.catch_up(source.log)
        assert not await away.keep(source.log)
        source.log.down = set()
        await away.catch_up(source.log)
        source.check(away)
        assert await away.keep(source.log)

    asyncio.run(run())


def test_damaged_counts_are_refused_and_change_nothing() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write(4)
        await service.catch_up(source.log)
        source.log.kept = "8", b"nonsense"
        with pytest.raises(ValueError, match="exposure counts"):
            await service.restore(source.log)
        source.check(service)

    asyncio.run(run())


def test_units_of_items_are_those_of_all_time() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.log.write(listed(NOW - 1e7, 5, 2), listed(NOW, 5))
        await service.catch_up(source.log)
        units = service.units_of(np.array([2, 5, 100]))
        assert units.tolist() == [round(2**16 / np.log2(3)), 2 * 2**16, 0]

    asyncio.run(run())


def test_a_window_slides_on_while_nothing_happens() -> None:
    async def run() -> None:
        source, service = (made := EventSource()), made.service()
        source.write()
        await service.catch_up(source.log)
        assert service.snapshot("1h").counts.slates == 1
        source.clock.now += 3600
        assert service.snapshot("1h").counts.slates == 0
        assert service.snapshot("24h").counts.slates == 1
        moments = service.timeline("24h").moments
        assert [moment.totals[0] for moment in moments if moment.totals[0]] == [1]

    asyncio.run(run())


actions = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 4)),
    st.tuples(st.just("pass"), st.sampled_from([1.0, AWAY - 1, GRACE + 1, 4000.0])),
    st.tuples(st.sampled_from(["read", "keep", "restart"]), st.integers(0, 2)),
)


@settings(max_examples=200)
@given(st.lists(actions, max_size=25), st.integers(1, 5))
def test_several_services_count_everything_once_whatever_they_do(steps, limit) -> None:
    async def run() -> None:
        source = EventSource()
        services = [source.service() for _ in range(3)]
        for what, which in steps:
            if what == "write":
                source.write(which)
            elif what == "pass":
                source.clock.now += which
            elif what == "read":
                await services[which].catch_up(source.log, limit)
                source.check(services[which])
            elif what == "keep":
                await services[which].keep(source.log)
            else:
                services[which] = source.service()
                await services[which].restore(source.log)
        for service in services:
            await service.catch_up(source.log, limit)
            source.check(service)

    asyncio.run(run())
