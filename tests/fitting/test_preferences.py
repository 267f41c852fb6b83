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
            users,
            items,
            clicks[users, items],
            looks[users, items],
            looks[users, items],
            np.full(USERS, rounds),
            ITEMS,
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
            rows,
            items,
            clicks[rows, items],
            looks[rows, items],
            looks[rows, items],
            np.full(users, 120),
            4,
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
    assert soft(-0.5, 0.01) == (1e-9, 0.0)
    for level in np.linspace(-0.1, 0.1, 21):
        (low, _), (high, _) = soft(level - 1e-6, 0.02), soft(level + 1e-6, 0.02)
        if low > 1e-9:
            assert soft(level, 0.02)[1] == pytest.approx((high - low) / 2e-6, rel=1e-3)


def test_the_mean_of_a_level_that_is_cut_at_zero() -> None:
    luck = np.random.default_rng(0)
    for level, deviation in ((0.1, 0.2), (-0.1, 0.1), (0.4, 0.01)):
        drawn = np.maximum(luck.normal(level, deviation, 400_000), 0.0).mean()
        assert kernels().mean_attraction(level, deviation**2) == pytest.approx(drawn, rel=0.01)
        assert mean_attraction(np.array([level]), np.array([deviation**2]))[0] == pytest.approx(
            kernels().mean_attraction(level, deviation**2)
        )


def test_what_is_known_after_a_click_has_the_exact_mean_and_variance() -> None:
    """Against sums over a fine grid of levels, also far below 0 and above the most there is."""
    grid = np.linspace(-12, 12, 200_001)
    for level, deviation in ((0.1, 0.2), (-0.1, 0.1), (0.4, 0.01), (0.9, 0.3), (1.5, 0.3)):
        levels, prior = level + deviation * grid, np.exp(-0.5 * grid**2)
        p = np.clip(levels, 0.0, kernels().MOST)
        for look in (0.4, 1.0):
            for clicked, likelihood in ((1.0, look * p), (0.0, 1.0 - look * p)):
                after = prior * likelihood / (prior * likelihood).sum()
                mean = float(after @ levels)
                slope, bend = kernels().change_by_click(level, deviation**2, clicked, look)
                assert level + deviation**2 * slope == pytest.approx(mean, abs=1e-6)
                assert deviation**2 + deviation**4 * bend == pytest.approx(
                    float(after @ (levels - mean) ** 2), rel=1e-4
                )


def test_a_click_on_what_was_thought_impossible_moves_beliefs_without_a_jump() -> None:
    """The series for levels far below 0 goes on where the ratios end."""
    change = kernels().change_by_click
    near, far = (change(level * 0.1, 0.01, 1.0, 1.0) for level in (-19.99, -20.01))
    assert near == pytest.approx(far, rel=2e-3)
    slope, bend = change(-60.0, 1.0, 1.0, 1.0)
    assert 60.0 < slope < 60.1
    assert -1.0 < bend < -0.99


def test_expected_slopes_are_means_over_normal_levels() -> None:
    """Against sums over a fine grid; the curvature by Stein, and known levels by Fisher."""
    compiled = kernels()
    nodes = compiled.NODES, compiled.WEIGHTS
    for level, deviation, clicks, times, looks in (
        (0.2, 0.1, 2.0, 9.0, 9.0), (-0.05, 0.1, 1.0, 4.0, 2.0), (0.1, 0.3, 0.0, 5.0, 4.0),
    ):  # fmt: skip
        soft, seen = 0.05, looks / times
        grid = level + deviation * np.linspace(-7, 7, 20_001)
        bell = np.exp(-0.5 * ((grid - level) / deviation) ** 2)
        found = np.array([compiled.soft_attraction(each, soft) for each in grid])
        p, rise = found.T
        slope = rise * (clicks / p - (times - clicks) * seen / (1 - seen * p))
        mean = (slope * bell).sum() / bell.sum()
        curved = -(slope * (grid - level) * bell).sum() / bell.sum() / deviation**2
        got = compiled.expected_slope(level, deviation**2, clicks, times, looks, soft, *nodes)
        assert got[0] == pytest.approx(mean, rel=0.05, abs=0.3)
        assert got[1] == pytest.approx(max(curved, 0), rel=0.1, abs=3.0)
    p, rise = compiled.soft_attraction(0.3, 0.01)
    exact = compiled.expected_slope(0.3, 0.0, 2.0, 8.0, 4.0, 0.01, *nodes)
    assert exact[0] == pytest.approx(2 / 0.3 - 6 * 0.5 / (1 - 0.5 * 0.3))
    assert exact[1] == pytest.approx(8 * 0.5 / (0.3 * (1 - 0.5 * 0.3)))


def test_compiled_sums_are_the_plain_ones() -> None:
    luck = np.random.default_rng(3)
    compiled, n, m, d, softness = kernels(), 5, 4, 3, 0.05
    nodes = compiled.NODES, compiled.WEIGHTS
    mine, theirs = luck.normal(size=(n, d)) / 2, luck.normal(size=(m, d)) / 2
    own, doubts = (np.stack([np.diag(luck.uniform(0, 0.1, d)) for _ in range(c)]) for c in (n, m))
    starts = np.array([0, 2, 2, 5, 6, 9])
    others = luck.integers(0, m, 9)
    times = luck.integers(1, 9, 9).astype(float)
    looks, clicks = 0.7 * times, np.floor(times * luck.random(9))
    moments, slopes = np.zeros((n, d, d)), np.zeros((n, d))
    compiled.add_pairs(
        0, n, starts, others, clicks, times, looks, mine, own, theirs, doubts, softness, *nodes,
        moments, slopes,
    )  # fmt: skip
    for row in range(n):
        information, slope = np.zeros((d, d)), np.zeros(d)
        for pair in range(starts[row], starts[row + 1]):
            x, cov = theirs[others[pair]], doubts[others[pair]]
            variance = x @ own[row] @ x + mine[row] @ cov @ mine[row] + np.trace(own[row] @ cov)
            push, weight = compiled.expected_slope(
                mine[row] @ x, variance, clicks[pair], times[pair], looks[pair], softness, *nodes
            )
            information += weight * (np.outer(x, x) + cov)
            slope += push * x - weight * cov @ mine[row]
        assert np.allclose(moments[row], information)
        assert np.allclose(slopes[row], slope)


@pytest.mark.parametrize("given", [True, False], ids=["features given", "features fitted"])
@pytest.mark.parametrize(("users", "rounds"), [(2000, 3), (400, 15)])
def test_users_with_few_clicks_do_not_make_everybody_shy(users, rounds, given) -> None:
    luck = np.random.default_rng(users)
    features = luck.normal(size=(20, DIM)) / 3
    theta = luck.normal(size=(users, DIM)) / 2 + 0.3
    true = np.clip(theta @ features.T, 0, 1)
    times = np.zeros((users, 20))
    for _ in range(rounds):
        shown = luck.random((users, 20)).argsort(axis=1)[:, :4]
        np.put_along_axis(times, shown, np.take_along_axis(times, shown, 1) + 1, 1)
    clicks = luck.binomial(times.astype(int), true)
    rows, items = np.nonzero(times)
    seen = times[rows, items]
    sums = UserSums(
        rows, items, clicks[rows, items].astype(float), seen, seen, np.full(users, rounds), 20
    )
    found = fit_preferences(sums, features if given else None, 5, seed=0)
    drawn = found.drawn(0, np.arange(users, dtype=np.uint64))
    ours = np.clip(drawn @ found.features.T, 0, 1)
    assert ours.mean() == pytest.approx(true.mean(), rel=0.06)
    if given:
        assert ours.var(axis=0).mean() == pytest.approx(true.var(axis=0).mean(), rel=0.25)


def test_units_of_features_do_not_matter(shop: Shop) -> None:
    plain = fit_preferences(shop.sums, shop.features, dim=6, seed=0)
    units = np.array([1e5, 1.0, 1e-5])
    other = fit_preferences(shop.sums, shop.features * units, dim=6, seed=0)
    keys = np.arange(USERS, dtype=np.uint64)
    assert np.allclose(other.mean_attraction, plain.mean_attraction, atol=2e-3)
    one, same = plain.drawn(1, keys), other.drawn(1, keys) * units
    assert np.abs((one - same) @ shop.features.T).mean() < 0.02
