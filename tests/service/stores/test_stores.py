"""What every store promises."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.service.stores.base import Learned, Shape, Store
from tests.service.stores.places import (
    DAY,
    SHAPE,
    START,
    Place,
    SQLitePlace,
    a_lesson,
    a_list,
    all_events,
    an_item,
    hand_out,
    sums_of,
)

CONTROL = [chr(code) for code in (*range(32), 127)]  # refused before they reach a store
USERS = st.text(st.characters(codec="utf-8", exclude_characters=CONTROL), min_size=1, max_size=256)


def test_a_store_made_for_another_shape_is_refused_by_naming_both(place: Place) -> None:
    place.tell(nothing)
    with pytest.raises(ValueError, match=r"'sums': 5.*'sums': 12"):
        place.tell(nothing, Shape(dim=3, sums=12))
    with pytest.raises(ValueError, match=r"'dim': 3.*'dim': 4"):
        place.tell(nothing, Shape(dim=4, sums=5))
    place.tell(nothing)


def test_the_shape_of_what_is_kept_can_be_asked_for_before_opening(place: Place) -> None:
    assert asyncio.run(place.store().kept_shape()) is None
    place.tell(nothing)
    assert asyncio.run(place.store().kept_shape()) == SHAPE
    place.tell(nothing)


async def nothing(store: Store) -> None:
    await store.ping()


def test_nobody_and_nothing_is_kept_at_first(place: Place) -> None:
    async def story(store: Store) -> None:
        assert await store.person("ada", impressions=5) is None
        assert not await store.erase("ada")
        assert await store.items() == (0, [])
        assert await store.catalogue_version() == 0
        assert await store.events("", 10) == []
        assert await store.counts() == ("", None)
        assert await store.get_meta("anything") is None

    place.tell(story)


def test_empty_batches_change_nothing(place: Place) -> None:
    async def story(store: Store) -> None:
        known = await store.begin([], accounts=True)
        assert known.sums.shape == (0, SHAPE.sums)
        assert len(known.rounds) == 0
        assert await store.record([], units=np.ones(3, dtype=np.int64)) == []
        assert await store.impressions([]) == []
        assert await store.learn([]) == []
        await store.put_users([], np.empty((0, SHAPE.sums)), np.empty(0, dtype=np.int64))
        await store.put_items([])
        assert await store.remove_items([])
        assert await store.items() == (0, [])
        assert await all_events(store) == []

    place.tell(story)


def test_the_first_of_several_answers_to_one_list_is_learned(place: Place) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        first, other = a_lesson(shown, clicked=2), a_lesson(shown, clicked=1)
        fewer = a_lesson(shown, clicked=0, examined=1)
        assert await store.learn([first, first, other, fewer]) == [
            Learned.NOW,
            Learned.BEFORE,
            Learned.OTHERWISE,
            Learned.OTHERWISE,
        ]
        assert await store.learn([other]) == [Learned.OTHERWISE]
        (answered,) = await store.impressions([shown.id])
        assert answered is not None
        assert (answered.clicked, answered.examined) == (2, 2)
        np.testing.assert_array_equal(await sums_of(store, "ada"), np.ones(SHAPE.sums))
        assert await all_events(store) == [
            (shown.time, [0, 1], None),
            (first.time, [1], 2),
        ]

    place.tell(story)


def test_no_click_is_an_answer_too(place: Place) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        lesson = a_lesson(shown, clicked=0)
        assert await store.learn([lesson, lesson]) == [Learned.NOW, Learned.BEFORE]
        (answered,) = await store.impressions([shown.id])
        assert answered is not None
        assert (answered.clicked, answered.examined) == (0, 2)
        assert (await all_events(store))[-1] == (lesson.time, [], 0)

    place.tell(story)


def test_a_list_keeps_the_features_that_it_showed(place: Place) -> None:
    async def story(store: Store) -> None:
        await store.put_items([an_item("a"), an_item("b")])
        (shown,) = await hand_out(store, "ada")
        await store.put_items([an_item("a", features=np.zeros(SHAPE.dim))])
        await store.remove_items(["b"])
        (kept,) = await store.impressions([shown.id])
        assert kept is not None
        np.testing.assert_array_equal(kept.features, shown.features)

    place.tell(story)


def test_a_removed_item_comes_back_in_its_slot_and_no_slot_is_given_twice(place: Place) -> None:
    async def slots(store: Store) -> dict[str, tuple[int, bool]]:
        return {item.id: (item.slot, item.removed) for item in (await store.items())[1]}

    async def story(store: Store) -> None:
        await store.put_items([an_item("a"), an_item("b"), an_item("c")])
        assert await store.remove_items(["a", "b", "never put"])
        assert await slots(store) == {"a": (0, True), "b": (1, True), "c": (2, False)}
        await store.put_items([an_item("b"), an_item("d"), an_item("d")])
        assert await slots(store) == {
            "a": (0, True),
            "b": (1, False),
            "c": (2, False),
            "d": (3, False),
        }

    place.tell(story)


def test_what_a_change_leaves_out_stays_as_it_was(place: Place) -> None:
    features = np.arange(3.0)

    async def story(store: Store) -> None:
        await store.put_items([an_item("a")])
        assert await the_item(store, "a") == (1.0, 0.0, {})
        await store.put_items([an_item("a", merit=0.1 + 0.2, groups={"group": "jazz"})])
        await store.put_items([an_item("a", popularity=5e-324, groups={"supplier": "x|y"})])
        labels = {"group": "jazz", "supplier": "x|y"}
        assert await the_item(store, "a") == (0.1 + 0.2, 5e-324, labels)
        await store.put_items([an_item("a", groups={"group": "", "never": ""}, features=features)])
        assert await the_item(store, "a") == (0.1 + 0.2, 5e-324, {"supplier": "x|y"})
        (item,) = (await store.items())[1]
        np.testing.assert_array_equal(item.features, features)

    place.tell(story)


def test_changes_of_one_item_in_one_call_are_made_in_their_order(place: Place) -> None:
    async def story(store: Store) -> None:
        await store.put_items(
            [
                an_item("a", merit=2.0, groups={"group": "jazz", "empty": ""}),
                an_item("b"),
                an_item("a", popularity=3.0, groups={"group": "", "supplier": "x"}),
                an_item("a", merit=4.0),
            ]
        )
        assert await the_item(store, "a") == (4.0, 3.0, {"supplier": "x"})
        assert await the_item(store, "b") == (1.0, 0.0, {})

    place.tell(story)


def test_a_removed_item_comes_back_with_nothing_of_what_it_was(place: Place) -> None:
    async def story(store: Store) -> None:
        old = an_item("a", merit=7.0, popularity=8.0, groups={"group": "jazz", "supplier": "x"})
        await store.put_items([old, an_item("b")])
        assert await store.remove_items(["a"])
        await store.put_items([an_item("a", groups={"supplier": "y"})])
        assert await the_item(store, "a") == (1.0, 0.0, {"supplier": "y"})

    place.tell(story)


async def the_item(store: Store, name: str) -> tuple[float, float, dict[str, str]]:
    """Return merit, popularity and labels of an item that is there."""
    (item,) = (item for item in (await store.items())[1] if item.id == name)
    assert not item.removed
    return item.merit, item.popularity, dict(item.groups)


@pytest.mark.parametrize("ids", [["a", "b"], ["b", "a", "b", "gone", "never put"]])
def test_the_last_items_cannot_be_removed(place: Place, ids: list[str]) -> None:
    async def story(store: Store) -> None:
        assert await store.remove_items(["never put"])
        await store.put_items([an_item("gone"), an_item("a"), an_item("b")])
        assert await store.remove_items(["gone"])
        version = await store.catalogue_version()
        assert not await store.remove_items(ids)
        assert await store.remove_items(["gone", "never put"])
        _, items = await store.items()
        assert [(item.id, item.removed) for item in items] == [
            ("gone", True),
            ("a", False),
            ("b", False),
        ]
        assert (await store.items(version))[1] == []
        assert await store.remove_items(["a", "a"])
        assert not await store.remove_items(["b"])
        await store.put_items([an_item("gone")])
        assert await store.remove_items(["b"])

    place.tell(story)


def test_users_who_are_there_stay_as_they_are_when_they_are_brought_in_again(place: Place) -> None:
    sums = np.full((3, SHAPE.sums), 10.0)

    async def story(store: Store) -> None:
        await store.put_users(["ada"], sums[:1], np.array([5]))
        (shown,) = await hand_out(store, "ada")
        assert shown.round == 6
        await store.learn([a_lesson(shown)])
        await hand_out(store, "bob")
        await store.put_users(["ada", "bob", "eve"], 2 * sums, np.array([3, 3, 3]))
        known = await store.begin(["ada", "bob", "eve"])
        assert known.sums[:, 0].tolist() == [11.0, 0.0, 20.0]
        assert known.rounds.tolist() == [7, 2, 4]

    place.tell(story)


def test_an_erased_user_is_forgotten_and_starts_anew(place: Place) -> None:
    async def story(store: Store) -> None:
        shown = await hand_out(store, "ada", 3)
        await store.record([a_list("ada", round=4)], units=np.array([5, 3]))
        (others,) = await hand_out(store, "adam")
        await store.learn([a_lesson(shown[0]), a_lesson(others)])
        events = await all_events(store)
        assert await store.erase("ada")
        assert not await store.erase("ada")
        assert await store.person("ada", impressions=9) is None
        assert await store.impressions([one.id for one in shown]) == [None] * 3
        assert set(await store.learn([a_lesson(one) for one in shown])) == {Learned.UNKNOWN}
        assert await all_events(store) == events
        np.testing.assert_array_equal(await sums_of(store, "adam"), np.ones(SHAPE.sums))
        again = await store.begin(["ada"], accounts=True)
        assert again.rounds.tolist() == [1]
        assert not again.sums.any()
        assert again.accounts == [{}]

    place.tell(story)


def test_a_list_of_somebody_erased_meanwhile_keeps_its_number_to_itself(place: Place) -> None:
    async def story(store: Store) -> None:
        await hand_out(store, "ada", 3)
        known = await store.begin(["ada"])
        await store.erase("ada")
        await store.record([a_list("ada", round=int(known.rounds[0]))], units=None)
        assert (await store.begin(["ada"])).rounds[0] > known.rounds[0]

    place.tell(story)


def test_accounts_grow_by_the_units_of_the_positions(place: Place) -> None:
    async def story(store: Store) -> None:
        lists = [a_list("ada", (7, 2, 9)), a_list("ada", (2, 7), round=2)]
        await store.record(lists, units=np.array([2**40, 20, 1]))
        await store.record([a_list("bob", (7,))], units=None)
        known = await store.begin(["ada", "bob"], accounts=True)
        assert known.accounts == [{7: 2**40 + 20, 2: 20 + 2**40, 9: 1}, {}]

    place.tell(story)


def test_batches_of_any_size_keep_their_order(place: Place) -> None:
    n = 1_203
    users = [f"user {i % 401}" for i in range(n)]

    async def story(store: Store) -> None:
        known = await store.begin(users)
        assert known.rounds.tolist() == [1 + i // 401 for i in range(n)]
        lists = [
            a_list(u, (i, i + 1), round=int(r))
            for i, (u, r) in enumerate(zip(users, known.rounds, strict=True))
        ]
        ids = await store.record(lists, units=None)
        kept = [one for one in await store.impressions(ids) if one is not None]
        assert [(one.user, one.slots[0]) for one in kept] == [(u, i) for i, u in enumerate(users)]
        lessons = [
            a_lesson(one, increments=np.full(SHAPE.sums, float(i))) for i, one in enumerate(kept)
        ]
        assert await store.learn(lessons) == [Learned.NOW] * n
        assert [event[1] for event in await all_events(store)] == [
            *([i, i + 1] for i in range(n)),
            *([] for _ in range(n)),
        ]
        sums = (await store.begin(users[:401])).sums
        expected = np.array([i + (i + 401) + (i + 802) for i in range(401)])
        np.testing.assert_array_equal(sums, np.repeat(expected[:, None], SHAPE.sums, axis=1))

    place.tell(story)


@pytest.mark.parametrize("s", [1, 127, 128, 129, 256, 6_100])
def test_sums_of_any_length_add_up_to_the_last_bit(place: Place, s: int) -> None:
    shape = Shape(dim=SHAPE.dim, sums=s)
    rng = np.random.default_rng(s)

    async def story(store: Store) -> None:
        total = np.zeros(s)
        for shown in await hand_out(store, "ada", 4):
            increments = rng.normal(size=s) * 10.0 ** rng.integers(-20, 20, size=s)
            await store.learn([a_lesson(shown, increments=increments)])
            total = total + increments
        np.testing.assert_array_equal(await sums_of(store, "ada"), total)

    place.tell(story, shape)


def test_a_catalogue_of_thousands_is_read_whole(place: Place) -> None:
    async def story(store: Store) -> None:
        await store.put_items([an_item(f"i{n}", merit=1.0 + n) for n in range(10_000)])
        version, items = await store.items()
        assert [(item.slot, item.id) for item in items] == [(n, f"i{n}") for n in range(10_000)]
        assert items[9_000].merit == 9_001.0
        await store.remove_items([f"i{n}" for n in range(5, 10_000)])
        assert len((await store.items(version))[1]) == 9_995

    place.tell(story)


def test_lists_begun_at_once_get_different_rounds(place: Place) -> None:
    async def story(store: Store) -> None:
        known = await asyncio.gather(*(store.begin(["ada", "bob", "ada"]) for _ in range(20)))
        rounds = Counter(
            (user, number)
            for one in known
            for user, number in zip(["ada", "bob", "ada"], one.rounds.tolist(), strict=True)
        )
        assert rounds == Counter(
            [("ada", n) for n in range(1, 41)] + [("bob", n) for n in range(1, 21)]
        )

    place.tell(story)


def test_of_answers_that_come_at_once_one_is_learned(place: Place) -> None:
    async def story(store: Store) -> None:
        shown = await hand_out(store, "ada", 5)
        batches = [[a_lesson(one, clicked=1) for one in shown] for _ in range(8)]
        learned = await asyncio.gather(*map(store.learn, batches))
        outcomes = Counter(outcome for some in learned for outcome in some)
        assert outcomes == {Learned.NOW: 5, Learned.BEFORE: 35}
        np.testing.assert_array_equal(await sums_of(store, "ada"), np.full(SHAPE.sums, 5.0))
        assert len(await all_events(store)) == 10

    place.tell(story)


def test_counts_survive_and_older_ones_do_not_replace_them(place: Place) -> None:
    async def before(store: Store) -> None:
        await hand_out(store, "ada", 12)
        cursors = [cursor for cursor, _ in await store.events("", 12)]
        assert len(set(cursors)) == 12
        await store.keep_counts(cursors[10], b"eleven\0")
        await store.keep_counts(cursors[8], b"nine")

    async def after(store: Store) -> None:
        cursor, counts = await store.counts()
        assert counts == b"eleven\0"
        assert len(await store.events(cursor, 10)) == 1
        await hand_out(store, "ada", 1)
        assert len(await store.events(cursor, 10)) == 2

    place.tell(before)
    place.tell(after)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(users=st.lists(USERS, min_size=1, max_size=3, unique=True))
def test_users_may_have_any_names(new_place: Callable[[], Place], users: list[str]) -> None:
    async def story(store: Store) -> None:
        known = await store.begin(users, accounts=True)
        lists = [a_list(user, (n,)) for n, user in enumerate(users)]
        ids = await store.record(lists, units=np.array([3]))
        kept = [one for one in await store.impressions(ids) if one is not None]
        assert [one.user for one in kept] == users
        await store.learn(
            [a_lesson(one, increments=np.full(SHAPE.sums, float(n))) for n, one in enumerate(kept)]
        )
        known = await store.begin(users, accounts=True)
        assert known.sums[:, 0].tolist() == list(range(len(users)))
        assert known.accounts == [{n: 3} for n in range(len(users))]
        for n, user in enumerate(users):
            person = await store.person(user, impressions=1)
            assert person is not None
            assert [one.id for one in person.impressions] == [ids[n]]
            assert await store.erase(user)
        assert await store.impressions(ids) == [None] * len(users)

    new_place().tell(story)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.text(max_size=300) | st.from_regex(r"[0-9a-f]{1,20}-[\w-]{0,12}"))
def test_any_text_may_be_asked_for_as_an_impression(
    new_place: Callable[[], Place], text: str
) -> None:
    async def story(store: Store) -> None:
        (shown,) = await hand_out(store, "ada")
        almost = [shown.id[:-1], shown.id + "A", shown.id.swapcase()]
        assert await store.impressions([text, *almost]) == [None] * 4
        assert await store.learn([a_lesson(replace(shown, id=text))]) == [Learned.UNKNOWN]

    new_place().tell(story)


def test_sqlite_drops_impressions_handed_out_before_a_time(tmp_path: Path) -> None:
    pytest.importorskip("faircascade.service.stores.sqlite")

    async def story(store: Store) -> None:
        lists = [a_list("ada", round=n) for n in range(1, 8)]
        ids = await store.record(lists, units=None)
        kept = [one for one in await store.impressions(ids) if one is not None]
        await store.learn([a_lesson(kept[0])])
        while await store.expire(START + 4):
            pass
        found = await store.impressions(ids)
        assert [one is None for one in found] == [True] * 3 + [False] * 4
        person = await store.person("ada", impressions=10)
        assert person is not None
        assert (person.count, len(person.impressions), person.rounds) == (4, 4, 7)
        np.testing.assert_array_equal(person.sums, np.ones(SHAPE.sums))
        assert len(await all_events(store)) == 8

    SQLitePlace(tmp_path).tell(story)


def test_sqlite_drops_old_impressions_behind_thousands_from_the_future(tmp_path: Path) -> None:
    pytest.importorskip("faircascade.service.stores.sqlite")
    times = [DAY] * 1_100 + [-1.0, DAY, -DAY, 0.0, 1.0] + [-2.0] * 1_100

    async def story(store: Store) -> None:
        lists = [
            replace(a_list("ada", round=n), time=START + time)
            for n, time in enumerate(times, start=1)
        ]
        ids = await store.record(lists, units=None)
        while await store.expire(START):
            pass
        found = await store.impressions(ids)
        assert [one is None for one in found] == [time < 0 for time in times]

    SQLitePlace(tmp_path).tell(story)
