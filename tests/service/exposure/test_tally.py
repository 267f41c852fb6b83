"""Counts of experiments, against counting events one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.rerankers.ledger import exposure_units
from faircascade.service.experiments import ArmCounts
from faircascade.service.experiments.sample_ratio import sample_ratio
from faircascade.service.exposure import tally as module
from faircascade.service.exposure.counters import Counters
from faircascade.service.exposure.encoding import from_bytes, to_bytes
from faircascade.service.exposure.tally import MOST_SLOTS, SHADOW, SHOWN, Tallies, UserSample
from faircascade.service.stores.base import Event
from tests.service.exposure.events import NOW, answered, listed

ITEMS = 6
SLOTS = np.arange(ITEMS, dtype=np.int32)
KEYS, ARMS = ("one/2", "two/7"), ("control", "fairer")


def noted(event: Event, **note: Any) -> Event:
    return replace(event, note=note)


def of(key: str, arm: str, block: int, user: int) -> dict[str, Any]:
    return {"experiment": {"in": key, "arm": arm, "block": block, "user": user}}


notes = st.one_of(
    st.just({}),
    st.builds(
        of,
        st.sampled_from(KEYS),
        st.sampled_from(ARMS),
        st.integers(0, 3),
        st.integers(0, 4),
    ),
)
slates = st.lists(st.integers(0, ITEMS - 1), max_size=4, unique=True)
events = st.lists(
    st.one_of(
        st.builds(lambda slots, note: noted(listed(NOW, *slots), **note), slates, notes),
        st.builds(lambda slots, note: noted(answered(NOW, *slots), **note), slates, notes),
        st.builds(
            lambda slots, note, reward: noted(
                answered(NOW, *slots), **note, answer={"reward": reward}
            ),
            slates,
            notes,
            st.floats(0, 4),
        ),
    ),
    max_size=30,
)


def slowly(all_of_them: Sequence[Event], key: str, arm: str) -> ArmCounts:
    found, users = ArmCounts.empty(ITEMS), set()
    for event in all_of_them:
        note = event.note.get("experiment", {})
        if (note.get("in"), note.get("arm")) != (key, arm):
            continue
        block = note["block"]
        if event.answered:
            found.answers[block] += 1
            found.clicks[block] += len(event.slots)
            worth = event.note.get("answer", {}).get("reward", len(event.slots))
            found.rewards[block] += round(worth * 1e6)
            continue
        users.add(note["user"])
        found.slates[block] += 1
        units = exposure_units(len(event.slots))
        for position, slot in enumerate(event.slots.tolist()):
            found.appearances[block, slot] += 1
            found.units[block, slot] += units[position]
    found.users = found.sampled = len(users)
    return found


def same(found: ArmCounts, expected: ArmCounts) -> bool:
    arrays = ("slates", "answers", "clicks", "rewards", "appearances", "units")
    return (found.users, found.sampled) == (expected.users, expected.sampled) and all(
        (getattr(found, name) == getattr(expected, name)).all() for name in arrays
    )


@given(events, st.integers(1, 7))
def test_events_are_counted_by_arm_and_block_however_they_come(
    some: list[Event], size: int
) -> None:
    tallies = Tallies()
    for first in range(0, len(some), size):
        tallies.count(some[first : first + size], NOW)
    kept = from_bytes(to_bytes(Counters(tallies=tallies))).tallies
    for found in (tallies, tallies.copy(), kept):
        for key in KEYS:
            for arm, counts in found.counts(key, ARMS, SLOTS).items():
                assert same(counts, slowly(some, key, arm))


def test_a_copy_of_some_experiments_has_no_others() -> None:
    tallies = Tallies()
    tallies.count([noted(listed(NOW, 1), **of(key, "control", 0, 1)) for key in KEYS], NOW)
    assert list(tallies.copy(["two/7"]).arms) == ["two/7"]


def test_users_of_arms_are_compared_by_samples_that_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An arm with nine times as many users is sampled more thinly; the check must not take that
    for users who were lost."""
    monkeypatch.setattr(module, "MOST_USERS", 4_000)
    rng = np.random.default_rng(0)
    shares = {"control": 0.1, "fairer": 0.9}
    tallies = Tallies()
    for arm, share in shares.items():
        sample = UserSample()
        for user in rng.choice(2**32, size=int(30_000 * share), replace=False).tolist():
            sample.add(user)
        tallies.arms.setdefault("one/2", {})[arm] = module.ArmTally(users=sample)
    counts = tallies.counts("one/2", shares, SLOTS)
    assert counts["fairer"].users == pytest.approx(27_000, rel=0.05)
    assert counts["control"].users == 3_000
    sampled = {arm: one.sampled or 0 for arm, one in counts.items()}
    assert 0 < sampled["fairer"] <= 4_000
    assert not sample_ratio(sampled, shares).mismatch
    lost = {**sampled, "control": sampled["control"] // 2}
    assert sample_ratio(lost, shares).mismatch


def test_large_catalogues_are_counted_without_their_items() -> None:
    tallies = Tallies()
    note = of("one/2", "control", 3, 1)
    far = 10**6
    tallies.count([noted(listed(NOW, 1, far), **note), noted(answered(NOW, far), **note)], NOW)
    blocks = tallies.arms["one/2"]["control"].blocks
    assert len(blocks[3]._page_of) <= MOST_SLOTS  # no page for an item far away
    counts = tallies.counts("one/2", ["control"], np.array([1, far], dtype=np.int32))["control"]
    assert (counts.slates[3], counts.clicks[3]) == (1, 1)
    assert counts.appearances.shape == (128, 0)
    assert tallies.counts("one/2", ["control"], SLOTS)["control"].appearances[3, 1] == 1


def test_a_shadow_is_counted_next_to_what_was_shown() -> None:
    tallies = Tallies()
    key = "shadow/bold/1a"
    shadows = {key: {"block": 5, "slots": [2, 3, 4]}}
    event = noted(listed(NOW, 1, 2, 3), shadows=shadows)
    tallies.count([event, noted(answered(NOW, 2), shadows=shadows)], NOW)
    kept = from_bytes(to_bytes(Counters(tallies=tallies))).tallies
    for found in (tallies, tallies.copy(), kept):
        counts = found.counts(key, (SHOWN, SHADOW), SLOTS)
        assert counts[SHOWN].appearances[5].tolist() == [0, 1, 1, 1, 0, 0]
        assert counts[SHADOW].appearances[5].tolist() == [0, 0, 1, 1, 1, 0]
        assert found.common(key) == 2 / 3


def test_those_that_were_not_counted_for_longest_go_first() -> None:
    tallies = Tallies()
    keys = [f"one/{n}" for n in range(module.MOST_TALLIES + 1)]
    for key in [*keys[:-1], keys[0], keys[-1]]:
        tallies.count([noted(listed(NOW, 1), **of(key, "control", 0, 1))], NOW)
    assert keys[0] in tallies.arms
    assert keys[1] not in tallies.arms
