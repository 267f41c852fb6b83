"""Logistic regression online: one step by hand, the batch answer in the long run, weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from faircascade.engine import simulate
from faircascade.estimators import Logistic
from faircascade.estimators.base import Evidence
from faircascade.policies import Bandit, LogisticTS, LogisticUCB
from faircascade.rewards import ExposureAware
from tests.environments import small_environment
from tests.evidence import feedback_on


def seen(features: np.ndarray, clicks: np.ndarray, **more: object) -> Evidence:
    """Slates (n, K, d) all of which was seen."""
    given = {
        "items": np.zeros(clicks.shape, dtype=np.int64),
        "features": features,
        "topics": np.zeros((*clicks.shape, 0)),
        "clicks": clicks,
        "seen": np.ones(clicks.shape),
        "targets": clicks.astype(float),
        "factors": np.ones(clicks.shape),
    }
    return Evidence(**{**given, **more})


def test_one_step_by_hand() -> None:
    # x = (2, 1) with the intercept, p = 1/2: M = I + x x^T / 4, theta = M^-1 x (1 - 1/2)
    estimator = Logistic()
    state = estimator.start(1, 2)
    estimator.update(state, slice(None), seen(np.array([[[2.0]]]), np.array([[True]])))
    M = np.eye(2) + np.array([[4.0, 2.0], [2.0, 1.0]]) / 4
    np.testing.assert_allclose(state.M[:, :, 0], M)
    np.testing.assert_allclose(state.theta[:, 0], np.linalg.solve(M, [2.0, 1.0]) / 2)


def test_in_the_long_run_it_is_the_batch_answer() -> None:
    rng = np.random.default_rng(4)
    truth = np.array([1.0, -0.5, 0.3, -1.0])
    X = rng.normal(size=(4000, 3))
    p = 1 / (1 + np.exp(-(X @ truth[:3] + truth[3])))
    y = rng.uniform(size=4000) < p
    estimator = Logistic()
    state = estimator.start(1, 4)
    for start in range(0, 4000, 5):
        some = slice(start, start + 5)
        estimator.update(state, slice(None), seen(X[some][None], y[some][None]))
    Z = np.hstack([X, np.ones((4000, 1))])

    def loss(theta: np.ndarray) -> float:
        z = Z @ theta
        return float((np.logaddexp(0, z) - y * z).sum() + theta @ theta / 2)

    best = minimize(loss, np.zeros(4)).x
    assert np.abs(state.theta[:, 0] - best).max() < 0.05
    curvature = 1 / (1 + np.exp(-(Z @ best)))
    M = np.eye(4) + (Z * (curvature * (1 - curvature))[:, None]).T @ Z
    np.testing.assert_allclose(state.M[:, :, 0], M, rtol=0.1, atol=30)
    np.testing.assert_allclose(state.M[:, :, 0] @ state.M_inv[:, :, 0], np.eye(4), atol=1e-8)


def test_a_position_seen_in_part_expects_less_of_a_click() -> None:
    x, clicks = np.array([[[1.0]]]), np.array([[False]])
    estimator, moved = Logistic(), []
    for part in (1.0, 0.5, 0.0):
        state = estimator.start(1, 2)
        estimator.update(state, slice(None), seen(x, clicks, seen=np.array([[part]])))
        moved.append(-state.theta[0, 0])
    assert moved[0] > moved[1] > moved[2] == 0.0


@pytest.mark.parametrize("part", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("clicked", [True, False])
def test_a_position_seen_in_part_takes_a_step_of_its_own_likelihood(
    part: float, clicked: bool
) -> None:
    # a click has probability s p: theta moves by M^-1 times the slope of its logarithm, and M
    # grows by the expected square of that slope
    x, odds = np.array([0.7, 1.0]), 1.2
    estimator, state = Logistic(), Logistic().start(1, 2)
    state.theta[:, 0] = before = odds * x / (x @ x)
    likely = np.array([[clicked]])
    estimator.update(state, slice(None), seen(x[None, None, :1], likely, seen=np.array([[part]])))

    def slope(y: bool) -> float:
        def log_likelihood(z: float) -> float:
            chance = part / (1 + np.exp(-z))
            return float(np.log(chance if y else 1 - chance))

        return (log_likelihood(odds + 1e-5) - log_likelihood(odds - 1e-5)) / 2e-5

    chance = part / (1 + np.exp(-odds))
    information = chance * slope(True) ** 2 + (1 - chance) * slope(False) ** 2
    M = np.eye(2) + information * np.outer(x, x)
    np.testing.assert_allclose(state.M[:, :, 0], M, rtol=1e-6)
    moved = np.linalg.solve(M, x) * slope(clicked)
    np.testing.assert_allclose(state.theta[:, 0] - before, moved, rtol=1e-6)


def test_a_weight_of_observations_counts_a_position_as_often() -> None:
    x, clicks = np.array([[[0.7]]]), np.array([[True]])
    twice = Logistic(weighs="observations")
    state = twice.start(1, 2)
    factor = np.full((1, 1), np.sqrt(2.0))
    twice.update(state, slice(None), seen(x, clicks, factors=factor, targets=factor))
    np.testing.assert_allclose(state.M[0, 0, 0], 1 + 2 * 0.25 * 0.7**2)


@pytest.mark.parametrize(
    "policy", [LogisticUCB(), LogisticTS(), LogisticUCB(weighs="observations")]
)
def test_it_learns_what_users_click(policy: LogisticUCB) -> None:
    env = small_environment(users=8, items=40, k=4)
    run = simulate(env, policy, rounds=300, seed=3)
    random = simulate(env, "random", rounds=300, seed=3).metrics["clicks"]
    assert run.metrics["clicks"] > 1.2 * random


def test_penalties_are_refused_in_one_line() -> None:
    env = small_environment()
    policy = LogisticUCB(reward=ExposureAware(gamma=0.1))
    with pytest.raises(ValueError, match=r"'logistic' cannot have a reward with penalties \(gamma"):
        simulate(env, policy, rounds=2)


def test_order_matters_so_there_are_no_sums() -> None:
    policy = Bandit(estimator="logistic")
    env = small_environment(users=1)
    state = policy.start(env.users, policy.dim_of(env.items))
    with pytest.raises(TypeError, match="does not keep what it learns as sums"):
        policy.sums(state)
    slates = np.array([[0, 1, 2]])
    with pytest.raises(TypeError, match="does not keep what it learns as sums"):
        policy.increments(feedback_on(env, slates, [[True, False, False]]))
