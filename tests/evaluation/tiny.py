"""A case small enough to list: every slate of 4 items at 2 positions, every pattern of clicks."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from faircascade.evaluation.estimators import (
    Chances,
    EvaluatedSlates,
    PolicySlates,
    SlateEstimator,
    Terms,
)

ITEMS, K = 4, 2
SLATES = np.array(list(permutations(range(ITEMS), K)))  # (12, 2)
PATTERNS = np.array(list(product([0.0, 1.0], repeat=K)))  # (4, 2)
ATTRACTION = np.array([0.7, 0.4, 0.2, 0.1])
KAPPA = np.array([0.9, 0.5])


def choices(scores: np.ndarray, slates: np.ndarray = SLATES) -> np.ndarray:
    """Probability of each item given those above it: drawn by strength without replacement."""
    strength = np.exp(scores)
    listed = strength[slates]
    return listed / (strength.sum() - (np.cumsum(listed, axis=1) - listed))


def chances(scores: np.ndarray) -> Chances:
    """Chances of all slates under a policy."""
    cascade = np.cumprod(choices(scores), axis=1)
    whole = cascade[:, -1]
    alone = np.array(
        [[whole[SLATES[:, k] == slate[k]].sum() for k in range(K)] for slate in SLATES]
    )
    return Chances(slate=whole, cascade=cascade, item_position=alone)


def pbm(slate: np.ndarray, pattern: np.ndarray) -> float:
    p = KAPPA * ATTRACTION[slate]
    return float(np.prod(np.where(pattern == 1, p, 1 - p)))


def cascade(slate: np.ndarray, pattern: np.ndarray) -> float:
    first, second = ATTRACTION[slate]
    if pattern[0] == 1:
        return first if pattern[1] == 0 else 0.0
    return (1 - first) * (second if pattern[1] == 1 else 1 - second)


def dcm(slate: np.ndarray, pattern: np.ndarray) -> float:
    """Goes on after a click with probability 0.6."""
    first, second = ATTRACTION[slate]
    go_on = 0.6 if pattern[0] == 1 else 1.0
    click = first if pattern[0] == 1 else 1 - first
    return click * (go_on * second if pattern[1] == 1 else 1 - go_on * second)


def whole_slate(slate: np.ndarray, pattern: np.ndarray) -> float:
    """Every click depends on both items: an attractive one below takes clicks from the top."""
    first, second = ATTRACTION[slate]
    p = np.array([first * (1 - second / 2), second * (1 - first / 2)])
    return float(np.prod(np.where(pattern == 1, p, 1 - p)))


def true_value(model, scores: np.ndarray) -> float:
    """Expected clicks of a policy, over all slates and patterns."""
    whole = chances(scores).slate
    assert whole is not None
    each = [sum(model(s, p) * p.sum() for p in PATTERNS) for s in SLATES]
    return float(whole @ np.array(each))


def expectation(
    estimator: SlateEstimator,
    model,
    logging: np.ndarray,
    other: np.ndarray,
    q: np.ndarray | None = None,
    behaviour: int | None = None,
    **policy,
) -> float:
    """Expected value of an estimate from one impression, over all slates and patterns."""
    shown = chances(logging).slate
    assert shown is not None
    total = 0.0
    for pattern in PATTERNS:
        slates = EvaluatedSlates(
            rewards=np.tile(pattern, (len(SLATES), 1)),
            known=np.ones(SLATES.shape, dtype=bool),
            logging=chances(logging),
            policy=PolicySlates(chances=chances(other), **next_values(other, q), **policy),
            behaviour=None if behaviour is None else np.full(len(SLATES), behaviour),
        )
        terms = estimator.terms(slates)
        assert isinstance(terms, Terms)
        likely = np.array([model(slate, pattern) for slate in SLATES])
        total += float((shown * likely) @ terms.values.sum(axis=1))
    return total


def next_values(scores: np.ndarray, q: np.ndarray | None) -> dict[str, np.ndarray]:
    """What Cascade-DR needs of values q (items, positions), by listing next items."""
    if q is None:
        return {}
    first = np.exp(scores) / np.exp(scores).sum()
    found = np.empty(SLATES.shape)
    found[:, 0] = first @ q[:, 0]
    for row, (top, _) in enumerate(SLATES):
        below = [item for item in range(ITEMS) if item != top]
        pairs = np.array([[top, item] for item in below])
        found[row, 1] = first[top] * (choices(scores, pairs)[:, 1] @ q[below, 1])
    return {"next_values": found, "logged_values": q[SLATES, np.arange(K)]}
