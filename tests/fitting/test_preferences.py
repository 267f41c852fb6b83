"""Preferences of users, fitted to what they looked at and clicked."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faircascade.fitting.preferences import fit_preferences, kernels, mean_attraction
from faircascade.fitting.user_sums import UserSums

USERS, ITEMS, DIM = 400, 40, 3


class Shop:
    """Users who differ, and a policy that shows them more and more of what they clicked."""

    def __init__(self, seed: int = 0, rounds: int = 120) -> None:
        luck = np.random.default_rng(seed)
        self.features = luck.normal(size=(ITEMS, DIM)) / 4
        self.theta = luck.normal(size=(USERS, DIM)) / 3 + 0.3
        self.attraction = np.clip(self.theta @ self.features.T, 0, 1)
        looks, clicks = np.zeros((2, USERS, ITEMS))
        rows = np.arange(USERS)
        for number in range(rounds):
            hope = (clicks + 0.3) / (looks + 1.0) + luck.uniform(0, 0.05, looks.shape)
            shown = luck.integers(ITEMS, size=USERS) if number < 10 else hope.argmax(axis=1)
            looks[rows, shown] += 1
            clicks[rows, shown] += luck.random(USERS) < self.attraction[rows, shown]
        users, items = np.nonzero(looks)
        self.sums = UserSums(
            users, items, clicks[users, items], looks[users, items], np.full(USERS, rounds), ITEMS
        )


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop()


@pytest.mark.parametrize("given", [True, False], ids=["features given", "features fitted"])
def test_a_policy_that_shows_people_what_they_like_does_not_mislead(shop: Shop, given) -> None:
    true = shop.attraction.mean(axis=0)
    sums = shop.sums
    naive = sums.of_items(sums.clicks) / sums.of_items(sums.looks)
    found = fit_preferences(sums, shop.features if given else None, dim=6, seed=0)
    assert found.converged
    assert np.abs(naive - true).mean() > 0.04  # mostly its friends see an item
    assert np.abs(found.mean_attraction - true).mean() < (0.008 if given else 0.015)


def test_the_population_is_found_with_the_features_of_the_policy(shop: Shop) -> None:
    found = fit_preferences(shop.sums, shop.features, dim=6, seed=0)
    assert np.abs(found.common - shop.theta.mean(axis=0)).max() < 0.06
    assert np.abs(found.spread - np.cov(shop.theta.T)).max() < 0.03


def test_more_features_than_there_are_do_no_harm(shop: Shop) -> None:
    found = fit_preferences(shop.sums, None, dim=8, seed=0)
    size = np.sort(np.linalg.eigvalsh(found.features.T @ found.features / ITEMS))[::-1]
    assert size[:DIM].sum() > 0.9 * size.sum()


def test_drawn_users_differ_as_much_as_users_do_and_the_most_likely_ones_less(shop: Shop) -> None:
    found = fit_preferences(shop.sums, shop.features, dim=6, seed=0)
    drawn = found.drawn(1, np.arange(USERS, dtype=np.uint64))
    likely, possible, true = (
        np.clip(theta @ shop.features.T, 0, 1).var(axis=0).mean()
        for theta in (found.means, drawn, shop.theta)
    )
    assert likely < 0.75 * true
    assert 0.8 * true < possible < 1.1 * true  # fits are a little too sure (Laplace)
    again = found.drawn(1, np.arange(USERS, dtype=np.uint64)[::-1])
    assert not np.allclose(again, drawn)
    assert np.array_equal(found.drawn(1, np.arange(USERS, dtype=np.uint64)), drawn)


def test_a_second_fit_that_begins_near_ends_at_the_same_place(shop: Shop) -> None:
    found = fit_preferences(shop.sums, None, dim=5, seed=0)
    again = fit_preferences(shop.sums, None, dim=5, seed=0, near=found)
    assert again.steps < found.steps
    assert np.abs(again.mean_attraction - found.mean_attraction).mean() < 0.003


def test_users_who_are_all_alike_and_a_single_one() -> None:
    looks = np.full((50, 4), 30.0)
    clicks = np.tile([3.0, 6.0, 9.0, 12.0], (50, 1))
    for users in (50, 1):
        rows, items = np.nonzero(looks[:users])
        sums = UserSums(
            rows, items, clicks[rows, items], looks[rows, items], np.full(users, 120), 4
        )
        found = fit_preferences(sums, None, dim=3, seed=0)
        assert np.isfinite(found.means).all()
        own = found.attraction(np.zeros(1, dtype=int), np.arange(4)[None])[0]
        assert np.abs(own - [0.1, 0.2, 0.3, 0.4]).max() < (0.03 if users > 1 else 0.1)


def test_soft_attraction_is_attraction_but_for_a_rounded_corner() -> None:
    """Far above 0 it is the level, far below nothing; at 0 it is softness times log 2."""
    soft = kernels().soft_attraction
    assert soft(0.5, 0.01) == (0.5, 1.0)
    assert soft(0.0, 0.01) == (pytest.approx(0.01 * math.log(2)), 0.5)
    assert soft(-0.5, 0.01) == (1e-6, 0.0)
    for level in np.linspace(-0.1, 0.1, 21):
        (low, _), (high, _) = soft(level - 1e-6, 0.02), soft(level + 1e-6, 0.02)
        if low > 1e-6:
            assert soft(level, 0.02)[1] == pytest.approx((high - low) / 2e-6, rel=1e-3)


def test_the_mean_of_a_level_that_is_cut_at_zero() -> None:
    luck = np.random.default_rng(0)
    for level, deviation in ((0.1, 0.2), (-0.1, 0.1), (0.4, 0.01)):
        drawn = np.maximum(luck.normal(level, deviation, 400_000), 0.0).mean()
        assert kernels().mean_attraction(level, deviation**2) == pytest.approx(drawn, rel=0.01)
        assert mean_attraction(np.array([level]), np.array([deviation**2]))[0] == pytest.approx(
            kernels().mean_attraction(level, deviation**2)
        )


def test_compiled_sums_are_the_plain_ones() -> None:
    luck = np.random.default_rng(3)
    n, m, d, softness = 5, 4, 3, 0.05
    mine, theirs = luck.normal(size=(n, d)) / 2, luck.normal(size=(m, d)) / 2
    doubts = np.stack([np.diag(luck.uniform(0, 0.1, d)) for _ in range(m)])
    starts = np.array([0, 2, 2, 5, 6, 9])
    others = luck.integers(0, m, 9)
    looks = luck.integers(1, 9, 9).astype(float)
    clicks = np.floor(looks * luck.random(9))
    moments, slopes = np.zeros((n, d, d)), np.zeros((n, d))
    kernels().add_pairs(
        0, n, starts, others, looks, clicks, mine, theirs, doubts, softness, moments, slopes
    )
    for row in range(n):
        information, slope = np.zeros((d, d)), np.zeros(d)
        for pair in range(starts[row], starts[row + 1]):
            x, cov = theirs[others[pair]], doubts[others[pair]]
            p, rise = kernels().soft_attraction(mine[row] @ x, softness)
            weight = looks[pair] * rise**2 / (p * (1 - p))
            information += weight * (np.outer(x, x) + cov)
            slope += (clicks[pair] - looks[pair] * p) * rise / (p * (1 - p)) * x
            slope -= weight * cov @ mine[row]
        assert np.allclose(moments[row], information)
        assert np.allclose(slopes[row], slope)
