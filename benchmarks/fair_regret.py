"""Fairness regret of FairX and of LinUCB, slates of one item: how it grows with the rounds.

    python benchmarks/fair_regret.py [--rounds 20000] [--users 8]

Fairness regret is the sum over rounds of sum_a |p*(a) - p_t(a)|, with p* in proportion to
exp(sharpness * attraction) and p_t what the policy draws by: Wang et al., ICML 2021.
"""

from __future__ import annotations

import argparse

import numpy as np

import faircascade as fc
from faircascade.policies.composed import ComposedPolicy
from faircascade.rerankers import MeritDraws
from faircascade.types import Feedback

SHARPNESS = 4.0


def world(users: int, arms: int = 10, dim: int = 3, seed: int = 0) -> fc.Environment:
    """Return arms that attract users with probabilities from about 0.1 to 0.9."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 1.0, size=(arms, dim))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = rng.uniform(0.0, 1.0, size=(users, dim))
    theta *= 0.9 / (theta @ x.T).max(axis=1, keepdims=True)
    return fc.Environment.from_arrays(x, theta, k=1)


def fairness_regret(
    policy: ComposedPolicy, env: fc.Environment, rounds: int, seed: int = 1
) -> np.ndarray:
    """Return the mean fairness regret of users after each round, (rounds,)."""
    every, pool = slice(None), env.items.pool
    target = shares(env.preferences @ env.items.features.T)
    state = policy.start(env.users, env.items.dim)
    drawn = isinstance(policy.parts.reranker, MeritDraws)
    regret = np.empty(rounds)
    for t in range(1, rounds + 1):
        scores = policy.scores(state, every, pool, 1, round=t, seed=seed).all()
        slates = policy.recommend(state, every, pool, 1, round=t, seed=seed).items
        given = shares(scores) if drawn else np.eye(len(env.items))[slates[:, 0]]
        regret[t - 1] = np.abs(given - target).sum(axis=1).mean()
        clicks = env.respond(slates, round=t, seed=seed).clicks
        policy.update(state, every, Feedback.of(env.items, slates, clicks))
    return regret.cumsum()


def shares(scores: np.ndarray) -> np.ndarray:
    """Return exp(sharpness * score) over its sum."""
    merit = np.exp(SHARPNESS * (scores - scores.max(axis=1, keepdims=True)))
    return merit / merit.sum(axis=1, keepdims=True)


def slope(regret: np.ndarray, first: float = 0.1) -> float:
    """Return the slope of log regret over log rounds, from a share of the rounds on."""
    t = np.unique(np.geomspace(max(1, int(first * len(regret))), len(regret), 50).astype(int))
    return float(np.polyfit(np.log(t), np.log(regret[t - 1]), 1)[0])


POLICIES: dict[str, ComposedPolicy] = {
    "fairx-linucb": fc.FairXLinUCB(alpha=1.0, sharpness=SHARPNESS),
    "fairx-ts": fc.FairXTS(scale=0.5, sharpness=SHARPNESS),
    "linucb": fc.LinUCB(alpha=1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--users", type=int, default=8)
    asked = parser.parse_args()
    env = world(asked.users)
    for name, policy in POLICIES.items():
        regret = fairness_regret(policy, env, asked.rounds)
        print(f"{name}: {regret[-1]:,.0f} after {asked.rounds:,} rounds, slope {slope(regret):.2f}")


if __name__ == "__main__":
    main()
