"""Intervals, paired tests and effects, against SciPy, hand arithmetic and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from faircascade.experiment import stats
from faircascade.experiment.stats import (
    Wins,
    bootstrap_interval,
    contrasts,
    estimate,
    hedges,
    holm,
    least_p,
    paired_p,
    too_few_seeds,
)

OWN = np.array([0.31, 0.33, 0.36, 0.29, 0.40, 0.35])
OTHER = np.array([0.30, 0.34, 0.33, 0.28, 0.35, 0.31])
VALUES = np.array([0.39, 0.40, 0.41, 0.40, 0.42])

tenths = arrays(np.int64, st.integers(3, 8), elements=st.integers(0, 1000)).map(lambda v: v / 10)


def covered(count: int, seeds: int, interval) -> float:
    """Return how often an interval of normal values with mean 0 has 0 in it."""
    rng = np.random.default_rng(0)
    found = [interval(rng.normal(size=seeds)) for _ in range(count)]
    return float(np.mean([one.low <= 0.0 <= one.high for one in found]))


def bound(share: float, count: int, z: float = 3.3) -> float:
    """Return how far a share of so many may be from what is expected."""
    return z * math.sqrt(share * (1 - share) / count)


# Intervals


def test_the_interval_is_students() -> None:
    found = estimate(VALUES)
    low, high = scipy_stats.ttest_1samp(VALUES, 0.0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.mean == pytest.approx(0.404)
    assert found.seeds == 5


def test_students_interval_covers_the_mean_as_often_as_it_says() -> None:
    assert abs(covered(2000, 5, estimate) - 0.95) < bound(0.95, 2000)


def test_the_bootstrap_interval_is_scipys() -> None:
    theirs = scipy_stats.bootstrap(
        (np.sort(VALUES),), np.mean, method="BCa", rng=np.random.default_rng(stats.BOOTSTRAP_SEED)
    ).confidence_interval
    found = bootstrap_interval(VALUES)
    # Theirs takes resamples in another order as smaller or greater by rounding: a small shift.
    assert (found.low, found.high) == pytest.approx(theirs, abs=0.05 * VALUES.std())
    assert found.why_not == ""


@pytest.mark.parametrize(("seeds", "said"), [(3, 0.73), (5, 0.83), (10, 0.91)])
def test_the_bootstrap_interval_is_as_short_over_few_seeds_as_it_says(
    seeds: int, said: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "RESAMPLES", 999)
    assert abs(covered(800, seeds, bootstrap_interval) - said) < bound(said, 800) + 0.01
    assert f"{said:.0%}" in (bootstrap_interval.__doc__ or "")


def test_the_bootstrap_interval_covers_the_mean_over_many_seeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stats, "RESAMPLES", 999)
    assert abs(covered(600, 60, bootstrap_interval) - 0.94) < bound(0.94, 600)


def test_the_bootstrap_interval_is_the_same_every_time() -> None:
    assert bootstrap_interval(VALUES) == bootstrap_interval(VALUES)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "no seed"),
        ([0.4], "one seed"),
        ([0.1 + 0.2, 0.3, 0.3], "the same value for every seed"),  # but for rounding
        ([0.4, math.nan, 0.5], "a seed without a value"),
    ],
)
def test_without_a_bootstrap_interval_there_is_a_reason(values: list[float], reason: str) -> None:
    found = bootstrap_interval(np.array(values))
    assert found.why_not == reason
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_one_seed_has_a_mean_and_neither_interval_nor_test() -> None:
    found = estimate(np.array([0.4]))
    assert found.mean == 0.4
    assert math.isnan(found.low)
    assert math.isnan(paired_p(np.array([0.4]), np.array([0.3])))
    assert math.isnan(estimate(np.array([])).mean)


def test_equal_seeds_have_an_interval_without_width() -> None:
    found = estimate(np.array([0.4, 0.4, 0.4]))
    assert found.low == found.mean == found.high


@given(tenths, st.randoms())
def test_intervals_do_not_hang_on_the_order_of_seeds(values: np.ndarray, random) -> None:
    other = np.array(random.sample(list(values), len(values)))
    assert bootstrap_interval(values) == bootstrap_interval(other)
    first, second = estimate(values), estimate(other)
    assert (first.low, first.high) == pytest.approx((second.low, second.high))


@given(tenths, st.integers(-50, 50), st.sampled_from([0.01, 0.3, 7.0]))
def test_intervals_move_and_stretch_with_the_values(
    values: np.ndarray, shift: int, scale: float
) -> None:
    for interval in (estimate, bootstrap_interval):
        before, after = interval(values), interval(scale * values + shift)
        expected = (scale * before.low + shift, scale * before.high + shift)
        assert (after.low, after.high) == pytest.approx(expected, rel=1e-6, abs=1e-9, nan_ok=True)


# Paired tests


def test_a_contrast_is_the_paired_test_with_its_change() -> None:
    theirs = scipy_stats.ttest_rel(OWN, OTHER)
    found = contrasts({"a": (OWN, OTHER), "b": (OTHER, OTHER)})
    change = found["a"]
    assert change.difference == pytest.approx((OWN - OTHER).mean())
    assert (change.low, change.high) == pytest.approx(theirs.confidence_interval(0.95))
    assert change.percent == pytest.approx(100 * (OWN.mean() / OTHER.mean() - 1))
    ends = np.array(theirs.confidence_interval(0.95)) / OTHER.mean()
    assert change.percents == pytest.approx(100 * ends)
    assert np.isnan(found["b"].percents).all()
    assert change.p == pytest.approx(theirs.pvalue)
    assert change.corrected == pytest.approx(2 * change.p)
    assert change.seeds == 6
    assert found["b"].corrected == 1.0
    assert (found["b"].low, found["b"].high) == (0.0, 0.0)


def test_the_interval_of_a_difference_has_no_zero_just_where_p_is_small() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        own, other = rng.normal(0.8, 1, size=5), rng.normal(size=5)
        (change,) = contrasts({0: (own, other)}).values()
        assert (change.p < 0.05) == (change.low > 0 or change.high < 0)


def test_wilcoxons_test_is_scipys() -> None:
    rng = np.random.default_rng(2)
    own, other = rng.normal(0.5, 1, size=9), rng.normal(size=9)
    expected = scipy_stats.wilcoxon(own, other).pvalue
    assert paired_p(own, other, test="wilcoxon") == pytest.approx(expected)
    (change,) = contrasts({0: (own, other)}, test="wilcoxon").values()
    assert change.p == pytest.approx(expected)


def test_wilcoxons_test_takes_differences_that_rounding_tells_apart_as_tied() -> None:
    """0.4 - 0.3 is 0.10000000000000003 and 0.3 - 0.2 is 0.09999999999999998."""
    own, other = np.array([0.4, 0.3, 0.2, 0.5]), np.array([0.3, 0.2, 0.3, 0.3])
    tied = paired_p(np.array([4.0, 3.0, 2.0, 5.0]), np.array([3.0, 2.0, 3.0, 3.0]), test="wilcoxon")
    assert paired_p(own, other, test="wilcoxon") == tied


def test_a_false_alarm_is_as_rare_as_the_level_says() -> None:
    rng = np.random.default_rng(3)
    alarms = [paired_p(rng.normal(size=5), rng.normal(size=5)) < 0.05 for _ in range(2000)]
    assert abs(np.mean(alarms) - 0.05) < bound(0.05, 2000)


def test_pairs_that_never_differ_and_that_always_differ_alike() -> None:
    values = np.array([0.3, 0.4, 0.5])
    assert paired_p(values, values) == 1.0
    assert paired_p(values, values, test="wilcoxon") == 1.0
    assert paired_p(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 0.5  # the sign test's 2 x 2^-2
    assert paired_p(values + 0.1, values) == 0.25  # the same but for rounding
    (change,) = contrasts({0: (values + 0.1, values)}).values()
    assert (change.low, change.high) == pytest.approx((0.1, 0.1))
    assert math.isnan(change.cohen_dz)


def test_a_metric_without_a_value_is_not_tested() -> None:
    own = np.array([0.3, math.nan, 0.5])
    found = contrasts({"a": (own, OTHER[:3]), "b": (OWN[:3], OTHER[:3])})
    assert math.isnan(found["a"].corrected)
    assert found["b"].corrected == found["b"].p


def test_a_test_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="test must be one of t, wilcoxon, got 'sign'"):
        paired_p(OWN, OTHER, test="sign")  # type: ignore[arg-type]


@given(tenths, st.randoms(), st.sampled_from(["t", "wilcoxon"]))
def test_a_contrast_does_not_hang_on_the_order_of_seeds(
    values: np.ndarray, random, test: stats.Test
) -> None:
    other = values[::-1] / 2
    order = random.sample(range(len(values)), len(values))
    (one,) = contrasts({0: (values, other)}, test=test).values()
    (two,) = contrasts({0: (values[order], other[order])}, test=test).values()
    assert numbers(one) == pytest.approx(numbers(two), nan_ok=True)


@given(tenths, st.integers(-50, 50), st.sampled_from(["t", "wilcoxon"]))
def test_adding_the_same_to_both_changes_nothing_but_the_percentage(
    values: np.ndarray, shift: int, test: stats.Test
) -> None:
    other = np.arange(len(values)) / 4
    (one,) = contrasts({0: (values, other)}, test=test).values()
    (two,) = contrasts({0: (values + shift, other + shift)}, test=test).values()
    assert numbers(one) == pytest.approx(numbers(two), rel=1e-6, abs=1e-9, nan_ok=True)


@given(tenths, st.sampled_from([0.01, 0.3, 7.0]), st.sampled_from(["t", "wilcoxon"]))
def test_another_unit_changes_the_difference_and_nothing_else(
    values: np.ndarray, scale: float, test: stats.Test
) -> None:
    other = np.arange(len(values)) / 4
    (one,) = contrasts({0: (values, other)}, test=test).values()
    (two,) = contrasts({0: (scale * values, scale * other)}, test=test).values()
    assert two.difference == pytest.approx(scale * one.difference, abs=1e-9)
    assert two.percent == pytest.approx(one.percent, nan_ok=True)
    assert numbers(two)[3:] == pytest.approx(numbers(one)[3:], rel=1e-6, abs=1e-9, nan_ok=True)


@given(tenths)
def test_to_swap_the_two_turns_the_sign(values: np.ndarray) -> None:
    other = np.arange(len(values)) / 4
    (one,) = contrasts({0: (values, other)}).values()
    (two,) = contrasts({0: (other, values)}).values()
    assert two.difference == pytest.approx(-one.difference)
    assert two.p == pytest.approx(one.p)
    assert two.hedges_gz == pytest.approx(-one.hedges_gz, nan_ok=True)
    assert (two.above, two.equal, two.below) == (one.below, one.equal, one.above)


def numbers(change: stats.Contrast) -> list[float]:
    """Return what must not change, the interval of the difference first."""
    interval = [change.difference, change.low, change.high]
    return [*interval, change.p, change.cohen_dz, change.above, change.equal, change.below]


# Effects and wins


def test_the_effect_is_the_mean_difference_in_its_own_standard_deviations() -> None:
    """Differences 1, 2, 3, 4, 5: mean 3, standard deviation sqrt(2.5), d_z = 1.897.

    With five seeds Hedges' correction is 0.798, so g_z = 1.514.
    """
    other = np.array([7.0, 3.0, 5.0, 1.0, 9.0])
    (change,) = contrasts({0: (other + np.arange(1, 6), other)}).values()
    assert change.cohen_dz == pytest.approx(3 / math.sqrt(2.5))
    assert change.hedges_gz == pytest.approx(1.514, abs=0.001)
    statistic = scipy_stats.ttest_rel(other + np.arange(1, 6), other).statistic
    assert change.cohen_dz == pytest.approx(statistic / math.sqrt(5))


def test_hedges_correction_makes_the_effect_right_in_the_mean() -> None:
    rng = np.random.default_rng(4)
    draws = rng.normal(0.7, 1.0, size=(20_000, 5))
    found = draws.mean(axis=1) / draws.std(axis=1, ddof=1)
    error = hedges(5) * found.std() / math.sqrt(len(found))
    assert abs(hedges(5) * found.mean() - 0.7) < 3.3 * error
    assert found.mean() - 0.7 > 10 * error  # which it is not by itself


def test_two_seeds_have_an_effect_but_none_that_could_be_corrected() -> None:
    (change,) = contrasts({0: (np.array([1.0, 3.0]), np.array([0.0, 1.0]))}).values()
    assert change.cohen_dz == pytest.approx(1.5 / math.sqrt(0.5))
    assert math.isnan(change.hedges_gz)


def test_wins_go_by_the_direction_of_the_metric() -> None:
    own, other = np.array([1.0, 2.0, 0.1 + 0.2, 5.0]), np.array([0.0, 1.0, 0.3, 6.0])
    (change,) = contrasts({0: (own, other)}).values()
    assert change.wins(higher_is_better=True) == Wins(wins=2, ties=1, losses=1)
    assert change.wins(higher_is_better=False) == Wins(wins=1, ties=1, losses=2)


# Corrections and too few seeds


def test_holm_by_hand() -> None:
    """Sorted: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.02 x 2 = 0.04, and 0.03 x 1 rises to 0.04."""
    found = holm({"a": 0.01, "b": 0.03, "c": 0.005, "d": 0.02})
    assert found == pytest.approx({"a": 0.03, "b": 0.04, "c": 0.02, "d": 0.04})


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(values: list[float]) -> None:
    corrected = list(holm(dict(enumerate(values))).values())
    assert all(after >= before for before, after in zip(values, corrected, strict=True))
    assert max(corrected) <= 1
    by_value = np.argsort(values, kind="stable")
    assert all(np.diff(np.array(corrected)[by_value]) >= 0)
    assert min(corrected) == pytest.approx(min(1.0, len(values) * min(values)))


def test_holm_leaves_out_what_was_not_tested() -> None:
    found = holm({"a": 0.02, "b": math.nan})
    assert found["a"] == 0.02
    assert math.isnan(found["b"])


@pytest.mark.parametrize("seeds", range(2, 11))
def test_no_values_have_a_smaller_p_than_the_least(seeds: int) -> None:
    best = np.arange(1.0, seeds + 1)  # all differences point the same way
    assert paired_p(best, np.zeros(seeds), test="wilcoxon") == least_p(seeds, "wilcoxon")


@given(tenths)
def test_no_p_of_wilcoxons_test_is_below_the_least(values: np.ndarray) -> None:
    other = np.arange(len(values)) / 4
    assume(not np.array_equal(values, other))
    assert paired_p(values, other, test="wilcoxon") >= least_p(len(values), "wilcoxon") - 1e-12


def test_one_seed_is_too_few_for_any_test() -> None:
    words = "With only one seed there are no intervals and no tests."
    assert too_few_seeds(1) == too_few_seeds(1, test="wilcoxon", comparisons=9) == words
    assert "no seed in common" in too_few_seeds(0)


def test_a_t_test_over_very_few_seeds_is_told_to_lean_on_normality() -> None:
    assert "depends on normal differences" in too_few_seeds(2, comparisons=1000)
    assert too_few_seeds(5, comparisons=1000) == ""


def test_five_seeds_are_too_few_for_wilcoxons_test() -> None:
    """2 x 2^-5 = 0.0625; six seeds give 0.03125."""
    words = too_few_seeds(5, test="wilcoxon")
    assert "cannot be below 0.0625" in words
    assert "at least 6 seeds are needed" in words
    assert too_few_seeds(6, test="wilcoxon") == ""


def test_the_correction_asks_for_more_seeds() -> None:
    """18 x 2^-9 = 0.0352 is the first below 0.05, and 2^-9 is 2 x 2^-10: ten seeds."""
    words = too_few_seeds(6, test="wilcoxon", comparisons=18)
    assert "the correction for 18 comparisons makes 0.562" in words
    assert "at least 10 seeds are needed" in words
    assert too_few_seeds(10, test="wilcoxon", comparisons=18) == ""
    pairs = {i: (np.arange(1.0, 11), np.zeros(10)) for i in range(18)}
    found = contrasts(pairs, test="wilcoxon")
    assert max(change.corrected for change in found.values()) < 0.05
