"""Equality of an arm as an estimate over blocks of users."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faircascade.metrics.exposure import evenness
from faircascade.service.experiments.equality import DOUBT, equality, equality_difference
from faircascade.service.experiments.sequential import ConfidenceSequence

TABLES = arrays(np.int64, (30, 7), elements=st.integers(0, 9))


def exposures(seed: int, users: int = 200, blocks: int = 128) -> np.ndarray:
    """Return the exposure of 20 items from users who see three items again and again."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, 21)
    table = np.zeros((blocks, 20))
    for block in rng.integers(blocks, size=users):
        liked = rng.choice(20, 3, replace=False, p=popularity / popularity.sum())
        table[block, liked] += 1 + rng.poisson(4)
    return table


def test_without_noise_it_is_one_minus_gini() -> None:
    """All blocks alike: 1, 1 and 4 of 6 have a Gini of 1/3."""
    found = equality(np.tile([1, 1, 4], (50, 1)))
    assert found.value == pytest.approx(2 / 3)
    assert found.correction == pytest.approx(0)
    assert found.variance == pytest.approx(0)


@given(TABLES, st.permutations(range(7)), st.integers(2, 5))
def test_the_names_of_items_and_the_unit_of_exposure_do_not_matter(table, order, unit) -> None:
    one, other = equality(table), equality(unit * table[:, order])
    assert one.value == pytest.approx(other.value, nan_ok=True)
    assert one.variance == pytest.approx(other.variance, nan_ok=True, abs=1e-12)
    assert one.bias == pytest.approx(other.bias, nan_ok=True, abs=1e-12)


@given(TABLES)
def test_the_correction_is_what_was_added_to_the_plain_value(table) -> None:
    found = equality(table)
    plain = evenness(table.sum(axis=0).astype(float))
    assert found.value - found.correction == pytest.approx(plain, nan_ok=True)


def test_an_arm_without_exposure_says_nothing() -> None:
    found = equality(np.zeros((128, 5)))
    assert not found.ready
    assert ConfidenceSequence().look(found).interval(found) is None


def test_arms_that_differ_in_noise_may_be_off_by_a_part_of_the_correction() -> None:
    large, small = equality(exposures(0, users=2_000)), equality(exposures(1, users=100))
    apart = equality_difference(small, large)
    doubt = DOUBT * abs(small.correction - large.correction)
    assert small.correction > large.correction > 0
    assert apart.bias == pytest.approx(small.bias + large.bias + doubt)
    assert apart.value == pytest.approx(small.value - large.value)


def test_the_error_is_that_of_the_estimate() -> None:
    """The standard error over blocks against the spread over 120 draws of all users."""
    found = [equality(exposures(seed)) for seed in range(120)]
    spread = np.std([one.value for one in found])
    told = np.sqrt(np.mean([one.variance for one in found]))
    assert told / spread == pytest.approx(1, abs=4 / np.sqrt(2 * 120))


def test_alarms_of_equal_arms_are_rare_at_all_looks_together() -> None:
    alarms, runs = 0, 40
    for seed in range(runs):
        sequence, ours, theirs, alarm = ConfidenceSequence(), 0, 0, False
        for look in range(6):  # new users at every look
            ours = ours + exposures(2 * (100 * seed + look), users=60)
            theirs = theirs + exposures(2 * (100 * seed + look) + 1, users=60)
            apart = equality_difference(equality(ours), equality(theirs))
            sequence = sequence.look(apart)
            interval = sequence.interval(apart)
            alarm |= interval is not None and not interval.low <= 0 <= interval.high
        alarms += alarm
    assert alarms / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
