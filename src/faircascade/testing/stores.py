"""The contract of stores as checks.

`check_store(new_store)` is what an author of a store calls; `STORE_CHECKS` are the checks one by
one, for a test runner that reports each.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from faircascade.service.stores.base import (
    ANSWER,
    COUNTED,
    LABELS,
    SHOWN,
    Impression,
    ItemPatch,
    ModelUpdate,
    Store,
    StoreShape,
    UpdateOutcome,
)
from faircascade.service.stores.changes import (
    Answered,
    Change,
    Erased,
    Expired,
    Imported,
    Moved,
    Shown,
)
from faircascade.types import Floats

SHAPE = StoreShape(dim=3, sums=5, topics=1)
"""What stores are opened with, unless a check is about another shape."""
START = 1_700_000_000.0
"""When the first impressions are handed out."""

Check = Callable[[Store], Awaitable[None]]
"""Takes a store over an empty location that is not open, and raises an `AssertionError`."""


def check_store(new_store: Callable[[], Store]) -> None:
    """Check a store against the contract in `faircascade.service.stores.base`.

    Every call of `new_store` returns a store over a new, empty location, not open yet. A check may
    close a store and open it again, which must find what was kept. An `AssertionError` names the
    check that failed.
    """
    for check in STORE_CHECKS:
        run_store_check(check, new_store)


def run_store_check(check: Check, new_store: Callable[[], Store]) -> None:
    """Run one of `STORE_CHECKS`."""

    async def run() -> None:
        await check(new_store())

    try:
        asyncio.run(run())
    except AssertionError as error:
        raise AssertionError(f"{_name(check)}: {error}") from error


def _name(check: Check) -> str:
    return str(getattr(check, "__name__", check))


# examples


def new_impression(
    user: str,
    slots: Sequence[int] = (0, 1),
    *,
    round: int = 1,
    dim: int = SHAPE.dim,
    start: float = START,
    labels: Sequence[str] = (),
) -> Impression:
    """Return an impression to be recorded, with features of its own."""
    rng = np.random.default_rng([round, len(user), *slots])
    return Impression(
        id="",
        user=user,
        slots=np.array(slots, dtype=np.int32),
        features=rng.normal(size=(len(slots), dim)),
        round=round,
        time=start + round,
        note={LABELS: list(labels)} if labels else {},
    )


def new_update(
    impression: Impression,
    *clicked: int,
    examined: int | None = None,
    increments: Floats | None = None,
) -> ModelUpdate:
    """Return feedback on an impression, clicked at some positions.

    Without `examined` it was seen up to the first click, without increments it adds one to every
    sum.
    """
    return ModelUpdate(
        impression=impression,
        clicked=clicked,
        examined=min(clicked, default=len(impression.slots)) if examined is None else examined,
        increments=np.ones(SHAPE.sums) if increments is None else increments,
        time=impression.time + 1,
    )


def new_item(name: str, **values: Any) -> ItemPatch:
    """Return an item to be put into the catalogue."""
    features = np.random.default_rng(len(name)).normal(size=SHAPE.dim)
    return ItemPatch(**{"id": name, "features": features, **values})


async def hand_out(store: Store, user: str, count: int = 1) -> list[Impression]:
    """Record impressions of a user, and return them as the store has them."""
    states = await store.begin_round([user] * count)
    new = [new_impression(user, round=int(number)) for number in states.rounds]
    kept = await store.impressions(await store.record(new, units=None))
    return [impression for impression in kept if impression is not None]


async def sums_of(store: Store, user: str) -> Floats:
    """Return the sums of a known user."""
    record = await store.user(user, impressions=0)
    assert record is not None, f"user {user!r} is not known"
    return record.sums


async def all_events(store: Store) -> list[tuple[float, list[int], bool]]:
    """Return all events, a few at a time."""
    found: list[Any] = []
    cursor = ""
    while some := await store.events(cursor, 100):
        cursor = some[-1][0]
        found += [(event.time, event.slots.tolist(), event.answered) for _, event in some]
    return found


async def all_changes(store: Store) -> list[Change]:
    """Return all logged changes, a few at a time."""
    found: list[Change] = []
    cursor = ""
    while some := await store.changes(cursor, 100):
        cursor = some[-1][0]
        found += [change for _, change in some]
    return found


# assertions


def _equal(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(found)}")


def _same(found: Floats, expected: Floats, what: str) -> None:
    if not np.array_equal(found, expected):
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(found)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."


def _opened(check: Check) -> Check:
    """Open the store before a check, and close it afterwards."""

    @wraps(check)
    async def run(store: Store) -> None:
        await store.open(SHAPE)
        try:
            await check(store)
        finally:
            await store.close()

    return run


async def _reopen(store: Store) -> None:
    await store.close()
    await store.open(SHAPE)


# checks


async def another_shape_is_refused(store: Store) -> None:
    """A store opened for one shape raises a ValueError when opened for another."""
    await store.open(SHAPE)
    await store.ping()
    await store.close()
    for shape in (replace(SHAPE, sums=6), replace(SHAPE, dim=4), replace(SHAPE, topics=0)):
        try:
            await store.open(shape)
        except ValueError:
            continue
        await store.close()
        raise AssertionError(f"a store of {SHAPE} must refuse to be opened for {shape}")
    await store.open(SHAPE)
    await store.close()


async def the_shape_is_known_before_opening(store: Store) -> None:
    _equal(await store.stored_shape(), None, "stored_shape() of an empty store")
    await store.open(SHAPE)
    await store.close()
    _equal(await store.stored_shape(), SHAPE, "stored_shape() of a store that was opened")


@_opened
async def an_empty_store_knows_nothing(store: Store) -> None:
    _equal(await store.user("ada", impressions=5), None, "user() of an unknown user")
    _equal(await store.erase("ada"), False, "erase() of an unknown user")
    _equal(await store.items(), (0, []), "items()")
    _equal(await store.catalogue_version(), 0, "catalogue_version()")
    _equal(await store.events("", 10), [], "events()")
    _equal(await store.counts(), ("", None), "counts()")
    _equal(await store.get_meta("anything"), None, "get_meta() of an unknown name")


@_opened
async def empty_batches_change_nothing(store: Store) -> None:
    states = await store.begin_round([], accounts=True)
    _equal(states.sums.shape, (0, SHAPE.sums), "shape of the sums of nobody")
    _equal(len(states.rounds), 0, "rounds of nobody")
    _equal(await store.record([], units=np.ones(3, dtype=np.int64)), [], "record([])")
    _equal(await store.impressions([]), [], "impressions([])")
    _equal(await store.learn([]), [], "learn([])")
    await store.put_users([], np.empty((0, SHAPE.sums)), np.empty(0, dtype=np.int64))
    await store.put_items([])
    _equal(await store.remove_items([]), True, "remove_items([])")
    _equal(await store.items(), (0, []), "items()")
    _equal(await all_events(store), [], "events")


@_opened
async def the_first_feedback_on_an_impression_is_learned(store: Store) -> None:
    (shown,) = await hand_out(store, "ada")
    first, other = new_update(shown, 2), new_update(shown, 1)
    fewer = new_update(shown, examined=1)
    _equal(
        await store.learn([first, first, other, fewer]),
        [
            UpdateOutcome.LEARNED,
            UpdateOutcome.REPEATED,
            UpdateOutcome.CONFLICT,
            UpdateOutcome.CONFLICT,
        ],
        "outcomes",
    )
    _equal(await store.learn([other]), [UpdateOutcome.CONFLICT], "a different answer later")
    (kept,) = await store.impressions([shown.id])
    assert kept is not None, "an impression with feedback is still there"
    _equal((kept.clicked, kept.examined), ((2,), 2), "the feedback that is kept")
    _same(await sums_of(store, "ada"), np.ones(SHAPE.sums), "sums after one update")
    expected = [(shown.time, [0, 1], False), (first.time, [1], True)]
    _equal(await all_events(store), expected, "events")


@_opened
async def no_click_is_feedback_too(store: Store) -> None:
    (shown,) = await hand_out(store, "ada")
    update = new_update(shown)
    outcomes = [UpdateOutcome.LEARNED, UpdateOutcome.REPEATED]
    _equal(await store.learn([update, update]), outcomes, "outcomes")
    (kept,) = await store.impressions([shown.id])
    assert kept is not None, "an impression with feedback is still there"
    _equal((kept.clicked, kept.examined), ((), 2), "the feedback that is kept")
    _equal((await all_events(store))[-1], (update.time, [], True), "the event of the feedback")


@_opened
async def several_clicks_are_kept_and_compared(store: Store) -> None:
    states = await store.begin_round(["ada"])
    slate = new_impression("ada", slots=(3, 1, 2), round=int(states.rounds[0]))
    (name,) = await store.record([slate], units=None)
    (shown,) = await store.impressions([name])
    assert shown is not None, "an impression is there when it was recorded"
    first = new_update(shown, 1, 3, examined=3)
    others = [
        new_update(shown, 1, 2, examined=3),
        new_update(shown, 1, 2, 3, examined=3),
        new_update(shown, 1, 3, examined=1),
        new_update(shown, 1, examined=3),
        new_update(shown, examined=3),
    ]
    outcomes = [UpdateOutcome.LEARNED, UpdateOutcome.REPEATED] + [UpdateOutcome.CONFLICT] * 5
    _equal(await store.learn([first, first, *others]), outcomes, "outcomes")
    (kept,) = await store.impressions([name])
    assert kept is not None, "an impression with feedback is still there"
    _equal((kept.clicked, kept.examined), ((1, 3), 3), "the feedback that is kept")
    _same(kept.features, slate.features, "features of an impression with feedback")
    _same(await sums_of(store, "ada"), np.ones(SHAPE.sums), "sums after one update")
    _equal((await all_events(store))[-1], (first.time, [3, 2], True), "the event of the feedback")


@_opened
async def what_else_an_answer_says_is_kept_and_compared(store: Store) -> None:
    states = await store.begin_round(["ada"] * 2)
    new = [new_impression("ada", slots=(3, 1, 2), round=int(n)) for n in states.rounds]
    slates = await store.impressions(await store.record(new, units=None))
    one, other = [shown for shown in slates if shown is not None]
    said = {SHOWN: 2, "x": ["\u00e9", 1.5]}
    some = replace(new_update(one, 1, 2, examined=2), details=said)
    none = replace(new_update(other, examined=2), details=said)
    conflicts = [
        replace(some, details={}),
        replace(some, details={**said, SHOWN: 1}),
        replace(some, details={**said, "y": 1}),
        replace(none, details={}),
    ]
    learned = [UpdateOutcome.LEARNED] * 2 + [UpdateOutcome.REPEATED] * 2
    found = await store.learn([some, none, some, none, *conflicts])
    _equal(found, learned + [UpdateOutcome.CONFLICT] * 4, "outcomes")
    await _reopen(store)
    kept = await store.impressions([one.id, other.id])
    answers = [shown and (shown.clicked, shown.examined, shown.details) for shown in kept]
    _equal(answers, [((1, 2), 2, said), ((), 2, said)], "answers")
    unshown = {"time": one.time, "below": 2, "slots": [2]}
    notes = [event.note for _, event in await store.events("", 10)]
    _equal(notes[:3], [{}, {}, {ANSWER: {"unshown": unshown}}], "notes of events")


@_opened
async def units_of_what_was_not_shown_are_taken_back_once(store: Store) -> None:
    new = [new_impression(user, slots=(3, 1, 2)) for user in ("ada", "bob")]
    slates = await store.impressions(await store.record(new, units=np.array([2**40, 20, 7])))
    one, other = [shown for shown in slates if shown is not None]
    update = replace(new_update(one), details={SHOWN: 1}, refunds={1: 20, 2: 7})
    conflict = replace(new_update(one, 1), refunds={3: 9})
    await store.learn([update, update, conflict, new_update(other)])
    accounts = (await store.begin_round(["ada", "bob"], accounts=True)).accounts
    had = [{slot: units for slot, units in account.items() if units} for account in accounts]
    _equal(had, [{3: 2**40}, {3: 2**40, 1: 20, 2: 7}], "accounts")


@_opened
async def slates_without_an_answer_are_found_oldest_first(store: Store) -> None:
    slates = [new_impression(user, round=n) for n in range(1, 9) for user in ("ada", "bob")]
    kept = await store.impressions(await store.record(slates, units=None))
    shown = [one for one in kept if one is not None]
    await store.learn([new_update(one) for one in shown if one.round in (2, 3)])

    async def rounds(before: float, limit: int) -> list[tuple[int, str]]:
        found = await store.unanswered(before, limit)
        return [(one.round, one.user) for one in found]

    _equal(await rounds(START + 1, 9), [], "unanswered() before the first slate")
    open_ = [n for n, _ in await rounds(START + 6, 99)]
    _equal(open_, [1, 1, 4, 4, 5, 5], "rounds without an answer")
    _equal([n for n, _ in await rounds(START + 6, 3)], [1, 1, 4], "the first of them")
    (first, *_) = await store.unanswered(START + 6, 1)
    same = next(one for one in shown if one.id == first.id)
    _same(first.features, same.features, "features of a slate without an answer")
    await store.erase("ada")
    await _reopen(store)
    _equal(await rounds(START + 6, 99), [(1, "bob"), (4, "bob"), (5, "bob")], "after an erasure")
    await store.learn([new_update(one) for one in shown])
    _equal(await rounds(START + 99, 99), [], "when all are answered")


@_opened
async def a_note_is_kept_and_what_is_counted_goes_with_events(store: Store) -> None:
    note = {"policy": "ea\u2028\U0001f600", COUNTED: {"arm": "a", "n": [1, 2.5, None]}, "x": 1}
    slates = [
        replace(new_impression("ada", round=1), note=note),
        new_impression("ada", slots=(), round=2),
    ]
    kept = await store.impressions(await store.record(slates, units=None))
    shown = [impression for impression in kept if impression is not None]
    _equal([one.note for one in shown], [note, {}], "notes")
    await store.learn([new_update(shown[0], 1, 2, examined=2), new_update(shown[1])])
    kept = await store.impressions([one.id for one in shown])
    _equal([one and one.note for one in kept], [note, {}], "notes of answered slates")
    _equal([one and one.clicked for one in kept], [(1, 2), ()], "answers")
    events = [event.note for _, event in await store.events("", 10)]
    _equal(events, [note[COUNTED], {}] * 2, "notes of events")


@_opened
async def sums_can_be_made_wider(store: Store) -> None:
    (first, other) = await hand_out(store, "ada", 2)
    await store.learn([new_update(first)])
    await store.widen(SHAPE.sums + 130)
    _equal((await store.begin_round(["ada"])).sums.shape, (1, SHAPE.sums + 130), "wider sums")
    more = np.linspace(0.5, 9.0, SHAPE.sums + 130)
    await store.learn([new_update(other, increments=more)])
    expected = more + np.r_[np.ones(SHAPE.sums), np.zeros(130)]
    _same(await sums_of(store, "ada"), expected, "sums after a wider update")
    (third,) = await hand_out(store, "ada")
    try:
        await store.learn([new_update(third), new_update(third, increments=np.ones(200))])
    except ValueError:
        _same(await sums_of(store, "ada"), expected, "sums after too many increments")
    else:
        raise AssertionError("more increments than sums must be refused")
    await store.learn([new_update(third, increments=np.ones(2))])
    expected[:2] += 1
    _same(await sums_of(store, "ada"), expected, "sums after a narrower update")
    await _reopen(store)  # by somebody who knows of the first numbers alone
    _same(await sums_of(store, "ada"), expected[: SHAPE.sums], "the first sums")
    await store.learn([new_update(one) for one in await hand_out(store, "ada")])
    expected[: SHAPE.sums] += 1
    wide = replace(SHAPE, sums=SHAPE.sums + 130)
    await store.close()
    _equal(await store.stored_shape(), wide, "stored_shape()")
    await store.open(wide)
    _same(await sums_of(store, "ada"), expected, "sums after a service with a narrower view")
    _same((await store.begin_round(["eve"])).sums, np.zeros((1, len(expected))), "a new user")


@_opened
async def an_impression_keeps_the_features_that_it_showed(store: Store) -> None:
    await store.put_items([new_item("a"), new_item("b")])
    (shown,) = await hand_out(store, "ada")
    await store.put_items([new_item("a", features=np.zeros(SHAPE.dim))])
    await store.remove_items(["b"])
    (kept,) = await store.impressions([shown.id])
    assert kept is not None, "an impression of a removed item is still there"
    _same(kept.features, shown.features, "features after the items changed")


@_opened
async def no_slot_is_given_twice(store: Store) -> None:
    async def slots() -> dict[str, tuple[int, bool]]:
        return {item.id: (item.slot, item.removed) for item in (await store.items())[1]}

    await store.put_items([new_item("a"), new_item("b"), new_item("c")])
    await store.remove_items(["a", "b", "never put"])
    _equal(await slots(), {"a": (0, True), "b": (1, True), "c": (2, False)}, "slots")
    await store.put_items([new_item("b"), new_item("d"), new_item("d")])
    expected = {"a": (0, True), "b": (1, False), "c": (2, False), "d": (3, False)}
    _equal(await slots(), expected, "slots after an item came back and another was added")


async def _item(store: Store, name: str) -> tuple[float, float, dict[str, str]]:
    """Return merit, popularity and labels of an item that is not removed."""
    (item,) = (item for item in (await store.items())[1] if item.id == name)
    assert not item.removed, f"item {name!r} is removed"
    return item.merit, item.popularity, dict(item.groups)


@_opened
async def what_a_patch_leaves_out_stays(store: Store) -> None:
    await store.put_items([new_item("a")])
    _equal(await _item(store, "a"), (1.0, 0.0, {}), "defaults")
    await store.put_items([new_item("a", merit=0.1 + 0.2, groups={"group": "jazz"})])
    await store.put_items([new_item("a", popularity=5e-324, groups={"supplier": "x|y"})])
    labels = {"group": "jazz", "supplier": "x|y"}
    _equal(await _item(store, "a"), (0.1 + 0.2, 5e-324, labels), "after two patches")
    features = np.arange(3.0)
    await store.put_items([new_item("a", groups={"group": "", "never": ""}, features=features)])
    expected = (0.1 + 0.2, 5e-324, {"supplier": "x|y"})
    _equal(await _item(store, "a"), expected, "an empty label removes it")
    (item,) = (await store.items())[1]
    _same(item.features, features, "features")


@_opened
async def attributes_of_all_kinds_are_kept(store: Store) -> None:
    everything = {"price": 0.1 + 0.2, "sold": False, "language": "d\u00e9\n", "tags": ["a", "b|c"]}
    await store.put_items([new_item("a", attributes=everything), new_item("b")])
    await store.put_items([new_item("a", attributes={"price": None, "tags": ["c"], "new": True})])
    await store.put_items([new_item("a", merit=2.0)])
    changed = {"sold": False, "language": "d\u00e9\n", "tags": ["c"], "new": True}
    found = {item.id: dict(item.attributes) for item in (await store.items())[1]}
    _equal(found, {"a": changed, "b": {}}, "attributes")
    columns = [page async for page in store.item_columns(0, SHAPE.dim)]
    names = {
        name: dict(a) for page in columns for name, a in zip(page.ids, page.attributes, strict=True)
    }
    _equal(names, found, "attributes in columns")
    await store.remove_items(["a"])
    await store.put_items([new_item("a", attributes={"x": 1.0})])
    (item,) = (item for item in (await store.items())[1] if item.id == "a")
    _equal(dict(item.attributes), {"x": 1.0}, "attributes of an item that came back")


@_opened
async def patches_of_one_item_are_made_in_order(store: Store) -> None:
    await store.put_items(
        [
            new_item("a", merit=2.0, groups={"group": "jazz", "empty": ""}),
            new_item("b"),
            new_item("a", popularity=3.0, groups={"group": "", "supplier": "x"}),
            new_item("a", merit=4.0),
        ]
    )
    _equal(await _item(store, "a"), (4.0, 3.0, {"supplier": "x"}), "item a")
    _equal(await _item(store, "b"), (1.0, 0.0, {}), "item b")


@_opened
async def a_removed_item_comes_back_empty(store: Store) -> None:
    old = new_item("a", merit=7.0, popularity=8.0, groups={"group": "jazz", "supplier": "x"})
    await store.put_items([old, new_item("b")])
    await store.remove_items(["a"])
    await store.put_items([new_item("a", groups={"supplier": "y"})])
    _equal(await _item(store, "a"), (1.0, 0.0, {"supplier": "y"}), "item a")


@_opened
async def the_last_items_cannot_be_removed(store: Store) -> None:
    _equal(await store.remove_items(["never put"]), True, "removing from an empty catalogue")
    await store.put_items([new_item("gone"), new_item("a"), new_item("b")])
    await store.remove_items(["gone"])
    version = await store.catalogue_version()
    for ids in (["a", "b"], ["b", "a", "b", "gone", "never put"]):
        _equal(await store.remove_items(ids), False, f"remove_items({ids}), all that is left")
    _equal(await store.remove_items(["gone", "never put"]), True, "removing what is not there")
    items = [(item.id, item.removed) for item in (await store.items())[1]]
    _equal(items, [("gone", True), ("a", False), ("b", False)], "items")
    _equal((await store.items(version))[1], [], "changes since the version")
    _equal(await store.remove_items(["a", "a"]), True, "removing one of two")
    _equal(await store.remove_items(["b"]), False, "removing the last")
    await store.put_items([new_item("gone")])
    _equal(await store.remove_items(["b"]), True, "removing it when another is back")


@_opened
async def who_follows_the_catalogue_misses_no_change(store: Store) -> None:
    """Items read while others change them: what a version does not hold comes after it."""
    followed: dict[str, bool] = {}
    version = 0
    await store.put_items([new_item("kept")])

    async def change(writer: int) -> None:
        for turn in range(12):
            names = [f"{writer}:{turn}:{place}" for place in range(30)]
            await store.put_items([new_item(name) for name in names])
            await store.remove_items(names[::2])

    async def follow() -> None:
        nonlocal version
        before, (version, found) = version, await store.items(version)
        assert version >= before, f"the version went back from {before} to {version}"
        followed.update({item.id: not item.removed for item in found})

    changing = [asyncio.create_task(change(writer)) for writer in range(6)]
    while not all(task.done() for task in changing):
        await follow()
        await asyncio.sleep(0)
    await asyncio.gather(*changing)
    await follow()
    expected = {item.id: not item.removed for item in (await store.items())[1]}
    wrong = [name for name, there in expected.items() if followed.get(name) != there]
    _equal(wrong[:3], [], f"{len(wrong)} of {len(expected)} items that a follower has wrong")


@_opened
async def known_users_are_not_overwritten(store: Store) -> None:
    sums = np.full((3, SHAPE.sums), 10.0)
    await store.put_users(["ada"], sums[:1], np.array([5]))
    (shown,) = await hand_out(store, "ada")
    _equal(shown.round, 6, "round after five")
    await store.learn([new_update(shown)])
    await hand_out(store, "bob")
    await store.put_users(["ada", "bob", "eve"], 2 * sums, np.array([3, 3, 3]))
    states = await store.begin_round(["ada", "bob", "eve"])
    _equal(states.sums[:, 0].tolist(), [11.0, 0.0, 20.0], "sums")
    _equal(states.rounds.tolist(), [7, 2, 4], "rounds")


@_opened
async def an_erased_user_starts_anew(store: Store) -> None:
    shown = await hand_out(store, "ada", 3)
    await store.record([new_impression("ada", round=4)], units=np.array([5, 3]))
    (others,) = await hand_out(store, "adam")
    await store.learn([new_update(shown[0]), new_update(others)])
    events = await all_events(store)
    _equal(await store.erase("ada"), True, "erase()")
    _equal(await store.erase("ada"), False, "erase() again")
    _equal(await store.user("ada", impressions=9), None, "user()")
    _equal(await store.impressions([one.id for one in shown]), [None] * 3, "impressions()")
    outcomes = set(await store.learn([new_update(one) for one in shown]))
    _equal(outcomes, {UpdateOutcome.UNKNOWN}, "learn()")
    _equal(await all_events(store), events, "events, which name nobody")
    _same(await sums_of(store, "adam"), np.ones(SHAPE.sums), "sums of another user")
    again = await store.begin_round(["ada"], accounts=True)
    _equal(again.rounds.tolist(), [1], "rounds")
    _same(again.sums, np.zeros((1, SHAPE.sums)), "sums")
    _equal(list(again.accounts), [{}], "accounts")


@_opened
async def a_round_begun_before_an_erasure_is_not_given_again(store: Store) -> None:
    await hand_out(store, "ada", 3)
    begun = int((await store.begin_round(["ada"])).rounds[0])
    await store.erase("ada")
    await store.record([new_impression("ada", round=begun)], units=None)
    later = int((await store.begin_round(["ada"])).rounds[0])
    assert later > begun, f"the next round must be above {begun}, got {later}"


@_opened
async def accounts_grow_by_units_of_positions(store: Store) -> None:
    slates = [new_impression("ada", (7, 2, 9)), new_impression("ada", (2, 7), round=2)]
    await store.record(slates, units=np.array([2**40, 20, 1]))
    await store.record([new_impression("bob", (7,))], units=None)
    states = await store.begin_round(["ada", "bob"], accounts=True)
    _equal(list(states.accounts), [{7: 2**40 + 20, 2: 20 + 2**40, 9: 1}, {}], "accounts")


@_opened
async def large_batches_keep_their_order(store: Store) -> None:
    n = 1_203
    users = [f"user {i % 401}" for i in range(n)]
    states = await store.begin_round(users)
    _equal(states.rounds.tolist(), [1 + i // 401 for i in range(n)], "rounds")
    slates = [
        new_impression(u, (i, i + 1), round=int(r))
        for i, (u, r) in enumerate(zip(users, states.rounds, strict=True))
    ]
    ids = await store.record(slates, units=None)
    kept = [one for one in await store.impressions(ids) if one is not None]
    found = [(one.user, int(one.slots[0])) for one in kept]
    _equal(found, [(u, i) for i, u in enumerate(users)], "impressions")
    updates = [
        new_update(one, increments=np.full(SHAPE.sums, float(i))) for i, one in enumerate(kept)
    ]
    _equal(await store.learn(updates), [UpdateOutcome.LEARNED] * n, "outcomes")
    events = [event[1] for event in await all_events(store)]
    _equal(events, [*([i, i + 1] for i in range(n)), *([] for _ in range(n))], "events")
    sums = (await store.begin_round(users[:401])).sums
    expected = np.array([i + (i + 401) + (i + 802) for i in range(401)], dtype=np.float64)
    _same(sums, np.repeat(expected[:, None], SHAPE.sums, axis=1), "sums")


def _sums_add_up(s: int) -> Check:
    """Sums of any length add up in order, to the last bit."""

    async def check(store: Store) -> None:
        rng = np.random.default_rng(s)
        await store.open(StoreShape(dim=SHAPE.dim, sums=s))
        try:
            total = np.zeros(s)
            for shown in await hand_out(store, "ada", 4):
                increments = rng.normal(size=s) * 10.0 ** rng.integers(-20, 20, size=s)
                await store.learn([new_update(shown, increments=increments)])
                total = total + increments
            _same(await sums_of(store, "ada"), total, f"{s} sums")
        finally:
            await store.close()

    check.__name__ = f"{s}_sums_add_up_to_the_last_bit"
    return check


@_opened
async def a_large_catalogue_is_read_whole(store: Store) -> None:
    await store.put_items([new_item(f"i{n}", merit=1.0 + n) for n in range(10_000)])
    version, items = await store.items()
    found = [(item.slot, item.id) for item in items]
    _equal(found, [(n, f"i{n}") for n in range(10_000)], "items")
    _equal(items[9_000].merit, 9_001.0, "merit")
    await store.remove_items([f"i{n}" for n in range(5, 10_000)])
    _equal(len((await store.items(version))[1]), 9_995, "changes since the version")


@_opened
async def rounds_begun_at_once_differ(store: Store) -> None:
    users = ["ada", "bob", "ada"]
    states = await asyncio.gather(*(store.begin_round(users) for _ in range(20)))
    rounds = Counter(
        pair for one in states for pair in zip(users, one.rounds.tolist(), strict=True)
    )
    expected = [("ada", n) for n in range(1, 41)] + [("bob", n) for n in range(1, 21)]
    _equal(rounds, Counter(expected), "rounds")


@_opened
async def of_feedback_that_comes_at_once_one_is_learned(store: Store) -> None:
    shown = await hand_out(store, "ada", 5)
    batches = [[new_update(one, 1) for one in shown] for _ in range(8)]
    learned = await asyncio.gather(*map(store.learn, batches))
    outcomes = Counter(outcome for some in learned for outcome in some)
    expected = Counter({UpdateOutcome.LEARNED: 5, UpdateOutcome.REPEATED: 35})
    _equal(outcomes, expected, "outcomes")
    _same(await sums_of(store, "ada"), np.full(SHAPE.sums, 5.0), "sums")
    _equal(len(await all_events(store)), 10, "events")


@_opened
async def older_counts_do_not_replace_newer_ones(store: Store) -> None:
    await hand_out(store, "ada", 12)
    cursors = [cursor for cursor, _ in await store.events("", 12)]
    _equal(len(set(cursors)), 12, "different cursors")
    await store.keep_counts(cursors[10], b"eleven\0")
    await store.keep_counts(cursors[8], b"nine")
    await _reopen(store)
    cursor, counts = await store.counts()
    _equal(counts, b"eleven\0", "counts")
    _equal(len(await store.events(cursor, 10)), 1, "events after the cursor")
    await hand_out(store, "ada", 1)
    _equal(len(await store.events(cursor, 10)), 2, "events after another impression")


@_opened
async def what_was_kept_is_there_after_reopening(store: Store) -> None:
    await store.put_items([new_item("a", merit=2.0, groups={"group": "jazz"}), new_item("b")])
    await store.set_meta("policy", {"name": "ealinucb", "seed": 3})
    (shown,) = await hand_out(store, "ada")
    await store.record([new_impression("ada", round=2)], units=np.array([5, 3]))
    await store.learn([new_update(shown, 2)])
    version, events = await store.catalogue_version(), await all_events(store)
    await _reopen(store)
    _equal(await store.catalogue_version(), version, "catalogue_version()")
    _equal(await _item(store, "a"), (2.0, 0.0, {"group": "jazz"}), "item a")
    _equal(await store.get_meta("policy"), {"name": "ealinucb", "seed": 3}, "get_meta()")
    _equal(await all_events(store), events, "events")
    _same(await sums_of(store, "ada"), np.ones(SHAPE.sums), "sums")
    states = await store.begin_round(["ada"], accounts=True)
    _equal((states.rounds.tolist(), list(states.accounts)), ([3], [{0: 5, 1: 3}]), "user state")
    (kept,) = await store.impressions([shown.id])
    assert kept is not None, "an impression is still there"
    _equal((kept.clicked, kept.slots.tolist()), ((2,), [0, 1]), "impression")


@_opened
async def of_services_that_replace_a_value_one_does(store: Store) -> None:
    values = [{"by": n} for n in range(4)]
    done = await asyncio.gather(*(store.replace_meta("plan", None, value) for value in values))
    _equal(sum(done), 1, "replacements of a value that was not there")
    kept = await store.get_meta("plan")
    _equal(kept, values[done.index(True)], "get_meta() after a replacement")
    _equal(await store.replace_meta("plan", {"by": 9}, {"by": 5}), False, "of another value")
    _equal(await store.get_meta("plan"), kept, "get_meta() after none")
    _equal(await store.replace_meta("plan", kept, {"by": 5}), True, "replacement of the value")
    _equal(await store.replace_meta("plan", kept, {"by": 5}), True, "the same once more")
    _equal(await store.get_meta("plan"), {"by": 5}, "get_meta() after the last replacement")


@_opened
async def users_may_have_any_names(store: Store) -> None:
    users = ["ada", "ada:", "Bö b", "日本 \U0001f3b5*?[a]", "x" * 256, "%s'\"; --"]
    ids = await store.record(
        [new_impression(user, (n,)) for n, user in enumerate(users)], units=np.array([3])
    )
    kept = [one for one in await store.impressions(ids) if one is not None]
    _equal([one.user for one in kept], users, "users of impressions")
    states = await store.begin_round(users, accounts=True)
    _equal(list(states.accounts), [{n: 3} for n in range(len(kept))], "accounts")
    for name, user in zip(ids, users, strict=True):
        record = await store.user(user, impressions=1)
        assert record is not None, f"user {user!r} is not known"
        _equal([one.id for one in record.impressions], [name], "newest impressions")
        _equal(await store.erase(user), True, "erase()")


@_opened
async def any_text_may_be_asked_for_as_an_impression(store: Store) -> None:
    (shown,) = await hand_out(store, "ada")
    almost = [shown.id[:-1], shown.id + "A", shown.id.swapcase()]
    others = ["", "-", "0-", "1f-x", "f" * 20 + "-x", "\0", "'", "日本"]
    for text in [*almost, *others]:
        _equal(await store.impressions([text]), [None], f"impressions([{text!r}])")
        update = new_update(replace(shown, id=text))
        _equal(await store.learn([update]), [UpdateOutcome.UNKNOWN], f"learn() of {text!r}")


@_opened
async def what_is_not_expired_stays(store: Store) -> None:
    ids = await store.record([new_impression("ada", round=n) for n in range(1, 8)], units=None)
    while await store.expire(START + 4):
        pass
    found = await store.impressions(ids)
    kept = [one is not None for one in found[3:]]
    _equal(kept, [True] * 4, "impressions handed out later")
    _equal(len(await all_events(store)), 7, "events")


@_opened
async def changes_are_kept_in_full_if_they_are_logged(store: Store) -> None:
    await hand_out(store, "bob")
    _equal(len(await all_changes(store)), 0, "changes of a store that does not log them")
    store.log_changes(True)
    note = {"policy": "p", "logged": {"scores": [0.5, 0.25]}}
    new = replace(new_impression("日本 ada", (7, 2)), note=note)
    units = np.array([2**40, 20, 1])
    (name,) = await store.record([new], units=units)
    (shown,) = await store.impressions([name])
    assert shown is not None, "an impression is there"
    gained = np.array([1.5, -0.0, 1e-300])
    update = replace(
        new_update(shown, 1, 2, examined=1, increments=gained),
        details={SHOWN: 1},
        refunds={2: 20},
    )
    await store.learn([update, update])
    await store.put_users(["eve", "日本 ada"], np.ones((2, SHAPE.sums)), np.array([3, 4]))
    await store.erase("日本 ada")
    await store.erase("日本 ada")
    await store.put_users(["日本 ada"], np.ones((1, SHAPE.sums)), np.array([5]))
    first, second, third, *rest = await all_changes(store)
    assert isinstance(first, Shown), f"a slate comes first, got {first}"
    _same_slate(first.impression, shown, "slate")
    _same(first.impression.features, shown.features, "features as shown")
    _equal(first.units.tolist(), units[:2].tolist(), "units of its positions")
    assert isinstance(second, Answered), f"its answer comes second, once, got {second}"
    answer = replace(shown, clicked=(1, 2), examined=1, details={SHOWN: 1})
    _same_slate(second.impression, answer, "answered slate")
    _equal(dict(second.refunds), {2: 20}, "units taken from the account")
    _same(second.increments, gained, "increments")
    _equal((second.time, second.note), (update.time, update.counted), "time and note")
    assert isinstance(third, Imported), f"a new user comes third, got {third}"
    _equal((third.user, third.rounds), ("eve", 3), "imported user")
    _same(third.sums, np.ones(SHAPE.sums), "imported sums")
    kinds = [(type(one), getattr(one, "user", "")) for one in rest]
    _equal(kinds, [(Erased, "日本 ada"), (Imported, "日本 ada")], "changes after that")


def _same_slate(found: Impression, expected: Impression, what: str) -> None:
    def plain(one: Impression) -> tuple[Any, ...]:
        answer = one.clicked, one.examined, dict(one.details), dict(one.note)
        return (one.id, one.user, one.slots.tolist(), one.round, one.time, *answer)

    _equal(plain(found), plain(expected), what)


@_opened
async def what_users_teach_is_added_to_their_cohorts(store: Store) -> None:
    async def taught(*names: str) -> list[tuple[int, float]]:
        found = await store.cohorts(names)
        _equal(found.sums.shape, (len(names), SHAPE.sums), "shape of the sums of cohorts")
        return list(zip(found.slates.tolist(), found.sums[:, 0].tolist(), strict=True))

    _equal(await taught(), [], "no cohorts")
    _equal(await taught("device=phone", "never"), [(0, 0.0), (0, 0.0)], "cohorts of nobody")
    phone, both = ["device=phone"], ["country=d\u00e9*?[a] =:", "device=phone"]
    labels = {"ada": phone, "bob": both, "eve": []}
    new = [new_impression(user, labels=given) for user, given in labels.items()]
    slates = await store.impressions(await store.record(new, units=None))
    ada, bob, eve = [shown for shown in slates if shown is not None]
    sums = {user: np.full(SHAPE.sums, 10.0**n) for n, user in enumerate(labels)}
    updates = [new_update(one, 1, increments=sums[one.user]) for one in (ada, bob, eve)]
    await store.learn([*updates, *updates, new_update(ada, 2)])
    _equal(await taught(both[0], "never", *phone), [(1, 10.0), (0, 0.0), (2, 11.0)], "cohorts")
    _equal((await store.learn(updates))[0], UpdateOutcome.REPEATED, "the same answer")
    _equal(await store.user(phone[0], impressions=1), None, "a user named like a cohort")
    await store.erase("ada")
    await _reopen(store)
    _equal(await taught(*phone, *both), [(2, 11.0), (1, 10.0), (2, 11.0)], "after an erasure")
    await store.widen(SHAPE.sums + 130)
    found = await store.cohorts(phone)
    _same(found.sums[0], np.r_[np.full(SHAPE.sums, 11.0), np.zeros(130)], "wider sums")
    (nothing,) = await store.impressions(
        await store.record([new_impression("fay", labels=["new=x"])], units=None)
    )
    assert nothing is not None, "an impression is there when it was recorded"
    await store.learn([new_update(nothing, increments=np.zeros(0))])
    _equal((await store.cohorts(["new=x"])).slates.tolist(), [0], "slates that taught nothing")


@_opened
async def cohorts_grow_in_the_order_of_the_changes_whoever_teaches_them(store: Store) -> None:
    store.log_changes(True)
    rng = np.random.default_rng(1)
    labels = ["a=1", "b=2", "c=3"]
    new = [
        new_impression(f"user {n % 7}", round=n + 1, labels=[*labels[n % 3 :], "all=x"])
        for n in range(60)
    ]
    kept = await store.impressions(await store.record(new, units=None))
    updates = [
        new_update(one, 1, increments=rng.normal(size=SHAPE.sums) * 10.0 ** rng.integers(-9, 9))
        for one in kept
        if one is not None
    ]
    order = rng.permutation(len(updates)).tolist()
    await asyncio.gather(*(store.learn([updates[n] for n in order[i::12]]) for i in range(12)))
    found = await store.cohorts([*labels, "all=x"])
    _equal(found.slates.tolist(), [20, 40, 60, 60], "slates that taught cohorts")
    for place, name in enumerate([*labels, "all=x"]):
        total = np.zeros(SHAPE.sums)
        for change in await all_changes(store):
            if isinstance(change, Answered) and name in change.impression.note[LABELS]:
                total = total + change.increments
        _equal(found.sums[place].tobytes(), total.tobytes(), f"sums of {name}")


async def _move(store: Store, first: int, size: int, into: int | None) -> None:
    cursor: str | None = ""
    while cursor is not None:
        cursor = await store.move_sums(first, size, into, cursor)


@_opened
async def numbers_of_everybody_can_be_moved_and_dropped(store: Store) -> None:
    names = [f"user:{n} \u65e5*?[a]" for n in range(1_200)]
    sums = np.arange(1.0, 1 + len(names) * SHAPE.sums).reshape(len(names), SHAPE.sums)
    await store.put_users(names, sums, np.ones(len(names), dtype=np.int64))
    new = [new_impression("ada", labels=["a:=1"]), new_impression("eve", labels=["a:=1"])]
    for shown in await store.impressions(await store.record(new, units=None)):
        assert shown is not None, "an impression is there when it was recorded"
        await store.learn([new_update(shown, increments=np.array([8.0, 0.5]))])
    await _move(store, 0, 1, 2)
    moved = sums.copy()
    moved[:, 2] += moved[:, 0]
    moved[:, 0] = 0
    found = (await store.begin_round(names)).sums
    _same(found, moved, "sums after the first number went to the third")
    _same(await sums_of(store, "ada"), _padded([0, 0.5, 8]), "sums of who knew two numbers")
    _same((await store.cohorts(["a:=1"])).sums[0], _padded([0, 1, 16]), "sums of a cohort")
    await _move(store, 0, 1, 2)
    _same((await store.begin_round(names)).sums, moved, "sums after the same once more")
    await _move(store, 1, SHAPE.sums - 1, None)
    _equal((await store.begin_round([*names, "ada"])).sums.any().item(), False, "sums left")
    _same((await store.cohorts(["a:=1"])).sums, 0 * found[:1], "sums of a cohort dropped")
    _equal((await store.begin_round(["ada"])).rounds.tolist()[0] > 1, True, "rounds stay")


def _padded(sums: Sequence[float]) -> Floats:
    found = np.zeros(SHAPE.sums)
    found[: len(sums)] = sums
    return found


@_opened
async def nothing_is_lost_that_is_learned_while_numbers_are_moved(store: Store) -> None:
    store.log_changes(True)
    users = [f"user {n}" for n in range(4)]
    shown = [one for user in users for one in await hand_out(store, user, 12)]
    (slate,) = await store.impressions(
        await store.record([new_impression("user 0", round=13, labels=["a=1"])], units=None)
    )
    assert slate is not None, "an impression is there when it was recorded"
    ones = np.ones(SHAPE.sums)
    updates = [new_update(one, increments=ones) for one in (*shown, slate)]
    half = len(updates) // 2
    await store.learn(updates[:half])
    await asyncio.gather(
        *(store.learn([update]) for update in updates[half:]), _move(store, 0, 1, 1)
    )
    await _move(store, 0, 1, 1)
    for user in users:
        total = _padded([0, *ones[1:] * (12 + (user == "user 0"))])
        total[1] *= 2
        _same(await sums_of(store, user), total, f"sums of {user}")
        told = np.zeros(SHAPE.sums)
        for change in await all_changes(store):
            if isinstance(change, Answered) and change.impression.user == user:
                told = told + change.increments
            if isinstance(change, Moved) and not change.cohort and change.name == user:
                _equal((change.first, change.size, change.into), (0, 1, 1), "what was moved")
                told[1], told[0] = told[1] + told[0], 0
        _same(told, total, f"sums of {user} by the changes")
    cohorts = [one for one in await all_changes(store) if isinstance(one, Moved) and one.cohort]
    _equal({one.name for one in cohorts}, {"a=1"}, "cohorts whose numbers were moved")


@_opened
async def changes_stay_until_they_are_dropped(store: Store) -> None:
    store.log_changes(True)
    ids = [one.id for one in await hand_out(store, "ada", 12)]
    known = await store.changes("", 5)
    cursors = [cursor for cursor, _ in [*known, *await store.changes(known[-1][0], 100)]]
    _equal(len(set(cursors)), 12, "different cursors")
    await store.drop_changes("")
    _equal(len(await all_changes(store)), 12, "changes after none was dropped")
    await store.drop_changes(cursors[4])
    await _reopen(store)
    left = [one.impression.id for one in await all_changes(store) if isinstance(one, Shown)]
    _equal(left, ids[5:], "slates after five were dropped")
    await store.drop_changes(cursors[-1])
    _equal(await store.changes("", 100), [], "changes after all were dropped")
    await _reopen(store)
    store.log_changes(True)
    (new,) = await hand_out(store, "bob")
    ((cursor, change),) = await store.changes(cursors[-1], 100)
    assert cursor not in cursors, f"cursor {cursor!r} was given before"
    assert isinstance(change, Shown), "the new slate is there"
    _equal(change.impression.id, new.id, "the slate after the last cursor")


@_opened
async def changes_come_in_the_order_in_which_sums_grew(store: Store) -> None:
    store.log_changes(True)
    rng = np.random.default_rng(0)
    shown = [one for user in ("ada", "bob") for one in await hand_out(store, user, 40)]
    updates = [
        new_update(one, 1, increments=rng.normal(size=SHAPE.sums) * 10.0 ** rng.integers(-9, 9))
        for one in shown
    ]
    order = rng.permutation(len(updates)).tolist()
    batches = [[updates[n] for n in order[i::16]] for i in range(16)]
    await asyncio.gather(*map(store.learn, batches))
    for user in ("ada", "bob"):
        total = np.zeros(SHAPE.sums)
        for change in await all_changes(store):
            if isinstance(change, Answered) and change.impression.user == user:
                total = total + change.increments
        found = (await sums_of(store, user)).tobytes()
        _equal(found, total.tobytes(), f"sums of {user}, added in the order of the changes")


@_opened
async def what_expires_without_an_answer_is_a_change(store: Store) -> None:
    store.log_changes(True)
    shown = await hand_out(store, "ada", 4)
    await store.learn([new_update(shown[0], 1)])
    await store.erase("bob")
    while await store.expire(shown[2].time):
        pass
    found = [one for one in await all_changes(store) if isinstance(one, Expired)]
    _equal([one.impression.id for one in found], [shown[1].id], "expired slates")
    _same_slate(found[0].impression, shown[1], "expired slate")
    outcomes = await store.learn([new_update(shown[1], 1)])
    _equal(outcomes, [UpdateOutcome.UNKNOWN], "an answer after that")


@_opened
async def it_says_how_large_it_is_or_that_it_cannot(store: Store) -> None:
    await hand_out(store, "ada")
    found = await store.size()
    for name in ("data", "log"):
        size = getattr(found, name)
        assert size is None or (isinstance(size, int) and size >= 0), f"{name} is {size!r}"
    assert found.data != 0, "a store with an impression takes no room"


STORE_CHECKS: tuple[Check, ...] = (
    another_shape_is_refused,
    the_shape_is_known_before_opening,
    an_empty_store_knows_nothing,
    empty_batches_change_nothing,
    the_first_feedback_on_an_impression_is_learned,
    no_click_is_feedback_too,
    several_clicks_are_kept_and_compared,
    what_else_an_answer_says_is_kept_and_compared,
    units_of_what_was_not_shown_are_taken_back_once,
    slates_without_an_answer_are_found_oldest_first,
    a_note_is_kept_and_what_is_counted_goes_with_events,
    sums_can_be_made_wider,
    an_impression_keeps_the_features_that_it_showed,
    no_slot_is_given_twice,
    what_a_patch_leaves_out_stays,
    patches_of_one_item_are_made_in_order,
    a_removed_item_comes_back_empty,
    the_last_items_cannot_be_removed,
    who_follows_the_catalogue_misses_no_change,
    known_users_are_not_overwritten,
    an_erased_user_starts_anew,
    a_round_begun_before_an_erasure_is_not_given_again,
    accounts_grow_by_units_of_positions,
    large_batches_keep_their_order,
    *(_sums_add_up(s) for s in (1, 127, 128, 129, 256, 6_100)),
    a_large_catalogue_is_read_whole,
    rounds_begun_at_once_differ,
    of_feedback_that_comes_at_once_one_is_learned,
    older_counts_do_not_replace_newer_ones,
    of_services_that_replace_a_value_one_does,
    what_was_kept_is_there_after_reopening,
    users_may_have_any_names,
    any_text_may_be_asked_for_as_an_impression,
    what_is_not_expired_stays,
    changes_are_kept_in_full_if_they_are_logged,
    numbers_of_everybody_can_be_moved_and_dropped,
    nothing_is_lost_that_is_learned_while_numbers_are_moved,
    changes_stay_until_they_are_dropped,
    changes_come_in_the_order_in_which_sums_grew,
    what_users_teach_is_added_to_their_cohorts,
    cohorts_grow_in_the_order_of_the_changes_whoever_teaches_them,
    what_expires_without_an_answer_is_a_change,
    it_says_how_large_it_is_or_that_it_cannot,
)
"""Every check, by what it asserts."""
