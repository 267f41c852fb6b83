"""Slates that nobody answers in time are learned as not clicked: each once, whatever happens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade.errors import ParameterError
from faircascade.policies import EALinUCB
from faircascade.service import maintenance, no_clicks
from faircascade.service.maintenance import maintain
from faircascade.service.messages import Reason, Refused
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import ANSWER, DEFAULT, Store
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.in_process import Clock, learn, recommend, serving
from tests.service.stores.memory_store import MemoryStore

MINUTES = 60.0
AFTER = ServiceSettings(no_click_after=30 * MINUTES)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def sums_of(service: Service, user: str = "ann") -> np.ndarray:
    return (await service.user(user)).sums


async def learn_all(service: Service) -> int:
    """Learn all that was not answered in time; return how many slates were found."""
    total = 0
    while found := await service.learn_no_clicks():
        total += found
    return total


@pytest.mark.parametrize("shown", [None, 2])
def test_it_teaches_what_feedback_without_clicks_teaches(tmp_path: Path, shown: int | None) -> None:
    async def work() -> None:
        clock = Clock()
        settings = ServiceSettings(no_click_after=1800.0, no_click_shown=shown)
        async with serving(tmp_path, clock=clock, settings=settings) as service:
            await recommend(service, "ann")
            clock.now += 1801
            assert await learn_all(service) == 1
            assert service.activity.counts["no_clicks"] == 1
            assert await learn_all(service) == 0
            record = await service.user("ann")
            (kept,) = record.impressions
            assert (kept.clicked, kept.examined) == ((), shown or 3)
        async with serving(tmp_path / "other") as service:
            await learn(service, await recommend(service, "ann"), shown=shown)
            np.testing.assert_array_equal(record.sums, await sums_of(service))

    run(work())


def test_it_waits_as_long_as_it_was_told(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            shown = await recommend(service)
            clock.now += 30 * MINUTES
            assert await learn_all(service) == 0
            await learn(service, shown, clicked_position=1)
            clock.now += 30 * MINUTES
            assert await learn_all(service) == 0

    run(work())


def test_without_being_told_nothing_is_learned(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock) as service:
            await recommend(service)
            clock.now += 24 * 60 * MINUTES
            assert await learn_all(service) == 0

    run(work())


def test_a_clock_that_leaps_for_a_moment_ends_no_wait(tmp_path: Path) -> None:
    async def work() -> None:
        clock, elapsed = Clock(), Clock()
        async with serving(tmp_path, clock=clock, elapsed=elapsed, settings=AFTER) as service:
            await recommend(service)
            clock.now += 1e7
            elapsed.now += 10
            assert await learn_all(service) == 0
            clock.now -= 1e7 - 10

    run(work())


def test_feedback_that_comes_later_is_refused_and_told_why(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            shown = await recommend(service)
            clock.now += 31 * MINUTES
            await learn_all(service)
            before = await sums_of(service)
            for late in ({"clicked_position": 1}, {"shown": 2}):
                with pytest.raises(Refused, match="had no feedback in time, so it was learned as"):
                    await learn(service, shown, **late)
            assert service.activity.counts["conflict"] == 2
            np.testing.assert_array_equal(await sums_of(service), before)

    run(work())


def test_feedback_that_says_the_same_later_changes_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            shown = await recommend(service)
            clock.now += 31 * MINUTES
            await learn_all(service)
            before = await sums_of(service)
            receipt = await learn(service, shown)
            assert (receipt.repeated, receipt.clicked_positions, receipt.shown) == (True, (), 3)
            np.testing.assert_array_equal(await sums_of(service), before)

    run(work())


def test_events_and_counts_tell_it_from_feedback(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        settings = ServiceSettings(no_click_after=1800.0, no_click_shown=1)
        async with serving(tmp_path, clock=clock, settings=settings) as service:
            await recommend(service)
            await learn(service, await recommend(service), clicked_position=1)
            clock.now += 31 * MINUTES
            await learn_all(service)
            events = [event for _, event in await service.store.events("", 9)]
            answers = [event.note.get(ANSWER) for event in events if event.answered]
            assert answers == [None, {DEFAULT: True}]
            await service.exposure.catch_up(service.store)
            counts = service.exposure.snapshot("all").counts
            # slates, answers, clicks, clicked slates; an assumption is no word of what was shown
            assert counts.totals.tolist() == [2, 2, 1, 1, 6, 0, 1]

    run(work())


def test_a_slate_that_cannot_be_learned_is_passed_by(tmp_path: Path) -> None:
    """Otherwise it would be the oldest for ever."""

    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            await recommend(service, "ann", k=5)
        four = EALinUCB(weight=(1.0, 0.5, 0.25, 0.1), reading="intended")
        async with serving(tmp_path, four, clock=clock, settings=AFTER) as service:
            await recommend(service, "bob", k=4)
            clock.now += 31 * MINUTES
            assert await learn_all(service) == 2
            assert not (await sums_of(service, "ann")).any()
            assert (await sums_of(service, "bob")).any()

    run(work())


def test_a_service_that_is_killed_in_the_middle_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(no_clicks, "AT_ONCE", 3)

    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            for _ in range(8):
                await recommend(service)
            clock.now += 31 * MINUTES
            assert await service.learn_no_clicks() == 3
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            clock.now += 31 * MINUTES
            assert await learn_all(service) == 5
            assert (await sums_of(service))[0] == 8

    run(work())


@pytest.mark.parametrize("seed", range(20))
def test_services_that_share_a_store_learn_each_slate_once(tmp_path: Path, seed: int) -> None:
    """Whoever comes first: feedback, or one of the services whose wait is over."""

    async def work() -> None:
        draw, clock = random.Random(seed), Clock()
        store: Store = MemoryStore()
        async with (
            serving(tmp_path, store=store, clock=clock, settings=AFTER) as one,
            serving(tmp_path, store=store, clock=clock, settings=AFTER) as other,
        ):
            slates, answered = [], 0
            for _ in range(40):
                clock.now += draw.uniform(0, 10) * MINUTES
                slates.append(await recommend(draw.choice([one, other])))
                calls: list[Any] = [one.learn_no_clicks(), other.learn_no_clicks()]
                if draw.random() < 0.6:
                    calls.append(learn(other, draw.choice(slates), clicked_position=1))
                draw.shuffle(calls)
                found = await asyncio.gather(*calls, return_exceptions=True)
                errors = [e for e in found if isinstance(e, Exception)]
                assert all(e.reason is Reason.CONFLICT for e in errors)  # type: ignore[attr-defined]
            clock.now += 31 * MINUTES
            await asyncio.gather(learn_all(one), learn_all(other))
            answered = sum(s.activity.counts["learned"] for s in (one, other))
            defaults = sum(s.activity.counts["no_clicks"] for s in (one, other))
            assert answered + defaults == len(slates)
            assert defaults > 0
            assert (await sums_of(one))[0] == len(slates)

    run(work())


def test_maintenance_learns_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TICK", "NO_CLICKS_FIRST", "NO_CLICKS_EVERY"):
        monkeypatch.setattr(maintenance, name, 0.001)

    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock, settings=AFTER) as service:
            await recommend(service)
            clock.now += 31 * MINUTES
            task = asyncio.create_task(maintain(service))
            async with asyncio.timeout(10):
                while not service.activity.counts["no_clicks"]:
                    await asyncio.sleep(0.001)
            task.cancel()

    run(work())


def test_the_oldest_are_found_by_an_index(tmp_path: Path) -> None:
    async def work() -> None:
        store = SQLiteStore(tmp_path / "store.db")
        async with serving(tmp_path, store=store):
            rows = await store._file.read(
                "EXPLAIN QUERY PLAN SELECT number FROM impressions "
                "WHERE clicked IS NULL AND time < ? ORDER BY time LIMIT ?",
                [1.0, 10],
            )
            assert "impressions_open" in rows[0][-1]

    run(work())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"no_click_after": 0.0}, "no_click_after must be positive"),
        ({"no_click_after": 7 * 86400.0}, "no_click_after must be less than ttl, 604800 s"),
        ({"no_click_after": 60.0, "no_click_shown": 0}, "no_click_shown must be positive"),
        ({"no_click_shown": 3}, "no_click_shown needs no_click_after"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        ServiceSettings(**given)
