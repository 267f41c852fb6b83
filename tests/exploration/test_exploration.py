"""Explorations: what they add to greed."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.estimators import Ridge
from faircascade.exploration import UCB, Epsilon, Exploration, SlateRequest, Thompson
from faircascade.exploration.epsilon import mingle
from faircascade.ranking import Scores
from faircascade.types import Items, Slates, Users
from tests.evidence import evidence

EVERY = slice(None)


def request(n=3, m=20, d=3, k=4, round=1, seed=0, learned=True) -> SlateRequest:
    rng = np.random.default_rng(1)
    estimator = Ridge()
    state = estimator.start(n, d)
    if learned:
        features = rng.normal(size=(n, 5, d))
        estimator.update(state, EVERY, evidence(features, rng.normal(size=(n, 5)), np.full(n, 5)))
    pool = Items.of(rng.normal(size=(m, d))).pool
    return SlateRequest(
        beliefs=estimator.beliefs(state, EVERY, pool),
        rows=EVERY,
        users=Users(ids=np.arange(n)).keys,
        pool=pool,
        k=k,
        round=round,
        seed=seed,
    )


def slates(exploration: Exploration, asked: SlateRequest) -> Slates:
    return exploration.slates(asked, exploration.scores(asked))


def test_ucb_adds_alpha_widths_to_the_mean() -> None:
    asked = request()
    expected = asked.beliefs.mean().rough + 0.7 * asked.beliefs.width().rough
    assert np.allclose(UCB(alpha=0.7).scores(asked).rough, expected)


def test_thompson_draws_from_the_posterior() -> None:
    # mean and covariance of 4,000 draws of x . theta against N(theta_hat, v^2 M^-1)
    draws = []
    for t in range(1, 4001):
        draws.append(Thompson(scale=0.5).scores(request(n=1, m=3, round=t)).rough[0])
    asked = request(n=1, m=3)
    x = asked.pool.by_feature  # (d, 3)
    mean = asked.beliefs.mean().rough[0]
    cov = 0.25 * x.T @ asked.beliefs._M_inv[:, :, 0] @ x
    sd = np.sqrt(np.diag(cov))
    assert np.abs((np.mean(draws, axis=0) - mean) / sd).max() < 5 / np.sqrt(4000)
    assert np.abs((np.cov(np.array(draws).T) - cov) / np.outer(sd, sd)).max() < 5 * np.sqrt(
        2 / 4000
    )


def test_thompson_draws_differ_between_users_and_rounds_and_repeat_with_the_seed() -> None:
    asked = request(n=2, learned=False)
    scores = Thompson(scale=1.0).scores(asked).rough
    assert not np.allclose(scores[0], scores[1])
    assert np.array_equal(scores, Thompson(scale=1.0).scores(request(n=2, learned=False)).rough)
    assert not np.allclose(
        scores, Thompson(scale=1.0).scores(request(n=2, learned=False, round=2)).rough
    )


def test_epsilon_one_is_uniform_over_items_at_every_position() -> None:
    counts = np.zeros((6, 3))
    for t in range(1, 3001):
        shown = slates(Epsilon(epsilon=1.0), request(n=1, m=6, k=3, round=t)).items
        counts[shown[0], range(3)] += 1
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500)


def test_epsilon_takes_the_next_greedy_item_that_is_left() -> None:
    # greedy 9 > 7 > 5; the coin at position 1 picks the item 7 (lot 0.7 of 10), so 9 and 5 follow
    pool = np.arange(10)
    explore = np.array([[True, False, False]])
    lots = np.array([[0.75, 0.0, 0.0]])
    assert mingle(np.array([[9, 7, 5]]), explore, lots, pool).tolist() == [[7, 9, 5]]


def test_a_random_pick_counts_among_the_items_left() -> None:
    # positions 1 and 2 random: lot 0 picks item 0; then lot 0 of the 3 left {1, 2, 3} picks 1
    explore = np.array([[True, True]])
    found = mingle(np.array([[3, 2]]), explore, np.array([[0.0, 0.0]]), np.arange(4))
    assert found.tolist() == [[0, 1]]
    found = mingle(np.array([[3, 2]]), explore, np.array([[0.99, 0.99]]), np.arange(4))
    assert found.tolist() == [[3, 2]]


def test_epsilon_scores_belong_to_the_items_listed() -> None:
    asked = request()
    shown = slates(Epsilon(epsilon=0.5), asked)
    means = asked.beliefs.mean().rough
    assert np.allclose(shown.scores, np.take_along_axis(means, shown.items, axis=1))


@pytest.mark.parametrize("exploration", [UCB(), Thompson(), Epsilon(epsilon=0.0)])
def test_lists_follow_the_scores_they_are_given(exploration: Exploration) -> None:
    # scores turned upside down by a re-ranker give the items that scored lowest
    asked = request(m=8, k=3)
    scores = exploration.scores(asked)
    upside_down = Scores.final(-scores.rough)
    found = exploration.slates(asked, upside_down)
    assert found.items.tolist() == np.argsort(scores.rough, axis=1)[:, :3].tolist()
    assert np.allclose(found.scores, -np.sort(scores.rough, axis=1)[:, :3], atol=2**-32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UCB(alpha=-0.1), "alpha must be >= 0, got -0.1"),
        (lambda: Thompson(scale=float("nan")), "scale must be finite"),
        (lambda: Epsilon(epsilon=1.1), "epsilon must be between 0 and 1, got 1.1"),
    ],
)
def test_wrong_parameters_are_named(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
