"""Attraction and positions come out of clicks on a position-based model."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.fitting.click_table import Cells
from faircascade.fitting.factors import fit_factors
from faircascade.fitting.positions import PRIOR_CLICKS, fit_positions
from faircascade.fitting.priors import Priors


def test_expected_clicks_give_back_the_model() -> None:
    rng = np.random.default_rng(0)
    shown = rng.integers(1_000_000, 9_000_000, (6, 4))
    attraction, positions = rng.uniform(0.1, 0.5, 6), np.array([1.0, 0.6, 0.4, 0.1])
    clicks = np.rint(shown * attraction[:, None] * positions).astype(np.int64)
    found = fit_positions(shown, clicks)
    assert found.items == pytest.approx(attraction, rel=1e-3)
    assert found.positions == pytest.approx(positions, rel=1e-3)


def test_good_items_on_top_do_not_make_lower_positions_look_blind() -> None:
    """Two positions that are seen alike; the good item stands mostly on top."""
    shown = np.array([[900_000, 100_000], [100_000, 900_000]])
    clicks = (shown * np.array([[0.5], [0.1]])).astype(np.int64)
    naive = clicks.sum(axis=0) / shown.sum(axis=0)
    assert naive[1] / naive[0] < 0.4
    assert fit_positions(shown, clicks).positions == pytest.approx([1.0, 1.0], abs=0.01)


def test_the_fit_balances_clicks_by_item_and_by_position() -> None:
    """At the solution each factor is what its own equation says, by enumeration."""
    rng = np.random.default_rng(1)
    shown = rng.integers(0, 50, (7, 3))
    clicks = rng.binomial(shown, 0.3)
    alpha, theta, _ = fit_positions(shown, clicks)
    examined = [sum(shown[i, k] * theta[k] for k in range(3)) for i in range(7)]
    mean = clicks.sum() / sum(examined)
    for i in range(7):
        expected = (clicks[i].sum() + PRIOR_CLICKS) / (examined[i] + PRIOR_CLICKS / mean)
        assert alpha[i] == pytest.approx(expected)
    rates = [clicks[:, k].sum() / sum(shown[i, k] * alpha[i] for i in range(7)) for k in range(3)]
    assert theta == pytest.approx(np.array(rates) / rates[0], abs=1e-4)


def test_an_item_that_was_not_shown_is_average() -> None:
    shown, clicks = np.array([[100], [300], [0]]), np.array([[30], [30], [0]])
    found = fit_positions(shown, clicks)
    assert found.items[2] == pytest.approx(60 / 400)
    assert found.items[1] < found.items[2] < found.items[0]


def test_without_clicks_all_items_are_alike() -> None:
    found = fit_positions(np.array([[5, 1], [2, 0]]), np.zeros((2, 2), dtype=np.int64))
    assert found.items.tolist() == [1, 1]
    assert found.positions.tolist() == [1, 1]


def test_the_fit_is_that_of_expectation_maximisation_where_clicks_are_rare() -> None:
    """To one part in a hundred: the Poisson and the binomial differ by about the click rate."""
    rng = np.random.default_rng(3)
    shown = rng.integers(100_000, 900_000, (8, 4))
    positions = np.array([1.0, 0.7, 0.5, 0.2])
    clicks = rng.binomial(shown, rng.uniform(0.002, 0.02, 8)[:, None] * positions)
    items, places = (each.ravel() for each in np.indices(shown.shape))
    cells = Cells(items, places, shown.ravel().astype(float), clicks.ravel().astype(float))
    by_em = fit_factors(cells, 8, 4, Priors.of(0.0, 0.01), tolerance=1e-8)
    found = fit_positions(shown, clicks)
    assert found.positions == pytest.approx(by_em.examination, rel=0.01)
    assert found.items == pytest.approx(by_em.attraction, rel=0.01)
