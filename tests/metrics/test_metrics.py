"""Metrics by hand and against exact arithmetic; tallies that merge."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faircascade.metrics import Record, Tally
from faircascade.metrics.clicks import Clicks, Regret
from faircascade.metrics.diversity import Coverage, Entropy, MeritJS, MeritKL, TailShare
from faircascade.metrics.exposure import evenness, exposure_p, lorenz, percent_change
from faircascade.metrics.fairness import EqualityB, EqualityP, EquityB, EquityP, FairnessRegret
from faircascade.metrics.tally import UNIT, discounts, to_units
from faircascade.types import Items
from tests.oracle import slow

counts = arrays(
    np.int64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 9)
)


def record(appearances, merit=None, popularity=None, **known) -> Record:
    appearances = np.asarray(appearances, dtype=np.int64)
    m = len(appearances)
    defaults = {
        "item_clicks": np.zeros_like(appearances),
        "merit": np.ones(m) if merit is None else np.asarray(merit, dtype=float),
        "popularity": np.zeros(m) if popularity is None else np.asarray(popularity, dtype=float),
        "served": 10,
        "clicks": 4,
        "clicked": 3,
        "regret": 1.5,
        "realised_regret": 1.0,
        "fairness_regret": 2.0,
        "eligible_fairness_regret": 1.0,
        "eligible": np.ones(m, dtype=bool),
    }
    return Record(appearances=appearances, **(defaults | known))


@given(counts)
def test_evenness_is_one_minus_the_exact_gini(appearances: np.ndarray) -> None:
    values = appearances.sum(axis=1).astype(float)
    if values.sum() == 0:
        assert math.isnan(evenness(values))
    else:
        assert evenness(values) == pytest.approx(float(1 - slow.gini(values)), abs=1e-12)


@given(counts, st.permutations(range(12)))
def test_relabelling_items_changes_no_metric(appearances, order) -> None:
    order = [i for i in order if i < len(appearances)]
    rng = np.random.default_rng(len(appearances))
    merit = rng.uniform(0.1, 1, len(appearances))
    popularity = rng.integers(0, 4, len(appearances))
    before = record(appearances, merit, popularity)
    after = record(appearances[order], merit[order], popularity[order])
    for metric in (
        EqualityB(),
        EqualityP(),
        EquityB(),
        EquityP(),
        Coverage(),
        Entropy(),
        TailShare(),
        MeritKL(),
        MeritJS(),
    ):
        a, b = metric.measure(before), metric.measure(after)
        assert a == pytest.approx(b, abs=1e-12, nan_ok=True)


def test_the_four_notions_by_hand() -> None:
    # item 0: twice at position 1, item 1: once at 2; item 2 never. merit 1, 1/2, 1
    # E_B = 2, 1, 0; E_P = 2, 1/log2(3), 0; E_BM = 2, 2, 0
    found = record([[2, 0], [0, 1], [0, 0]], merit=[1, 0.5, 1])
    assert exposure_p(found).tolist() == [2, 1 / math.log2(3), 0]
    assert EqualityB().measure(found) == pytest.approx(1 - (-2 * 0 + 0 * 1 + 2 * 2) / (3 * 3))
    assert EquityB().measure(found) == pytest.approx(1 - (2 * 2) / (3 * 4))
    e = 1 / math.log2(3)
    assert EqualityP().measure(found) == pytest.approx(1 - 2 * 2 / (3 * (2 + e)))
    assert EquityP().measure(found) == pytest.approx(1 - 2 * 2 / (3 * (2 + 2 * e)))


def test_discounts_are_those_of_ndcg() -> None:
    assert discounts(3).tolist() == pytest.approx([1, 1 / math.log2(3), 0.5])


def test_nothing_shown_has_no_fairness() -> None:
    empty = record(np.zeros((3, 2)))
    for metric in (EqualityB(), EqualityP(), EquityB(), EquityP(), Entropy(), MeritKL(), MeritJS()):
        assert math.isnan(metric.measure(empty))
    assert Coverage().measure(empty) == 0


def test_extremes() -> None:
    even, one = record(np.full((5, 2), 3)), record([[9, 9]] + [[0, 0]] * 4)
    assert EqualityB().measure(even) == pytest.approx(1)
    assert Entropy().measure(even) == pytest.approx(1)
    assert MeritKL().measure(even) == pytest.approx(0)
    assert MeritJS().measure(even) == pytest.approx(0)
    assert EqualityB().measure(one) == pytest.approx(1 / 5)
    assert Entropy().measure(one) == 0
    assert MeritKL().measure(one) == pytest.approx(math.log(5))
    assert 0 < MeritJS().measure(one) < 1
    assert Coverage().measure(one) == pytest.approx(1 / 5)


def test_tail_share_counts_the_least_popular_items() -> None:
    found = record([[6], [3], [1], [0]], popularity=[40, 30, 20, 10])
    assert TailShare(tail=0.5).measure(found) == pytest.approx(0.1)
    assert TailShare(tail=0.75).measure(found) == pytest.approx(0.4)
    with pytest.raises(ValueError, match="tail must be above 0 and below 1, got 1"):
        TailShare(tail=1)


def test_clicks_and_regret() -> None:
    assert Clicks().measure(record([[1]])) == 0.4
    assert math.isnan(Clicks().measure(record([[0]], served=0)))
    assert Regret().measure(record([[1]])) == 1.5
    assert Regret(realised=True).measure(record([[1]])) == 1.0


def exposed(intervals, checkpoints) -> Tally:
    """A tally of given appearances by interval, (c, m, K)."""
    appearances = np.asarray(intervals)
    _, m, k = appearances.shape
    tally = Tally.empty(checkpoints=checkpoints, items=m, k=k, users=1)
    tally.appearances[:] = appearances
    return tally


def unfairness(intervals, merit, checkpoints) -> list[float]:
    """Fairness regret at each checkpoint."""
    items = Items.of(np.ones((len(merit), 2)), merit=np.asarray(merit, dtype=float))
    tally = exposed(intervals, checkpoints)
    return [FairnessRegret().measure(record) for record in Record.series(tally, items)]


def test_fairness_regret_by_hand() -> None:
    # merit 1/4 and 3/4; one position. Rounds 1 to 4 show item 0 alone: distance 3/4 + 3/4;
    # rounds 5 to 10 show both as often: 1/4 + 1/4
    found = unfairness([[[4], [0]], [[3], [3]]], merit=[1, 3], checkpoints=[4, 10])
    assert found == pytest.approx([4 * 1.5, 4 * 1.5 + 6 * 0.5])


def test_fairness_regret_weighs_by_position() -> None:
    # item 1 always stands at position 2: shares 1 / (1 + d) and d / (1 + d) of exposure
    d = 1 / math.log2(3)
    found = unfairness([[[5, 0], [0, 5]]], merit=[1, 1], checkpoints=[5])
    assert found == pytest.approx([5 * 2 * (1 / (1 + d) - 0.5)])


def test_fairness_regret_is_of_each_interval_and_not_of_the_whole() -> None:
    # both items get their share over the whole run, neither does in any interval
    halves = [[[2], [0]], [[0], [2]]]
    assert unfairness(halves, merit=[1, 1], checkpoints=[2, 4])[-1] == pytest.approx(4.0)
    assert unfairness([np.sum(halves, axis=0)], merit=[1, 1], checkpoints=[4]) == [0.0]


def test_an_interval_in_which_nobody_came_adds_no_fairness_regret() -> None:
    assert unfairness([[[0], [0]], [[1], [1]]], merit=[1, 1], checkpoints=[3, 4]) == [0.0, 0.0]


@given(data=st.data())
def test_fairness_regret_is_bounded_and_neither_labels_nor_the_scale_of_merit_matter(data) -> None:
    m, k = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 3))
    shape = st.just((2, m, k))
    shown = data.draw(arrays(np.int64, shape, elements=st.integers(0, 9)))
    merit = np.random.default_rng(m).uniform(0.1, 1, m)
    order = data.draw(st.permutations(range(m)))
    before = unfairness(shown, merit, [3, 8])
    after = unfairness(shown[:, order], merit[order] * 7.0, [3, 8])
    assert after == pytest.approx(before, abs=1e-12)  # sums of floats in another order
    assert 0 <= before[0] <= 2 * 3
    assert before[0] - 1e-12 <= before[1] <= before[0] + 2 * 5


def test_groups_have_no_fairness_regret_and_it_says_why() -> None:
    _, grouped = record([[1], [2]]).by_group(["a", "a"])
    assert math.isnan(FairnessRegret().measure(grouped))
    assert "items" in FairnessRegret().why_missing(grouped)


def test_lorenz_runs_from_corner_to_corner_below_the_diagonal() -> None:
    items, share = lorenz(np.array([3.0, 0.0, 1.0]))
    assert items.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert share.tolist() == [0, 0, 0.25, 1]


def test_percent_change_of_nothing_is_nothing() -> None:
    assert percent_change(np.array([0, 2, 0]), np.array([0, 0, 2])).tolist() == [0, 200, -200]


def test_groups_add_up_and_a_member_of_two_counts_in_both() -> None:
    found = record([[1, 0], [2, 0], [4, 0]], merit=[0.1, 0.2, 0.4])
    groups, grouped = found.by_group(["a", "a|b", "b"])
    assert groups == ("a", "b")
    assert grouped.appearances.tolist() == [[3, 0], [6, 0]]
    assert grouped.merit.tolist() == pytest.approx([0.3, 0.6])
    assert EquityB().measure(grouped) == pytest.approx(1)  # exposure in proportion to merit
    with pytest.raises(ValueError, match="one for each of the 3 items, got 2"):
        found.by_group(["a", "b"])


@settings(max_examples=50)
@given(data=st.data())
def test_parts_merge_to_the_whole_in_any_cut_and_order(data) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    users, k, m = data.draw(st.integers(1, 8)), 3, 7
    cut = data.draw(st.integers(0, users))
    slates = np.array([[rng.permutation(m)[:k] for _ in range(users)] for _ in range(4)])
    clicks = rng.uniform(size=(4, users, k)) < 0.4
    regret = rng.uniform(size=(4, users))

    def tally(part: slice) -> Tally:
        n = len(range(users)[part])
        result = Tally.empty(checkpoints=[1, 4], items=m, k=k, users=n)
        for t in range(1, 5):
            result.count(0 if t == 1 else 1, t, slates[t - 1, part], clicks[t - 1, part])
            result.regret[t - 1] = to_units(regret[t - 1, part])
        return result

    whole, first, second = tally(slice(None)), tally(slice(0, cut)), tally(slice(cut, None))
    for merged in (first.merge(second), second.merge(first)):
        for f in fields(Tally):
            assert np.array_equal(getattr(merged, f.name), getattr(whole, f.name)), f.name
    items = Items.of(np.ones((m, 2)))
    last = Record.of(whole, items)
    assert last.appearances.sum() == 4 * users * k
    assert last.clicks == clicks.sum()
    assert last.clicked == clicks.any(axis=2).sum()
    assert last.regret == pytest.approx(regret.sum() / users, abs=4 * users * UNIT)
    assert Record.of(whole.up_to(1), items).served == users


def test_tallies_of_different_runs_do_not_merge() -> None:
    a = Tally.empty(checkpoints=[1, 4], items=3, k=2, users=1)
    with pytest.raises(ValueError, match="same checkpoints"):
        a.merge(Tally.empty(checkpoints=[2, 4], items=3, k=2, users=1))
    with pytest.raises(ValueError, match=r"same items and k .* \(3, 2\) and \(4, 2\)"):
        a.merge(Tally.empty(checkpoints=[1, 4], items=4, k=2, users=1))
