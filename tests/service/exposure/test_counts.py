"""Counting events: as one by one, in any pieces and order; steps that are kept small."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faircascade.metrics.tally import discounts
from faircascade.rerankers.ledger import UNIT, exposure_units
from faircascade.service.exposure.counts import Counts, EventBatch
from faircascade.service.exposure.windows import Step, smallest
from tests.service.exposure.events import (
    NOW,
    Unshown,
    answered,
    events_at,
    listed,
    plainly,
    slowly,
    told,
)

many = st.lists(events_at(st.just(NOW)), max_size=30)
FAIRNESS = np.zeros(5)


def counted(events) -> Counts:
    counts = Counts()
    counts.add(EventBatch.of(events, NOW))
    return counts


def test_positions_clicks_and_totals_by_hand() -> None:
    counts = counted([listed(NOW, 3, 1), listed(NOW, 1), answered(NOW, 1), answered(NOW)])
    one, two = exposure_units(2).tolist()
    assert counts.by_slot.tolist() == [[0, 2, 0, 1], [0, two + one, 0, one], [0, 1, 0, 0]]
    assert (counts.slates, counts.answers, counts.clicks) == (2, 2, 1)
    assert two * UNIT == 2**-16 * round(2**16 / np.log2(3))


@given(many)
def test_events_are_counted_as_one_by_one(events) -> None:
    assert plainly(counted(events), 8) == slowly(events, 8)


@given(many, st.randoms(), st.integers(0, 30))
def test_pieces_and_order_make_no_difference(events, random, cut) -> None:
    shuffled = random.sample(events, len(events))
    counts = counted(shuffled[:cut])
    counts.add(EventBatch.of(shuffled[cut:], NOW))
    assert plainly(counts, 8) == plainly(counted(events), 8)


@given(many)
def test_all_exposure_is_that_of_the_positions_of_all_slates(events) -> None:
    lengths = [len(event.slots) for event in events if not event.answered]
    units = counted(events).columns(np.arange(8))[1].sum()
    assert units == sum(exposure_units(k).sum() for k in lengths)
    exact = sum(discounts(k).sum() for k in lengths)
    assert abs(units * UNIT - exact) <= sum(lengths) * UNIT / 2 + 1e-9


@given(st.lists(events_at(st.just(NOW), partly=False)), st.sets(st.integers(0, 29)))
def test_some_events_of_a_batch_count_as_alone(events, chosen) -> None:
    mask = np.array([place in chosen for place in range(len(events))], dtype=bool)
    part = Counts()
    part.add(EventBatch.of(events, NOW).where(mask))
    alone = [event for place, event in enumerate(events) if place in chosen]
    assert plainly(part, 8) == slowly(alone, 8)


def test_what_was_not_shown_is_taken_from_what_was_handed_out() -> None:
    unshown = Unshown(NOW, below=1, slots=[1, 5])
    counts = counted([listed(NOW, 3, 1, 5), listed(NOW, 1), told(NOW, 3, unshown=unshown)])
    slots = np.array([1, 3, 5])
    one = 2**16
    assert counts.of(slots).tolist() == [[1, 1, 0], [one, one, 0], [0, 1, 0]]
    assert counts.columns(slots)[0].tolist() == [2, 1, 1]
    assert counts.units_of(slots).tolist() == [one, one, 0]
    assert counts.totals.tolist() == [2, 1, 1, 1, 4, 2, 0]


def test_slots_come_as_items_are_added() -> None:
    counts = counted([listed(NOW, 0)])
    assert counts.of(np.array([0, 1, 70_000])).tolist() == [[1, 0, 0], [2**16, 0, 0], [0, 0, 0]]
    assert counts.units_of(np.array([70_000, 0])).tolist() == [0, 2**16]
    counts.add(EventBatch.of([listed(NOW, 70_000)], NOW))
    assert counts.units_of(np.array([70_000, 0, 5])).tolist() == [2**16, 2**16, 0]
    assert counts.units_of(np.array([], dtype=np.int32)).tolist() == []


def test_an_account_of_nothing_has_no_units() -> None:
    assert Counts().units_of(np.array([3, 0])).tolist() == [0, 0]


def test_what_is_in_the_future_or_not_a_time_at_all_happened_now() -> None:
    times = [NOW + 1e9, float("inf"), float("nan"), -5.0, float("-inf"), NOW - 1]
    batch = EventBatch.of([listed(time, 0) for time in times], NOW)
    assert batch.times.tolist() == [NOW, NOW, NOW, 0.0, 0.0, NOW - 1]


@given(many, many)
def test_a_step_gives_back_what_it_was_made_of(events, others) -> None:
    counts, other = counted(events), counted(others)
    step = Step.pack(counts, FAIRNESS)
    step.add_to(other)
    assert plainly(other, 8) == slowly([*events, *others], 8)
    step.add_to(other, sign=-1)
    assert plainly(other, 8) == slowly(others, 8)


@given(st.lists(st.integers(0, 2**62), max_size=4))
def test_small_numbers_lose_nothing(values) -> None:
    packed = smallest(np.array(values, dtype=np.int64))
    assert packed.astype(np.int64).tolist() == values


def shown_at_random(slates: int, items: int) -> Counts:
    """Return the counts of slates of ten items drawn at random, one in ten of which was clicked."""
    draw = np.random.default_rng(0)
    slots = draw.integers(0, items, size=(slates, 10))
    clicks = draw.permutation(slots.reshape(-1))[: slates // 10]
    counts = Counts()
    shown = np.stack([np.ones(slots.size, dtype=np.int64), np.tile(exposure_units(10), slates)])
    counts.add_entries(slots.reshape(-1), np.pad(shown, ((0, 3), (0, 0))))
    clicked = np.zeros((5, len(clicks)), dtype=np.int64)
    clicked[2] = 1
    counts.add_entries(clicks, clicked)
    return counts


def test_a_step_takes_little_room() -> None:
    assert len(Step.pack(shown_at_random(1_000, 20_000), FAIRNESS).packed) <= 2.5 * 7_900
    assert len(Step.pack(shown_at_random(20_000, 20_000), FAIRNESS).packed) <= 4 * 20_000
    assert len(Step.pack(counted([listed(NOW, 100_000)]), FAIRNESS).packed) < 40


def test_an_item_takes_seven_bytes_as_long_as_its_numbers_are_small() -> None:
    counts = shown_at_random(40_000, 20_000)
    assert counts.nbytes <= 1.3 * 20_000 * (1 + 4 + 1 + 4 / 8)
    assert counts.copy().nbytes <= 20_000 * (1 + 4 + 1 + 4 / 8) + 100


def test_a_copy_goes_on_by_itself() -> None:
    counts = counted([listed(NOW, 0)])
    copy = counts.copy()
    counts.add(EventBatch.of([listed(NOW, 0)], NOW))
    assert (copy.slates, copy.by_slot[0].tolist()) == (1, [1])


def test_counts_outgrow_half_of_the_memory_without_an_error() -> None:
    counts = Counts()
    large = np.array([[2**30, 1], [2**31 - 1, 0], *[[0, 0]] * 3])
    for times in range(1, 4):
        counts.add_entries(np.array([5, 100]), large)
        assert counts.of(np.array([5, 6, 100])).tolist() == [
            [times * 2**30, 0, times],
            [times * (2**31 - 1), 0, 0],
            [0, 0, 0],
        ]
    assert counts.copy().shown.tolist() == [5, 100]


def test_counts_of_few_items_among_many_take_little_memory() -> None:
    counts = Counts()
    counts.add_entries(np.arange(0, 1_000_000, 1_000), np.ones((5, 1_000), dtype=np.int64))
    assert counts.nbytes < 1_000_000


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.integers(0, 40),
                st.lists(
                    st.sampled_from([0, 1, 127, 128, 2**15, 2**31, 2**40]) | st.integers(0, 300),
                    min_size=5,
                    max_size=5,
                ),
            ),
            max_size=6,
        ),
        max_size=6,
    ),
    st.integers(0, 6),
)
def test_numbers_of_any_size_add_up_and_can_be_taken_away(batches, away) -> None:
    counts, plain = Counts(), np.zeros((5, 41), dtype=np.int64)
    for sign, some in ((1, batches), (-1, batches[:away])):
        for batch in some:
            slots = np.array([slot for slot, _ in batch], dtype=np.int64)
            entries = sign * np.array([e for _, e in batch], dtype=np.int64).reshape(-1, 5).T
            distinct = len(np.unique(slots)) == len(slots)
            counts.add_entries(slots, entries, distinct=distinct)
            np.add.at(plain.T, slots, entries.T)
    assert counts.columns(np.arange(41)).tolist() == plain.tolist()
    assert counts.shown.tolist() == np.flatnonzero(plain.any(axis=0)).tolist()
