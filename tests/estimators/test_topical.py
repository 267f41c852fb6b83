"""Ridge on gains in topic coverage: gains, beliefs below other items, greedy slates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade import Environment, load_dataset
from faircascade.data.base import DataError
from faircascade.engine import simulate
from faircascade.estimators import Topical
from faircascade.estimators.topical import topical_gains
from faircascade.policies import Bandit, CascadeHybrid, CascadeLSB
from faircascade.types import Floats
from tests.environments import small_environment
from tests.evidence import feedback_on


def coverage(topics: Floats) -> Floats:
    """What slates (n, K, t) cover of each topic, by its definition."""
    return 1.0 - np.prod(1.0 - topics, axis=1)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_gains_add_up_to_what_a_slate_covers(seed: int, k: int) -> None:
    topics = np.random.default_rng(seed).uniform(size=(3, k, 4))
    gains = topical_gains(topics)
    for position in range(1, k + 1):
        covered = coverage(topics[:, :position])
        np.testing.assert_allclose(gains[:, :position].sum(axis=1), covered, atol=1e-12)


@pytest.mark.parametrize("policy", [CascadeLSB(), CascadeHybrid()])
def test_every_position_is_the_best_item_given_those_above(policy: CascadeLSB) -> None:
    env = small_environment(users=3, items=25, k=5)
    state = simulate(env, policy, rounds=40, seed=2).state
    slates = policy.recommend(state, slice(None), env.items.pool, env.k, round=41, seed=2).items
    learned, features = state.learned, env.items.features
    for user, slate in enumerate(slates):
        M_inv, theta = learned.M_inv[:, :, user], learned.theta[:, user]
        for position in range(env.k):
            above = slate[:position]
            left = np.prod(1.0 - env.items.topics[above], axis=0)
            x = env.items.topics * left
            if policy.parts.estimator.features:
                x = np.hstack([features, x])
            score = x @ theta + policy.alpha * np.sqrt(np.einsum("ia,ab,ib->i", x, M_inv, x))
            score[above] = -np.inf
            assert score[slate[position]] == pytest.approx(score.max(), abs=1e-9)


@pytest.mark.parametrize("features", [False, True])
def test_it_learns_what_a_ridge_learns_from_the_same_rows(features: bool) -> None:
    env = small_environment(users=4, items=20, k=4)
    estimator = Topical(features=features)
    policy = Bandit(estimator=estimator)
    state = policy.start(env.users, policy.dim_of(env.items))
    rows, targets = [], []
    rng = np.random.default_rng(1)
    for t in range(1, 30):
        slates = np.stack([rng.permutation(20)[:4] for _ in range(4)])
        response = env.respond(slates, round=t, seed=1)
        feedback = feedback_on(env, slates, response.clicks)
        seen = policy.seen(response.clicks, feedback.shown) > 0
        gains = topical_gains(env.items.topics[slates])
        x = np.concatenate([env.items.features[slates], gains], axis=2) if features else gains
        rows.append(x[0][seen[0]])
        targets.append(response.clicks[0][seen[0]].astype(float))
        policy.update(state, slice(None), feedback)
    X, y = np.concatenate(rows), np.concatenate(targets)
    theta = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y)
    np.testing.assert_allclose(state.learned.theta[:, 0], theta, atol=1e-9)


def test_one_draw_holds_for_all_positions_of_a_slate() -> None:
    env = small_environment(users=3, items=25, k=4)
    policy = Bandit(estimator="topical", exploration="thompson")
    state = simulate(env, policy, rounds=20, seed=2).state
    beliefs = policy.parts.estimator.beliefs(state.learned, slice(None), env.items.pool)
    above = np.array([[3], [4], [5]])
    keys = {"seed": 2, "users": env.users.keys, "round": 21}
    first, below = beliefs.sample(0.5, **keys).rough, beliefs.given(above).sample(0.5, **keys).rough
    t = env.items.topics
    theta = np.linalg.lstsq(t, first.T, rcond=None)[0]  # what was drawn, (t, n)
    expected = (t[None] * (1.0 - t[above[:, 0]])[:, None]) @ theta.T[:, :, None]
    np.testing.assert_allclose(below, expected[:, :, 0], atol=1e-9)


def test_items_without_topics_are_refused_in_one_line() -> None:
    env = small_environment(topics=None)
    with pytest.raises(ValueError, match=r"estimator 'topical' needs items with topics"):
        simulate(env, CascadeLSB(), rounds=2)


def test_rerankers_that_change_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="'exposure-charge' needs scores of items, but those of"):
        Bandit(estimator="topical", reranker="exposure-charge")


def test_topics_come_from_a_column_or_from_likes() -> None:
    data = load_dataset("synthetic", users=60, items=80)
    plain = Environment.from_ratings(data, seed=3)
    assert plain.items.topics.shape == (len(plain.items), 0)
    genres = Environment.from_ratings(data, seed=3, topics="genre")
    about = np.array([set(text.split("|")) for text in genres.items.groups["genre"]])
    assert genres.items.topics.shape[1] == len(set().union(*about))
    assert ((genres.items.topics > 0).sum(axis=1) <= [len(of) for of in about]).all()
    factors = Environment.from_ratings(data, seed=3, topics="factors").items.topics
    assert (factors.max(axis=0) > 0).all()
    assert ((factors > 0).sum(axis=1) <= 3).all()
    np.testing.assert_array_equal(genres.items.features, plain.items.features)
    with pytest.raises(DataError, match=r"topics must be one of factors, genre.*mean 'genre'"):
        Environment.from_ratings(data, topics="genres")


def test_an_environment_keeps_its_topics(tmp_path) -> None:
    env = small_environment()
    env.save(tmp_path / "env.npz")
    back = Environment.load(tmp_path / "env.npz")
    np.testing.assert_array_equal(back.items.topics, env.items.topics)
    assert back.fingerprint == env.fingerprint
