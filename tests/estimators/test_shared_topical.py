"""The hybrid model: one ridge regression of all users, solved by elimination."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.estimators.topical import topical_gains
from faircascade.policies import Bandit, CascadeHybrid, Policy
from faircascade.ranker import Ranker
from faircascade.service.bootstrap import why_not_served
from faircascade.types import Floats
from tests.environments import small_environment
from tests.evidence import feedback_on

USERS, ITEMS, K = 5, 25, 4


def world() -> Environment:
    return small_environment(users=USERS, items=ITEMS, k=K)


def dense_rows(env: Environment, user: int, slate: Floats) -> Floats:
    """Return rows of the joint regression: a block of features for each user, then the gains."""
    d, t = env.items.dim, env.items.topics.shape[1]
    rows = np.zeros((len(slate), USERS * d + t))
    rows[:, user * d : (user + 1) * d] = env.items.features[slate]
    rows[:, USERS * d :] = topical_gains(env.items.topics[slate][None])[0]
    return rows


class Joint:
    """The same regression with one large matrix."""

    def __init__(self, env: Environment, policy: Any) -> None:
        size = USERS * env.items.dim + env.items.topics.shape[1]
        one = policy.parts.estimator._one()
        self.env, self.gain, self.scale = env, one.gain, one.scale
        self.M, self.b = one.ridge * np.eye(size), np.zeros(size)

    def learn(self, user: int, slate: Floats, seen: Floats, targets: Floats) -> None:
        x = dense_rows(self.env, user, slate) * seen[:, None]
        self.M += self.gain * x.T @ x
        self.b += targets @ x

    @property
    def solution(self) -> Floats:
        return self.scale * np.linalg.solve(self.M, self.b)

    def width(self, user: int, slate: Floats) -> Floats:
        x = dense_rows(self.env, user, slate)
        return np.sqrt(np.einsum("ka,ab,kb->k", x, np.linalg.inv(self.M), x))


def taught(policy: Policy, env: Environment, rounds: int = 30) -> tuple[Any, Joint]:
    """Return the state and the joint regression after random slates; some users miss some."""
    state, joint = policy.start(env.users, policy.dim_of(env.items)), Joint(env, policy)
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        there = np.flatnonzero(rng.random(USERS - 1) < 0.7)  # the last never comes
        slates = np.stack([rng.permutation(ITEMS)[:K] for _user in there]).reshape(-1, K)
        clicks = rng.random(slates.shape) < 0.3
        feedback = feedback_on(env, slates, clicks)
        policy.update(state, there, feedback)
        evidence = policy._evidence(feedback)
        for place, user in enumerate(there.tolist()):
            seen = evidence.seen[place] * evidence.factors[place]
            joint.learn(user, slates[place], seen, evidence.targets[place])
    return state, joint


POLICIES = [
    CascadeHybrid(scope="shared"),
    CascadeHybrid(scope="shared", ridge=0.3, sigma=0.7, observation="all"),
    CascadeHybrid(scope="shared", reading="reference", sigma=0.5),
    CascadeHybrid(scope="shared", reward="exposure-aware", weighs="observations"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_elimination_gives_the_joint_least_squares_solution(policy: CascadeHybrid) -> None:
    env = world()
    d = env.items.dim
    state, joint = taught(policy, env)
    theta, _ = policy.parts.estimator._solved(state.learned, d, np.arange(USERS))
    expected = joint.solution
    np.testing.assert_allclose(theta[d:], np.tile(expected[USERS * d :], (USERS, 1)).T, atol=1e-8)
    for user in range(USERS - 1):
        own = expected[user * d : (user + 1) * d]
        np.testing.assert_allclose(theta[:d, user], own, atol=1e-8)
    np.testing.assert_allclose(theta[:d, -1], policy.parts.estimator._one().first_theta)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_widths_are_those_of_the_joint_regression(policy: CascadeHybrid) -> None:
    """s_{t,a} of Li et al. (2010), Algorithm 2, line 12."""
    env = world()
    state, joint = taught(policy, env)
    slates = np.stack([np.random.default_rng(u).permutation(ITEMS)[:K] for u in range(USERS)])
    beliefs = policy.parts.estimator.beliefs(state.learned, slice(None), env.items.pool)
    found = beliefs.widths_of(slates, env.items.pool)
    expected = [joint.width(user, slate) for user, slate in enumerate(slates)]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_user_alone_has_the_personal_model() -> None:
    env = world().take([0])
    runs = [simulate(env, CascadeHybrid(scope=s), rounds=60, seed=1) for s in ("user", "shared")]
    personal, shared = (run.tally.appearances for run in runs)
    assert np.array_equal(personal, shared)


def test_users_learn_topics_from_each_other_and_features_alone() -> None:
    env = world()
    policy = CascadeHybrid(scope="shared")
    d = env.items.dim
    state = policy.start(env.users, policy.dim_of(env.items))
    slates = np.arange(K)[None]
    policy.update(state, np.array([0]), feedback_on(env, slates, np.ones((1, K), dtype=bool)))
    theta, M_inv = policy.parts.estimator._solved(state.learned, d, np.arange(USERS))
    assert (theta[d:] == theta[d:, :1]).all()
    assert theta[d:].any()
    assert not theta[:d, 1:].any()
    assert np.array_equal(M_inv[:d, :d, 1], np.eye(d))


def test_some_of_the_users_know_what_all_of_them_did() -> None:
    env = world()
    policy = CascadeHybrid(scope="shared")
    state, _ = taught(policy, env)
    pool = env.items.pool
    whole = policy.recommend(state, slice(None), pool, K, round=31, seed=1)
    some = policy.recommend(
        policy.take(state, np.array([3, 1])), slice(None), pool, K, round=31, seed=1
    )
    assert np.array_equal(some.items, whole.items[[3, 1]])


def test_who_serves_users_apart_refuses_it_in_one_line() -> None:
    env, policy = world(), CascadeHybrid(scope="shared")
    assert simulate(env, policy, rounds=3).engine == "loop"
    with pytest.raises(ValueError, match=r"engine 'cpu' does not support .*; use engine 'loop'"):
        simulate(env, policy, rounds=3, engine="cpu")
    with pytest.raises(ParameterError, match="must keep its users apart"):
        Ranker(policy, items=env.items)
    assert "its users learn from each other" in why_not_served(policy)
    with pytest.raises(ParameterError, match="scope must be one of user, shared, got 'personal'"):
        replace(policy, scope="personal")
    bare = replace(env, items=replace(env.items, topics=np.zeros((ITEMS, 0))))
    with pytest.raises(ValueError, match="needs items with topics"):
        simulate(bare, Bandit(estimator="shared-topical"), rounds=3)
