"""Where the weights of positions enter a regression: targets, as in the paper, or observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import faircascade as fc
from faircascade import testing
from faircascade.errors import ParameterError
from faircascade.estimators import Ridge
from faircascade.observations import Examination
from faircascade.policies import Bandit, EALinUCB, LinUCB
from faircascade.rewards import Custom, ExposureAware, RewardTable
from faircascade.types import Feedback, Users
from tests.environments import small_environment
from tests.evidence import feedback_on

KAPPA, F = (1.0, 0.6, 0.3), (2.0, 0.5, 3.0)
EVERY = slice(None)


def learned(policy: fc.Bandit, rounds: int = 20, seed: int = 0) -> tuple[Any, list[Any]]:
    """Return the sums of one user after random slates, and these."""
    env, rng = small_environment(users=1, items=12, k=3), np.random.default_rng(seed)
    state, shown = policy.start(env.users, env.items.dim), []
    for _ in range(rounds):
        slates, clicks = rng.permutation(12)[None, :3], rng.random((1, 3)) < 0.4
        policy.update(state, EVERY, feedback_on(env, slates, clicks))
        shown.append((env.items.features[slates[0]], clicks[0]))
    return state.learned, shown


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_weighing_observations_is_weighted_least_squares(gamma: float) -> None:
    policy = Bandit(
        estimator=Ridge(ridge=0.5, weighs="observations"),
        reward=ExposureAware(weight=Custom(weights=F), gamma=gamma),
        observation=Examination(kappa=KAPPA),
    )
    state, shown = learned(policy)
    M, B = 0.5 * np.eye(len(state.B)), np.zeros(len(state.B))
    for features, clicks in shown:
        for position, (x, clicked) in enumerate(zip(features, clicks, strict=True)):
            # a click earns F_k; an ignored one loses gamma F_(K + 1 - k), or weighs as a click does
            weight = F[position] if clicked or gamma == 0 else F[::-1][position]
            y = 1.0 if clicked else -gamma
            row = KAPPA[position] * x
            M += weight * np.outer(row, row)
            B += weight * y * row
    assert np.allclose(state.M[:, :, 0], M)
    assert np.allclose(state.theta[:, 0], np.linalg.solve(M, B))


def test_weighing_targets_is_what_the_paper_does() -> None:
    policy = Bandit(reward=ExposureAware(weight=Custom(weights=F)), observation="all")
    state, shown = learned(policy)
    X = np.concatenate([features for features, _ in shown])
    y = np.concatenate([np.where(clicks, F, 0.0) for _, clicks in shown])
    assert np.allclose(state.M[:, :, 0], np.eye(X.shape[1]) + X.T @ X)
    assert np.allclose(state.B[:, 0], X.T @ y)


def test_equal_weights_are_no_weights() -> None:
    env = small_environment(users=4)
    runs = [
        fc.simulate(env, Bandit(estimator=Ridge(weighs=weighs)), rounds=50, seed=1)
        for weighs in ("targets", "observations")
    ]
    assert runs[0].metrics == pytest.approx(runs[1].metrics, nan_ok=True)
    assert np.array_equal(runs[0].state.learned.theta, runs[1].state.learned.theta)


def test_weighing_observations_does_not_distort_what_is_learned() -> None:
    # clicks are drawn with probability x . theta*, whatever the position
    rng = np.random.default_rng(4)
    theta, found = np.array([0.6, 0.2]), {}
    X = rng.uniform(0.2, 0.9, size=(20_000, 3, 2))
    feedback = Feedback(
        items=np.tile(np.arange(3), (20_000, 1)),
        features=X,
        topics=np.zeros((20_000, 3, 0)),
        clicks=rng.random((20_000, 3)) < X @ theta,
        shown=np.full(20_000, 3),
    )
    for weighs in ("targets", "observations"):
        policy = EALinUCB(weight=F, weighs=weighs, observation="all")
        sums = policy.increments(feedback).sum(axis=0, keepdims=True)
        found[weighs] = policy.from_sums(Users(ids=np.arange(1)), sums, 2).learned.theta[:, 0]
    assert np.abs(found["observations"] - theta).max() < 0.05
    assert np.abs(found["targets"] - theta).max() > 0.3


@pytest.mark.parametrize("observation", ["first-click", "last-click", "all", "examination"])
@pytest.mark.parametrize("weighs", ["targets", "observations"])
def test_policies_keep_their_contract_however_they_see_and_weigh(
    observation: str, weighs: str
) -> None:
    # sums and increments, which the service needs, among others
    testing.check_policy(EALinUCB(gamma=0.1, observation=observation, weighs=weighs))


def test_a_ranker_learns_what_the_policy_does() -> None:
    policy = EALinUCB(gamma=0.1, weighs="observations", observation="examination")
    ranker = fc.Ranker(policy, items=np.random.default_rng(0).uniform(size=(8, 3)))
    slate = ranker.recommend("somebody", k=3)
    ranker.update(slate, clicked=[1, 3])
    table, clicks = policy.regression_table(3), np.array([True, False, True])
    factors = np.where(clicks, table.clicked_factors, table.ignored_factors)[2]
    x = slate.features * (factors / np.arange(1.0, 4.0))[:, None]
    targets = np.where(clicks, table.clicked[2], table.ignored[2])
    sums, _ = ranker.sums()
    assert np.allclose(sums[0, 1:4], targets @ x)
    assert np.allclose(sums[0, 4:], (x.T @ x)[np.triu_indices(3)])


def test_what_cannot_be_a_weight_is_refused() -> None:
    with pytest.raises(ParameterError, match="weighs must be one of targets, observations"):
        Ridge(weighs="rows")
    table = RewardTable(clicked=-np.ones((2, 2)), ignored=np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="weighs must be 'targets' for rewards below 0"):
        table.regression("observations")


def test_the_theorem_is_about_weighed_targets() -> None:
    assert fc.theory.check(LinUCB(), dim=3, k=3, rounds=10)
    with pytest.raises(ParameterError, match="must weigh targets"):
        fc.theory.check(EALinUCB(weighs="observations"), dim=3, k=3, rounds=10)
