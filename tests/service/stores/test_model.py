"""Any sequence of calls: a store does what the model does, also if it is reopened in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from faircascade.service.stores.base import DEFAULT, SHOWN, Impression
from faircascade.service.stores.base import LABELS as NOTED
from faircascade.testing.stores import SHAPE, START, new_item, new_update
from faircascade.types import Floats
from tests.service.stores.locations import StoreLocation
from tests.service.stores.model import Model

USERS = st.sampled_from(["ada", "ada:", "Bö b", "日本 \U0001f3b5*?[a]", "x" * 256])
COHORTS = ["a=1", "a=2", "b=*?[a]\u65e5", "never=taught"]
ITEMS = st.sampled_from(["i0", "i1", "i2", "ï:3", "removed"])
NUMBERS = st.integers(0, 2**32 - 1)
UNKNOWN = "no-such-impression"
AWRY = 20
"""Seconds by which clocks are wrong at most."""
VALUES = (
    st.none()
    | st.floats(-1e300, 1e300)
    | st.booleans()
    | st.text(max_size=3)
    | st.lists(st.text(max_size=2), max_size=2)
)
LABELS = st.sampled_from(["", "jazz", "a|b", "é\0\U0001f3b5", "0" * 300])
PATCHES = st.fixed_dictionaries(
    {"name": ITEMS},
    optional={
        "merit": st.none() | st.floats(0, 1e300),
        "popularity": st.none() | st.floats(0, 1),
        "groups": st.dictionaries(st.sampled_from(["group", "supplier", "ü"]), LABELS),
        "attributes": st.dictionaries(st.sampled_from(["group", "price", "ü\0"]), VALUES),
    },
)


class StoreMachine(RuleBasedStateMachine):
    """Does everything twice: with a store and with the model."""

    def __init__(self, place: StoreLocation) -> None:
        super().__init__()
        self.place = place
        self.model = Model()
        self.now = START
        self.known: list[Impression] = []
        """As the store returned them; some are forgotten by now."""
        self.versions = [(0, 0)]
        """A version of the catalogue, and the changes until then."""
        self.cursors = [""]
        """Of the events read, and the one before the first."""
        self.kept: tuple[int, bytes] | None = None
        """How many events the counts cover, and the counts."""
        self.runner = asyncio.Runner()

    @initialize()
    def open(self) -> None:
        self.store = self.place.store()
        self.wait(self.store.open(SHAPE))

    def wait(self, call):
        return self.runner.run(call)

    @rule()
    def reopen(self) -> None:
        self.wait(self.store.close())
        self.open()

    # catalogue

    @rule(patches=st.lists(PATCHES, max_size=4), seed=NUMBERS)
    def put_items(self, patches: list[dict[str, Any]], seed: int) -> None:
        rng = np.random.default_rng(seed)
        changes = [new_item(**patch, features=rng.normal(size=SHAPE.dim)) for patch in patches]
        self.wait(self.store.put_items(changes))
        for change in changes:
            self.model.put_item(change)

    @rule(names=st.lists(ITEMS | st.just("never put"), max_size=5))
    def remove_items(self, names: list[str]) -> None:
        expected = self.model.remove_items(names)
        assert self.wait(self.store.remove_items(names)) == expected

    @rule(data=st.data())
    def read_items(self, data: st.DataObject) -> None:
        after, changes = data.draw(st.sampled_from(self.versions))
        version, found = self.wait(self.store.items(after))
        assert version == self.wait(self.store.catalogue_version())
        assert (version > after) or not found
        assert (version > self.versions[-1][0]) or self.model.changes == self.versions[-1][1]
        names = [item.id for item in found]
        assert len(set(names)) == len(names)
        assert set(names) >= {n for n, one in self.model.items.items() if one.change > changes}
        for item in found:
            kept = self.model.items[item.id]
            assert (item.slot, item.removed) == (kept.slot, kept.removed)
            if item.removed:
                continue  # what it was does not matter any more
            np.testing.assert_array_equal(item.features, kept.features)
            assert (item.merit, item.popularity) == (kept.merit, kept.popularity)
            assert dict(item.groups) == kept.groups
            assert repr(sorted(item.attributes.items())) == repr(sorted(kept.attributes.items()))
        self.versions.append((version, self.model.changes))

    # recommending

    @rule(users=st.lists(USERS, max_size=5), k=st.integers(1, 3), seed=NUMBERS)
    def recommend(self, users: list[str], k: int, seed: int) -> None:
        rounds = self.number(users)
        rng = np.random.default_rng(seed)
        self.now += 1
        stamp = self.now + int(rng.integers(-AWRY, AWRY + 1))
        slates = [
            Impression(
                id="ignored",
                user=user,
                slots=rng.choice(100, k, replace=False).astype(np.int32),
                features=rng.normal(size=(k, SHAPE.dim)),
                round=number,
                time=stamp,
                note={NOTED: COHORTS[: rng.integers(4)]} if seed % 3 else {},
                clicked=(1,),  # ignored as well
            )
            for user, number in zip(users, rounds, strict=True)
        ]
        units = rng.integers(1, 2**40, size=k) if seed % 2 else None
        ids = self.wait(self.store.record(slates, units=units))
        assert len(set(ids)) == len(users)
        assert not set(ids) & set(self.model.impressions)
        for name, shown in zip(ids, slates, strict=True):
            self.model.record(name, shown, [] if units is None else units.tolist())
            self.known.append(replace(shown, id=name, clicked=None))

    @rule(users=st.lists(USERS, max_size=2))
    def begin_and_fail(self, users: list[str]) -> None:
        self.number(users)

    def number(self, users: list[str]) -> list[int]:
        """Begin slates, and check what the store knows of the users."""
        known = self.wait(self.store.begin_round(users, accounts=True))
        assert known.sums.shape == (len(users), SHAPE.sums)
        assert known.rounds.dtype == np.int64
        for place, user in enumerate(users):
            self.model.begun[user] += 1
            last = self.model.rounds(user)
            assert last < known.rounds[place] <= last + self.model.begun[user]
            np.testing.assert_allclose(known.sums[place], self.model.sums(user), atol=1e-9)
            assert dict(known.accounts[place]) == self.model.account(user)
        rounds = known.rounds.tolist()
        assert len(set(zip(users, rounds, strict=True))) == len(users)
        return rounds

    # learning

    @precondition(lambda self: self.known)
    @rule(data=st.data(), seed=NUMBERS)
    def learn(self, data: st.DataObject, seed: int) -> None:
        rng = np.random.default_rng(seed)
        unknown = replace(self.known[0], id=UNKNOWN)
        asked = data.draw(st.lists(st.sampled_from([*self.known, unknown]), max_size=5))
        updates = [
            replace(
                new_update(
                    shown,
                    *(np.flatnonzero(rng.random(len(shown.slots)) < 0.4) + 1).tolist(),
                    examined=int(rng.integers(1, len(shown.slots) + 1)),
                    increments=rng.normal(size=SHAPE.sums),
                ),
                details=[{}, {SHOWN: 1}, {DEFAULT: True}][rng.integers(3)],
                refunds={
                    slot: int(rng.integers(1, 99))
                    for slot in self.model.account(shown.user)
                    if slot in shown.slots and rng.random() < 0.3
                },
            )
            for shown in asked
        ]
        expected = [self.model.learn(update) for update in updates]
        assert self.wait(self.store.learn(updates)) == expected

    @rule(names=st.lists(st.sampled_from(COHORTS), max_size=4))
    def look_at_cohorts(self, names: list[str]) -> None:
        found = self.wait(self.store.cohorts(names))
        expected = [self.model.cohorts[name] for name in names]
        assert found.slates.tolist() == [slates for slates, _ in expected]
        for row, (_, sums) in zip(found.sums, expected, strict=True):
            np.testing.assert_allclose(row, sums, atol=1e-9)

    @rule(ago=st.integers(-2, 8), most=st.integers(1, 4))
    def look_for_slates_without_an_answer(self, ago: int, most: int) -> None:
        before = self.now - ago
        found = self.wait(self.store.unanswered(before, most))
        expected = self.model.unanswered(before)
        assert {one.id for one in found} <= expected
        assert len(found) == min(most, len(expected))
        times = [one.time for one in found]
        assert times == sorted(self.model.impressions[name].time for name in expected)[:most]

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        names = data.draw(st.lists(st.sampled_from([UNKNOWN, *(i.id for i in self.known)])))
        found = self.wait(self.store.impressions(names))
        assert len(found) == len(names)
        for name, impression in zip(names, found, strict=True):
            self.check(name, impression)

    def check(self, name: str, found: Impression | None) -> None:
        kept = self.model.impressions.get(name)
        if kept is None or found is None:
            assert kept is found is None
            return
        assert (found.id, found.user, found.round) == (name, kept.user, kept.round)
        assert found.time == kept.time
        answer = self.model.answers.get(name, (None, None, {}))
        assert (found.clicked, found.examined, found.details) == answer
        assert found.slots.dtype == np.int32
        np.testing.assert_array_equal(found.slots, kept.slots)
        np.testing.assert_array_equal(found.features, kept.features)

    # users

    @rule(name=USERS, count=st.integers(0, 4))
    def look_at(self, name: str, count: int) -> None:
        person = self.wait(self.store.user(name, impressions=count))
        kept = self.model.users.get(name)
        if kept is None:  # somebody who was begun with and no more may be known, to no effect
            assert person is None or (not person.count and not person.sums.any())
            return
        assert person is not None
        assert person.user == name
        assert kept.rounds <= person.rounds <= kept.rounds + self.model.begun[name]
        np.testing.assert_allclose(person.sums, kept.sums, atol=1e-9)
        assert person.count == len(kept.shown)
        assert [shown.id for shown in person.impressions] == kept.shown[::-1][:count]
        for shown in person.impressions:
            self.check(shown.id, shown)

    @rule(name=USERS)
    def erase(self, name: str) -> None:
        only_begun = name not in self.model.users and self.model.begun[name] > 0
        erased = self.wait(self.store.erase(name))
        assert erased == self.model.erase(name) or only_begun

    @rule(names=st.lists(USERS, unique=True, max_size=3), more=st.integers(0, 5), seed=NUMBERS)
    def put_users(self, names: list[str], more: int, seed: int) -> None:
        sums = np.random.default_rng(seed).normal(size=(len(names), SHAPE.sums))
        rounds = [self.model.rounds(name) + self.model.begun[name] + more for name in names]
        self.wait(self.store.put_users(names, sums, np.array(rounds, dtype=np.int64)))
        for name, row, number in zip(names, sums, rounds, strict=True):
            if name not in self.model.users and not self.brought_in(name, row):
                continue
            if name not in self.model.users:
                self.model.begun[name] = 0
            self.model.put_user(name, row, number)

    def brought_in(self, name: str, sums: Floats) -> bool:
        """Tell whether somebody new is there now; who was begun with may count as known."""
        person = self.wait(self.store.user(name, impressions=0))
        assert person is not None
        there = bool(np.array_equal(person.sums, sums))
        assert there or self.model.begun[name] > 0
        return there

    # time

    @rule(ago=st.integers(-AWRY, 2 * AWRY))
    def expire(self, ago: int) -> None:
        before = self.now - ago
        dropped = 0
        while some := self.wait(self.store.expire(before)):
            dropped += some
        expected = self.model.expire(before) if self.place.expires_when_told else 0
        assert dropped == expected

    # exposure

    @rule(limit=st.integers(1, 5))
    def read_events(self, limit: int) -> None:
        found = self.wait(self.store.events(self.cursors[-1], limit))
        read = len(self.cursors) - 1
        expected = self.model.events[read : read + limit]
        assert [(e.time, e.slots.tolist(), e.answered) for _, e in found] == expected
        self.cursors += [cursor for cursor, _ in found]

    @precondition(lambda self: len(self.cursors) > 1)
    @rule(data=st.data(), counts=st.binary(max_size=20))
    def keep_counts(self, data: st.DataObject, counts: bytes) -> None:
        read = data.draw(st.integers(1, len(self.cursors) - 1))
        if self.kept is not None and read == self.kept[0]:
            counts = self.kept[1]  # of the same events
        self.wait(self.store.keep_counts(self.cursors[read], counts))
        if self.kept is None or read > self.kept[0]:
            self.kept = (read, counts)

    @invariant()
    def the_latest_counts_are_kept(self) -> None:
        found = self.wait(self.store.counts())
        if self.kept is None:
            assert found == ("", None)
        else:
            assert found == (self.cursors[self.kept[0]], self.kept[1])

    # meta

    @rule(
        name=st.sampled_from(["a", "shapes"]), value=st.none() | st.dictionaries(st.text(), NUMBERS)
    )
    def set_meta(self, name: str, value: dict[str, int] | None) -> None:
        self.wait(self.store.set_meta(name, value))
        self.model.meta[name] = value

    @rule(
        name=st.sampled_from(["a", "shapes"]),
        value=st.none() | st.dictionaries(st.text(), NUMBERS),
        expected=st.none() | st.dictionaries(st.text(), NUMBERS),
        knows=st.booleans(),
    )
    def replace_meta(
        self,
        name: str,
        value: dict[str, int] | None,
        expected: dict[str, int] | None,
        knows: bool,
    ) -> None:
        kept = self.model.meta.get(name)
        before = kept if knows else expected
        replaced = kept in (before, value)
        assert self.wait(self.store.replace_meta(name, before, value)) == replaced
        if replaced:
            self.model.meta[name] = value

    @rule()
    def get_meta(self) -> None:
        for name in ("a", "shapes", "never set"):
            assert self.wait(self.store.get_meta(name)) == self.model.meta.get(name)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            while len(self.cursors) <= len(self.model.events):
                self.read_events(100)
            self.read_events(1)  # nothing is left
            for name in list(self.model.users):
                self.look_at(name, 100)
            self.wait(self.store.close())
        self.runner.close()


def test_a_store_does_what_the_model_does(new_location: Callable[[], StoreLocation]) -> None:
    run_state_machine_as_test(
        lambda: StoreMachine(new_location()),
        settings=settings(
            max_examples=30,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
