"""What every store promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.service.stores.base import Store, UpdateOutcome
from faircascade.testing.stores import (
    SHAPE,
    START,
    STORE_CHECKS,
    Check,
    all_events,
    hand_out,
    new_impression,
    new_update,
    run_store_check,
)
from tests.service.stores.locations import DAY, SQLiteLocation, StoreLocation

CONTROL = [chr(code) for code in (*range(32), 127)]  # refused before they reach a store
USERS = st.text(st.characters(codec="utf-8", exclude_characters=CONTROL), min_size=1, max_size=256)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_the_contract(new_location: Callable[[], StoreLocation], check: Check) -> None:
    run_store_check(check, lambda: new_location().store())


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(users=st.lists(USERS, min_size=1, max_size=3, unique=True))
def test_users_may_have_any_names(
    new_location: Callable[[], StoreLocation], users: list[str]
) -> None:
    async def story(store: Store) -> None:
        known = await store.begin_round(users, accounts=True)
        slates = [new_impression(user, (n,)) for n, user in enumerate(users)]
        ids = await store.record(slates, units=np.array([3]))
        kept = [one for one in await store.impressions(ids) if one is not None]
        assert [one.user for one in kept] == users
        await store.learn(
            [
                new_update(one, increments=np.full(SHAPE.sums, float(n)))
                for n, one in enumerate(kept)
            ]
        )
        known = await store.begin_round(users, accounts=True)
        assert known.sums[:, 0].tolist() == list(range(len(users)))
        assert known.accounts == [{n: 3} for n in range(len(users))]
        for n, user in enumerate(users):
            person = await store.user(user, impressions=1)
            assert person is not None
            assert [one.id for one in person.impressions] == [ids[n]]
            assert await store.erase(user)
        assert await store.impressions(ids) == [None] * len(users)

    new_location().tell(story)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.text(max_size=300) | st.from_regex(r"[0-9a-f]{1,20}-[\w-]{0,12}"))
def test_any_text_may_be_asked_for_as_an_impression(
    new_location: Callable[[], StoreLocation], text: str
) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        almost = [shown.id[:-1], shown.id + "A", shown.id.swapcase()]
        assert await store.impressions([text, *almost]) == [None] * 4
        assert await store.learn([new_update(replace(shown, id=text))]) == [UpdateOutcome.UNKNOWN]

    new_location().tell(story)


def test_sqlite_drops_impressions_handed_out_before_a_time(tmp_path: Path) -> None:
    async def story(store: Store) -> None:
        slates = [new_impression("ada", round=n) for n in range(1, 8)]
        ids = await store.record(slates, units=None)
        kept = [one for one in await store.impressions(ids) if one is not None]
        await store.learn([new_update(kept[0])])
        while await store.expire(START + 4):
            pass
        found = await store.impressions(ids)
        assert [one is None for one in found] == [True] * 3 + [False] * 4
        person = await store.user("ada", impressions=10)
        assert person is not None
        assert (person.count, len(person.impressions), person.rounds) == (4, 4, 7)
        np.testing.assert_array_equal(person.sums, np.ones(SHAPE.sums))
        assert len(await all_events(store)) == 8

    SQLiteLocation(tmp_path).tell(story)


def test_sqlite_drops_old_impressions_behind_thousands_from_the_future(tmp_path: Path) -> None:
    times = [DAY] * 1_100 + [-1.0, DAY, -DAY, 0.0, 1.0] + [-2.0] * 1_100

    async def story(store: Store) -> None:
        slates = [
            replace(new_impression("ada", round=n), time=START + time)
            for n, time in enumerate(times, start=1)
        ]
        ids = await store.record(slates, units=None)
        while await store.expire(START):
            pass
        found = await store.impressions(ids)
        assert [one is None for one in found] == [time < 0 for time in times]

    SQLiteLocation(tmp_path).tell(story)
