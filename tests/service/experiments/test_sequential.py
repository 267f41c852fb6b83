"""Intervals over blocks of users hold at every look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from faircascade.errors import ParameterError
from faircascade.service.experiments.sequential import (
    BURN_IN,
    ConfidenceSequence,
    Estimate,
    bound,
)

COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=12, max_size=40)


def sums(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return clicks and slates of blocks; never more clicks than slates."""
    slates = np.array([max(pair) for pair in pairs])
    return np.array([min(pair) for pair in pairs]), slates


def test_a_ratio_of_four_blocks_by_hand() -> None:
    """Clicks 1, 1, 0, 2 of 4 slates each: 1/4; without each 3/12, 3/12, 4/12, 2/12.

    Pseudo-values 4/4 - 3 x rest: 1/4, 1/4, 0, 1/2; their variance is 1/24, that of the mean 1/96.
    """
    found = Estimate.ratio(np.array([1, 1, 0, 2]), np.array([4, 4, 4, 4]))
    assert found.value == 0.25
    assert found.variance == pytest.approx(1 / 96)
    assert found.blocks == pytest.approx(4)  # 3 (1/8)^2 / (2/256) = 6, but there are 4


def test_one_heavy_block_counts_as_few() -> None:
    even = Estimate.of_pseudo(0.0, np.resize([1.0, -1.0], 100))
    heavy = Estimate.of_pseudo(0.0, np.array([1.0, -1.0] * 50 + [100.0]))
    assert even.blocks == 100
    assert heavy.blocks < 4


def test_blocks_that_agree_up_to_rounding_tell_no_variance() -> None:
    slates = np.arange(1, 100)
    found = Estimate.ratio(slates, 3 * slates)
    assert found.variance == 0
    assert not found.ready


@given(COUNTS, st.randoms())
def test_the_order_of_blocks_and_empty_ones_do_not_matter(pairs, random) -> None:
    mixed = [*pairs, (0, 0)]
    random.shuffle(mixed)
    one, other = Estimate.ratio(*sums(pairs)), Estimate.ratio(*sums(mixed))
    assert one.value == pytest.approx(other.value, nan_ok=True)
    assert one.variance == pytest.approx(other.variance, nan_ok=True, abs=1e-15)


@given(COUNTS, COUNTS)
def test_a_difference_and_its_reverse_mirror_each_other(ours, theirs) -> None:
    a, b = Estimate.ratio(*sums(ours)), Estimate.ratio(*sums(theirs))
    there, back = a.minus(b), b.minus(a)
    assert there.value == pytest.approx(-back.value, nan_ok=True)
    assert there.variance == pytest.approx(back.variance, nan_ok=True)
    sequence = ConfidenceSequence().look(there)
    if sequence.origin is not None:
        one, other = sequence.interval(there), sequence.interval(back)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_equal_arms_have_the_freedom_of_both() -> None:
    one = Estimate.of_pseudo(0.5, np.resize([1.0, -1.0], 21))
    both = one.minus(one)
    assert both.freedom == pytest.approx(2 * one.freedom)
    assert both.blocks == one.blocks


def test_the_first_bound_solves_its_equation() -> None:
    a = bound(0.9, 1.0, math.inf)
    assert 2 * (stats.norm.sf(a) + a * stats.norm.pdf(a)) == pytest.approx(0.1)


@given(st.floats(1, 1e6), st.floats(2, 1e6), st.floats(0.5, 0.999))
def test_the_bound_grows_with_information_and_level_and_shrinks_with_freedom(
    growth, freedom, level
) -> None:
    here = bound(level, growth, freedom)
    assert bound(level, 2 * growth, freedom) > here
    assert bound(level, growth, 2 * freedom) < here
    assert bound((1 + level) / 2, growth, freedom) > here
    assert here > stats.t.ppf((1 + level) / 2, freedom)  # wider than at a single look


def test_a_brownian_motion_crosses_the_bound_as_often_as_it_may() -> None:
    """Watched from 1 to 1000 in 600 steps; steps miss some crossings, never add any."""
    rng = np.random.default_rng(1)
    times = np.geomspace(1.0, 1000.0, 600)
    steps = rng.normal(size=(3000, 600)) * np.sqrt(np.diff(times, prepend=0.0))
    reached = np.abs(steps.cumsum(axis=1)) / np.sqrt(times)
    limits = np.array([bound(0.9, t, math.inf) for t in times])
    crossed = (reached >= limits).any(axis=1).mean()
    error = math.sqrt(0.1 * 0.9 / 3000)
    assert 0.05 < crossed < 0.1 + 4 * error


def test_nothing_is_said_before_there_are_enough_blocks() -> None:
    few = Estimate.of_pseudo(0.3, np.resize([1.0, -1.0], int(BURN_IN) - 1))
    enough = Estimate.of_pseudo(0.3, np.resize([1.0, -1.0], int(BURN_IN)))
    sequence = ConfidenceSequence().look(few)
    assert sequence.interval(few) is None
    sequence = sequence.look(enough)
    assert sequence.interval(enough) is not None
    assert sequence.look(few) == sequence  # the origin stays
    for nothing in (np.zeros(0), np.zeros(1), np.zeros(50)):
        silent = Estimate.of_pseudo(0.0, nothing)
        assert ConfidenceSequence().look(silent).interval(silent) is None


def test_the_first_interval_is_the_bound_times_the_error() -> None:
    found = Estimate.of_pseudo(0.3, np.resize([1.0, -1.0], 64), bias=0.01)
    interval = ConfidenceSequence().look(found).interval(found)
    half = bound(0.95, 1.0, 63.0) * math.sqrt(64 / (64 * 63)) + 0.01
    assert (interval.low, interval.high) == pytest.approx((0.3 - half, 0.3 + half))


@given(st.floats(0.001, 0.9))
def test_the_growth_that_is_foretold_gives_the_width_that_was_asked_for(target) -> None:
    found = Estimate.of_pseudo(0.3, np.resize([1.0, -1.0], 64))
    sequence = ConfidenceSequence().look(found)
    growth = sequence.growth(found, target)
    half = sequence.half_width(found, growth)
    assert half == pytest.approx(target) if growth > 1 else half <= target


def test_nothing_is_foretold_that_takes_for_ever_or_before_the_first_interval() -> None:
    found = Estimate.of_pseudo(0.3, np.resize([1.0, -1.0], 64), bias=0.1)
    assert ConfidenceSequence().look(found).growth(found, 1e-6) is None
    assert ConfidenceSequence().growth(found, 0.5) is None


def test_levels_and_origins_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"level must be between 0 and 1, got 1\.5"):
        ConfidenceSequence(level=1.5)
    with pytest.raises(ParameterError, match="origin must be > 0, got nan"):
        ConfidenceSequence(origin=math.nan)


def crossings(looks: int, users: int, *, visits: int, naive: bool = False) -> float:
    """Return the share of A/A tests that raise an alarm; each user has one taste for all visits."""
    alarms = 0
    for seed in range(150):
        rng = np.random.default_rng([users, visits, seed])
        user = np.repeat(np.arange(users), visits)
        look = rng.integers(looks, size=len(user)) if visits > 1 else user * looks // users
        cell = look * 128 + (rng.integers(128, size=users))[user]
        clicked = rng.random(len(user)) < rng.beta(1, 2, size=users)[user]
        shape = (looks, 128)
        slates = np.bincount(cell, minlength=looks * 128).reshape(shape).cumsum(axis=0)
        clicks = np.bincount(cell[clicked], minlength=looks * 128).reshape(shape).cumsum(axis=0)
        sequence, alarm = ConfidenceSequence(), False
        for above, below in zip(clicks, slates, strict=True):  # blocks of 64 for each arm
            found = Estimate.ratio(above[:64], below[:64]).minus(
                Estimate.ratio(above[64:], below[64:])
            )
            sequence = sequence.look(found)
            half = sequence.half_width(found)
            if half is not None:
                half = 1.96 * math.sqrt(found.variance) if naive else half
                alarm |= abs(found.value) > half
        alarms += alarm
    return alarms / 150


@pytest.mark.parametrize("visits", [1, 10])
def test_alarms_of_equal_arms_are_rare_at_all_looks_together(visits) -> None:
    assert crossings(20, 600, visits=visits) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)


def test_looking_at_a_fixed_horizon_interval_again_and_again_raises_alarms() -> None:
    assert crossings(20, 600, visits=1, naive=True) > 0.12
