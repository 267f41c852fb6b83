"""Intervals and paired tests, against SciPy, hand arithmetic and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from faircascade.experiment.stats import contrasts, estimate, holm, paired_p


def test_the_interval_is_students() -> None:
    values = np.array([0.39, 0.40, 0.41, 0.40, 0.42])
    found = estimate(values)
    low, high = scipy_stats.t.interval(
        0.95, 4, loc=values.mean(), scale=values.std(ddof=1) / math.sqrt(5)
    )
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.mean == pytest.approx(0.404)
    assert found.seeds == 5


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = [
        found.low <= 0.0 <= found.high
        for found in (estimate(rng.normal(size=5)) for _ in range(2000))
    ]
    assert abs(np.mean(hits) - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 2000)


def test_one_seed_has_a_mean_and_neither_interval_nor_test() -> None:
    found = estimate(np.array([0.4]))
    assert found.mean == 0.4
    assert math.isnan(found.low)
    assert math.isnan(paired_p(np.array([0.4]), np.array([0.3])))
    assert math.isnan(estimate(np.array([])).mean)


def test_pairs_that_never_differ_and_that_always_differ_alike() -> None:
    values = np.array([0.3, 0.4, 0.5])
    assert paired_p(values, values) == 1.0
    assert paired_p(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 0.0


def test_a_contrast_is_the_paired_test_with_its_change() -> None:
    own, other = np.array([0.31, 0.33, 0.36]), np.array([0.30, 0.31, 0.33])
    found = contrasts({"a": (own, other), "b": (other, other)})
    assert found["a"].difference == pytest.approx(0.02)
    assert found["a"].percent == pytest.approx(100 * (own.mean() / other.mean() - 1))
    assert found["a"].p == pytest.approx(scipy_stats.ttest_rel(own, other).pvalue)
    assert found["a"].corrected == pytest.approx(2 * found["a"].p)
    assert found["b"].corrected == 1.0


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
