"""Bounds on metrics: read, kept to, and judged over seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from faircascade.experiment.tuning.bounds import Bound, percent_interval

VALUES = st.lists(st.floats(0.5, 2.0), min_size=3, max_size=8)


@pytest.mark.parametrize(
    ("written", "bound"),
    [
        ("clicks >= -3%", Bound("clicks", ">=", -3.0, True)),
        ("  clicks>=-3 % ", Bound("clicks", ">=", -3.0, True)),
        ("regret <= +2.5e1%", Bound("regret", "<=", 25.0, True)),
        ("clicks >= 0.35", Bound("clicks", ">=", 0.35, False)),
    ],
)
def test_a_bound_is_read_as_it_is_written(written: str, bound: Bound) -> None:
    assert Bound.of(written) == bound
    assert Bound.of(str(bound)) == bound


@pytest.mark.parametrize(
    "written", ["clicks > 3%", "clicks", "clicks >= ", "clicks >= 1.2.3", "3% <= clicks", 3, None]
)
def test_what_is_no_bound_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match='a bound must be like "clicks >= -3%"'):
        Bound.of(written)


def test_a_bound_is_on_a_metric_that_there_is() -> None:
    with pytest.raises(ValueError, match="did you mean 'clicks'"):
        Bound.of("cliks >= -3%")


def test_excess_is_a_share_of_the_baseline_or_of_the_limit() -> None:
    """97 is 3% below 100; 95 is 2 points further, 2% of the baseline; 0.3 lacks 0.1 of 0.4."""
    bound = Bound.of("clicks >= -3%")
    assert bound.excess(97.0, 100.0) == 0.0
    assert bound.excess(95.0, 100.0) == pytest.approx(0.02)
    assert bound.excess(99.0, 100.0) < 0
    assert Bound.of("regret <= 10%").excess(120.0, 100.0) == pytest.approx(0.1)
    assert Bound.of("clicks >= 0.4").excess(0.3, math.nan) == pytest.approx(0.25)


def test_a_change_of_a_negative_baseline_goes_by_its_size() -> None:
    """From -10 to -9 is 1 up, 10% of 10."""
    bound = Bound.of("clicks >= -3%")
    assert bound.measure(-9.0, -10.0) == pytest.approx(10.0)
    assert bound.excess(-9.0, -10.0) < 0


def test_a_baseline_of_zero_has_no_change_in_percent_but_a_limit() -> None:
    bound = Bound.of("clicks >= -3%")
    assert math.isnan(bound.measure(1.0, 0.0))
    assert bound.excess(1.0, 0.0) < 0 < bound.excess(-1.0, 0.0)


@given(VALUES, st.data(), st.floats(-60, 60))
def test_a_change_is_in_the_interval_unless_a_paired_test_tells_it(
    other: list[float], data: st.DataObject, change: float
) -> None:
    own = np.array([data.draw(st.floats(0.5, 2.0)) for _ in other])
    base = np.array(other)
    found = percent_interval(own, base)
    assume(not found.why_not)
    tested = own - (1 + change / 100) * base
    assume(np.ptp(tested) > 1e-6)
    p = stats.ttest_1samp(tested, 0.0).pvalue
    assume(abs(p - 0.05) > 1e-6)
    assert (found.low <= change <= found.high) == (p > 0.05)


def test_the_same_share_for_every_seed_leaves_no_doubt() -> None:
    """Seeds differ by a factor of two, the change does not; intervals of differences would."""
    base = np.array([1.0, 1.5, 2.0])
    found = percent_interval(0.97 * base, base)
    assert (found.low, found.high) == pytest.approx((-3.0, -3.0))


def test_an_interval_that_cannot_be_says_why() -> None:
    one = np.array([1.0])
    assert percent_interval(one, one).why_not == "one seed"
    assert percent_interval(one[:0], one[:0]).why_not == "no seed"
    gap = np.array([1.0, math.nan])
    assert percent_interval(gap, gap).why_not == "a seed without a value"
    around = np.array([-1.0, 1.0])
    assert percent_interval(around + 3, around).why_not == "the baseline may as well be 0"


@pytest.mark.parametrize(
    ("bound", "holds", "sure", "words"),
    [
        ("clicks >= -3%", True, True, "clicks >= -3% holds: -1%"),
        ("clicks >= -1.01%", True, False, "holds in the mean, but the interval reaches across"),
        ("clicks >= -0.99%", False, False, "does not hold in the mean, but the interval reaches"),
        ("clicks >= +3%", False, True, "clicks >= +3% does not hold: -1%"),
        ("clicks <= +3%", True, True, "holds: -1%"),
        ("clicks <= -3%", False, True, "does not hold: -1%"),
        ("clicks >= 0.9", True, True, "clicks >= 0.9 holds: 0.99"),
    ],
)
def test_a_verdict_says_whether_a_bound_holds_and_how_sure_that_is(
    bound: str, holds: bool, sure: bool, words: str
) -> None:
    found = Bound.of(bound).verdict(np.array([0.988, 0.992, 0.989, 0.991]), np.ones(4))
    assert (found.holds, found.is_sure) == (holds, sure)
    assert words in str(found)
    assert str(found).endswith("(4 seeds)")
    assert found.document()["sure"] == sure


def test_with_one_seed_a_verdict_claims_no_more_than_it_can() -> None:
    found = Bound.of("clicks >= -3%").verdict(np.array([0.99]), np.array([1.0]))
    assert found.holds
    assert not found.is_sure
    assert "without an interval" in str(found)
    assert str(found).endswith("-1% (1 seed)")
    assert found.document()["low"] is None
