"""Indices of items in a table, against independent solves and distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from faircascade.estimators.tabular import TabularBeliefs
from faircascade.exploration import KLUCB, UCB1, BetaThompson, GaussianThompson, SlateRequest
from faircascade.exploration.indices import UNSEEN, kl_index, kl_time
from faircascade.random import ln
from faircascade.types import Items, Users


def kl(m: float, q: float) -> float:
    """Divergence of two coins."""
    heads = m * np.log(m / q) if m > 0 else 0.0
    return float(heads + (1 - m) * np.log((1 - m) / (1 - q)))


@given(
    mean=st.one_of(st.just(0.0), st.floats(1e-6, 1 - 1e-6)),
    budget=st.floats(1e-6, 20.0),
)
def test_the_kl_index_is_where_the_divergence_meets_the_budget(mean: float, budget: float) -> None:
    found = float(kl_index(np.array([mean]), np.array([budget]))[0])
    almost = 1 - 1e-15
    if kl(mean, almost) < budget:
        assert found == pytest.approx(1.0, abs=1e-12)
    else:
        solved = brentq(lambda q: kl(mean, q) - budget, mean + 1e-14, almost, xtol=1e-15)
        assert found == pytest.approx(solved, abs=1e-11)


def test_the_kl_index_without_a_budget_is_the_mean_and_that_of_a_sure_item_is_1() -> None:
    found = kl_index(np.array([0.3, 1.0, 1.0]), np.array([0.0, 0.0, 2.0]))
    assert found.tolist() == [0.3, 1.0, 1.0]


@given(mean=st.floats(0, 1), budget=st.floats(0, 10), more=st.floats(1e-6, 1))
@example(mean=1.0 - 2.0**-53, budget=1.0, more=1.0)
def test_the_kl_index_grows_with_the_budget(mean: float, budget: float, more: float) -> None:
    low, high = kl_index(np.array([mean, mean]), np.array([budget, budget + more]))
    assert mean <= low <= high <= 1


def test_the_level_of_time_of_kl_ucb_is_never_negative_and_never_falls() -> None:
    levels = kl_time(np.arange(1.0, 2000.0))
    assert levels[:2].tolist() == [0.0, 0.0]
    assert (np.diff(levels) >= 0).all()
    assert levels[99] == pytest.approx(np.log(100) + 3 * np.log(np.log(100)), rel=1e-14)


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_that_of_the_library_up_to_rounding(y: float) -> None:
    assert float(ln(np.float64(y))) == pytest.approx(np.log(y), rel=1e-14, abs=1e-15)


def request(targets, counts, time=100.0, users=1, round=1, positions=None) -> SlateRequest:
    """Ask for items with such sums, the same for every user."""
    tile = [np.tile(np.asarray(row, dtype=float), (users, 1)) for row in (targets, counts)]
    parts = np.tile(np.asarray(counts if positions is None else positions, float), (users, 1))
    return SlateRequest(
        beliefs=TabularBeliefs(tile[0], parts, tile[1], np.full(users, time)),
        rows=slice(None),
        users=Users(ids=np.arange(users)).keys,
        pool=Items.of(np.eye(len(counts))).pool,
        k=1,
        round=round,
        seed=7,
    )


def test_ucb1_adds_the_bonus_to_the_mean() -> None:
    scores = UCB1().scores(request([1, 3, 0], [4, 10, 0])).rough[0]
    expected = [1 / 4 + np.sqrt(1.5 * np.log(100) / 4), 3 / 10 + np.sqrt(1.5 * np.log(100) / 10)]
    assert scores[:2] == pytest.approx(expected)
    assert scores[2] == UNSEEN


def test_ucb1_of_positions_seen_in_part_is_that_of_lagree() -> None:
    # S = 3 clicks at N = 10 positions that were looked at half of the time: N~ = 5
    score = UCB1(scale=0.55).scores(request([3], [5], positions=[10])).rough[0, 0]
    delta = 1.1 * np.log(100)
    assert score == pytest.approx(3 / 5 + np.sqrt(10 / 5) * np.sqrt(delta / (2 * 5)))


def test_kl_ucb_cuts_means_to_coins() -> None:
    scores = KLUCB().scores(request([-2, 0, 9], [8, 8, 8])).rough[0]
    assert scores[0] == scores[1] < 1
    assert scores[2] == 1.0


def test_the_gaussian_draw_moves_all_items_by_one_number() -> None:
    counts, clicks = np.array([4.0, 10.0, 0.0]), np.array([1.0, 3.0, 0.0])
    zs = []
    for t in range(1, 2001):
        scores = GaussianThompson().scores(request(clicks, counts, round=t)).rough[0]
        mean, level = clicks / np.maximum(counts, 1), np.log(101)
        variance = mean * (1 - mean)
        spread = np.maximum(np.sqrt(variance * level / (counts + 1)), level / (counts + 1))
        z = (scores - mean) / spread
        assert np.ptp(z) < 1e-9
        zs.append(z[0])
    assert stats.kstest(zs, stats.norm.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("clicks", "seen"), [(0, 0), (0, 1), (3, 7), (40, 400)])
def test_beta_draws_come_from_the_posterior(clicks: int, seen: int) -> None:
    scores = BetaThompson().scores(request([clicks], [seen], users=5000)).rough[:, 0]
    posterior = stats.beta(1 + clicks, 1 + seen - clicks)
    assert stats.kstest(scores, posterior.cdf).pvalue > 1e-3


def test_beta_draws_belong_to_the_item_wherever_it_stands() -> None:
    one, other = request([1, 2], [5, 5]), request([1, 2], [5, 5])
    first = BetaThompson().scores(one).rough
    assert np.array_equal(BetaThompson().scores(other).rough, first)
    assert not np.array_equal(BetaThompson().scores(request([1, 2], [5, 5], round=2)).rough, first)
