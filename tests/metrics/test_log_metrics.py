"""Metrics of audits against enumeration and by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from faircascade.metrics import Record
from faircascade.metrics.diversity import MeritJS
from faircascade.metrics.expected_exposure import (
    ExpectedExposureDisparity,
    ExpectedExposureLoss,
    ExpectedExposureRelevance,
)
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.group_exposure import (
    GROUP_METRICS,
    AttentionWeightedRankFairness,
    DisparateImpact,
    DisparateTreatment,
    MaxMinShare,
)
from faircascade.metrics.memberships import Memberships
from faircascade.metrics.popularity import PopularityCorrelation
from faircascade.metrics.top_items import TopItems
from tests.metrics.test_metrics import counts, record

merits = st.lists(st.floats(0.1, 5.0), min_size=12, max_size=12)


def by_hand() -> Record:
    """Two items at one position: shown 3 and 1 times, merit 1 and 3, clicked 1 and 1 times."""
    clicks = np.array([[1], [1]])
    return record([[3], [1]], merit=[1, 3], popularity=[2, 1], item_clicks=clicks)


def test_expected_exposure_by_hand() -> None:
    # exposure over its mean: 3/2, 1/2; merit over its mean: 1/2, 3/2
    found = by_hand()
    assert ExpectedExposureDisparity().measure(found) == pytest.approx((9 / 4 + 1 / 4) / 2)
    assert ExpectedExposureRelevance().measure(found) == pytest.approx((3 / 4 + 3 / 4) / 2)
    assert ExpectedExposureLoss().measure(found) == pytest.approx((1 + 1) / 2)


@given(counts, merits)
def test_the_loss_is_disparity_less_twice_relevance_and_a_constant(appearances, merit) -> None:
    merit = np.array(merit[: len(appearances)])
    found = record(appearances, merit)
    assume(appearances.any())
    parts = (ExpectedExposureDisparity(), ExpectedExposureRelevance(), ExpectedExposureLoss())
    d, r, loss = (metric.measure(found) for metric in parts)
    constant = np.mean((merit / merit.mean()) ** 2)
    assert loss == pytest.approx(d - 2 * r + constant, abs=1e-9)
    assert loss >= 0
    assert d >= 1 - 1e-12  # a mean of squares is at least the square of the mean


def test_exposure_in_proportion_to_merit_has_no_loss() -> None:
    found = record([[2, 1], [4, 2], [6, 3]], merit=[1, 2, 3])
    assert ExpectedExposureLoss().measure(found) == pytest.approx(0, abs=1e-12)
    groups = found.added_up(Memberships.of(["a", "b", "a"]))
    for metric in GROUP_METRICS.values():
        if not isinstance(metric, DisparateImpact):
            assert metric.measure(groups) == pytest.approx(1)


def test_group_metrics_by_hand() -> None:
    # exposure per merit: 3, 1/3; clicks per merit: 1, 1/3; shares 3/4, 1/4 of 1/4, 3/4
    found = by_hand()
    assert DisparateTreatment().measure(found) == pytest.approx(1 / 9)
    assert DisparateImpact().measure(found) == pytest.approx(1 / 3)
    assert MaxMinShare().measure(found) == pytest.approx(1 / 3)
    log = math.log2
    js = (3 / 4) * log((3 / 4) / (1 / 2)) + (1 / 4) * log((1 / 4) / (1 / 2))
    assert AttentionWeightedRankFairness().measure(found) == pytest.approx(1 - js)
    assert MeritJS().measure(found) == pytest.approx(js)


@given(counts, merits)
def test_the_worst_off_of_all_pairs_of_groups(appearances, merit) -> None:
    found = record(appearances, np.array(merit[: len(appearances)]), item_clicks=appearances)
    exposure = exposure_p(found)
    assume((exposure > 0).all() and len(exposure) > 1)
    pairs = combinations(range(len(exposure)), 2)
    ratios = [
        min(a / b, b / a)
        for i, j in pairs
        for a, b in [(exposure[i] / found.merit[i], exposure[j] / found.merit[j])]
    ]
    assert DisparateTreatment().measure(found) == pytest.approx(min(ratios))
    assert 0 <= MaxMinShare().measure(found) <= 1 + 1e-12


def test_nothing_shown_has_no_number() -> None:
    empty = record(np.zeros((3, 2)))
    for metric in (*GROUP_METRICS.values(), TopItems(), PopularityCorrelation()):
        assert math.isnan(metric.measure(empty))
        assert metric.why_missing(empty)
    for metric in (ExpectedExposureLoss(), ExpectedExposureDisparity()):
        assert math.isnan(metric.measure(empty))


def spearman(x: list[int], y: list[int]) -> float:
    """Rank by counting who is below, with halves for ties; correlate with fractions."""

    def ranks(values: list[int]) -> list[Fraction]:
        return [
            sum((Fraction(int(w < v)) + Fraction(int(w == v), 2) for w in values), Fraction(0))
            for v in values
        ]

    a, b = ranks(x), ranks(y)
    mean = sum(a, Fraction(0)) / len(a)
    cov = sum(((p - mean) * (q - mean) for p, q in zip(a, b, strict=True)), Fraction(0))
    va, vb = (sum(((p - mean) ** 2 for p in r), Fraction(0)) for r in (a, b))
    return float(cov) / math.sqrt(va * vb)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=9))
def test_the_correlation_is_spearmans(pairs) -> None:
    shown, popular = ([pair[at] for pair in pairs] for at in (0, 1))
    found = PopularityCorrelation().measure(record([[n] for n in shown], popularity=popular))
    if len(set(shown)) == 1 or len(set(popular)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(spearman(shown, popular))


def test_the_top_of_ten_items_is_one() -> None:
    found = record([[n] for n in (5, *[1] * 9)])
    assert TopItems().measure(found) == pytest.approx(5 / 14)
    assert TopItems(top=0.2).measure(found) == pytest.approx(6 / 14)
    with pytest.raises(ValueError, match="top must be above 0 and below 1, got 1"):
        TopItems(top=1.0)


def test_an_item_is_in_a_group_once_however_often_it_is_named() -> None:
    assert Memberships.of(["a|a", "b"]).sizes.tolist() == [1, 1]
