"""Slow, obvious versions of what the library does fast: loops, dense inverses, no batching."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from faircascade.environment import Environment
from faircascade.random import draws, key_of, uniforms
from faircascade.rewards import RewardModel


class Step(NamedTuple):
    user: int
    items: list[int]
    clicked: int


def linear_ucb(
    env: Environment,
    *,
    alpha: float,
    reward: RewardModel,
    rounds: int,
    seed: int,
    ridge: float = 1.0,
    gain: float = 1.0,
    scale: float = 1.0,
    first_theta: float = 0.0,
) -> list[Step]:
    """Algorithm 1 for one user after the other, with M inverted anew in every round."""
    X = env.items.features
    d = X.shape[1]
    table = reward.table(env.k)
    steps = []
    for user in range(len(env.users)):
        M, B, theta = ridge * np.eye(d), np.zeros(d), np.full(d, first_theta)
        for t in range(1, rounds + 1):
            M_inv = np.linalg.inv(M)
            scores = {}
            for i in np.flatnonzero(env.items.eligible).tolist():
                width = np.sqrt(X[i] @ M_inv @ X[i])
                scores[i] = round(float(theta @ X[i] + alpha * width) * 2**32)
            ties = {i: tie(seed, env, user, t, i) for i in scores}
            items = sorted(scores, key=lambda i: (-scores[i], ties[i]))[: env.k]
            clicked = first_click(env, user, items, t, seed)
            examined = clicked or env.k
            for position in range(1, examined + 1):
                x = X[items[position - 1]]
                M = M + gain * np.outer(x, x)
                if position == clicked:
                    B = B + table.clicked[examined - 1, position - 1] * x
                else:
                    B = B + table.ignored[examined - 1, position - 1] * x
            theta = scale * np.linalg.inv(M) @ B
            steps.append(Step(user, items, clicked))
    return steps


def tie(seed: int, env: Environment, user: int, t: int, item: int) -> int:
    keys = [key_of(env.users.ids[user])], [t], [key_of(env.items.ids[item])]
    return int(draws(seed, "tie", *keys)[0])


def first_click(env: Environment, user: int, items: list[int], t: int, seed: int) -> int:
    """Scan from the top; return the 1-based position of the first attractive item, or 0."""
    theta = env.preferences[user]
    for position, item in enumerate(items, start=1):
        w = min(max(float(env.items.features[item] @ theta), 0.0), 1.0)
        keys = [key_of(env.users.ids[user])], [t], [key_of(env.items.ids[item])]
        if float(uniforms(seed, "attraction", *keys)[0]) < w:
            return position
    return 0


def gini(values: Any) -> Fraction:
    """The Gini index as the mean absolute difference of all pairs over twice the mean, exactly."""
    exact = [Fraction(float(v)) for v in values]
    m, total = len(exact), sum(exact)
    pairs = sum(abs(a - b) for a in exact for b in exact)
    return pairs / (2 * m * total)
