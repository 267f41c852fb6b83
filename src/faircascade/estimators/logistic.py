"""Logistic regression for each user, one Newton step for each position that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.estimators.base import Estimator, Evidence
from faircascade.estimators.refinement import REFINE_EVERY, refine_where_due
from faircascade.estimators.ridge import RidgeBeliefs
from faircascade.estimators.states import UserArrays
from faircascade.numerics import ordered_dot, sigmoid
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints, Items, Pool, Rows
from faircascade.weighing import Weighs, check_weighs


@dataclass(kw_only=True, eq=False)
class LogisticState(UserArrays):
    """The Laplace approximation of every user's posterior; the last axis is the user."""

    M: Floats
    """Its precision: ridge * I plus the curvature of what was seen, (d, d, n)."""
    M_inv: Floats
    """Its covariance, (d, d, n)."""
    theta: Floats
    """Its mean, (d, n); the last component is the intercept."""
    updates: Ints
    """How many times each user's feedback was learned, (n,)."""
    interval: Ints
    """Updates from one refinement of a user's inverse to the next, (n,)."""

    def __len__(self) -> int:
        return len(self.updates)


@register("logistic", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic(Estimator):
    """Attraction is 1 / (1 + exp(-(theta . x + intercept))), and beliefs are about its log-odds.

    The posterior is kept as a Gaussian and moved by one Newton step for each position seen: with
    p the attraction expected before, M grows by p (1 - p) x x^T and theta by M^-1 x (y - p). That
    is the online form of the Laplace approximation of Chapelle and Li (2011); Faury et al. (2020)
    analyse optimism with it. A position seen with probability s is clicked with probability s p;
    its score and information are then y - s p and s p (1 - p), both times (1 - p) / (1 - s p). What
    is learned depends on the order of feedback, so it is no sum, and the service cannot keep it.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"mean", "width", "sample"})
    refuses_values: ClassVar[str] = "it learns whether positions are clicked"
    without_sums: ClassVar[str] = "what it learns depends on the order of feedback, so it is no sum"
    refuses_penalties: ClassVar[str] = "the probability of a click cannot be below 0"

    ridge: float = 1.0
    """Precision of the prior, > 0."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: `targets` divides it by the largest weight and takes
    it as the click, `observations` multiplies what a position counts."""

    def __post_init__(self) -> None:
        if not (self.ridge > 0 and np.isfinite(self.ridge)):
            raise ParameterError("ridge", "must be positive", self.ridge)
        check_weighs(self.weighs)

    def kernel(self) -> Mapping[str, Any]:
        return {"logistic": True, "weighs": self.weighs, "refine_every": REFINE_EVERY}

    def dim_of(self, items: Items) -> int:
        return items.dim + 1

    def start(self, users: int, dim: int) -> LogisticState:
        identity = np.repeat(np.eye(dim)[:, :, None], users, axis=2)
        return LogisticState(
            M=identity * self.ridge,
            M_inv=identity / self.ridge,
            theta=np.zeros((dim, users)),
            updates=np.zeros(users, dtype=np.int64),
            interval=np.full(users, REFINE_EVERY),
        )

    def update(self, state: LogisticState, rows: Rows, evidence: Evidence) -> None:
        M, M_inv, theta = state.M[:, :, rows], state.M_inv[:, :, rows], state.theta[:, rows]
        n, k, _ = evidence.features.shape
        x_all = np.concatenate([evidence.features, np.ones((n, k, 1))], axis=2)
        clicked = evidence.clicks & (evidence.seen > 0)
        weights, clicks = weights_and_clicks(
            self.weighs, evidence.factors, evidence.targets, clicked, evidence.largest
        )
        counts = evidence.seen * weights
        for position in np.flatnonzero(evidence.seen.any(axis=0)).tolist():
            x, count = x_all[:, position].T, counts[:, position]  # (d, n), (n,)
            expected = sigmoid(ordered_dot(theta, x))
            share = informative_share(expected, evidence.seen[:, position])
            curvature = count * (expected * (1.0 - expected)) * share
            v = ordered_dot(M_inv, x[:, None, :])  # M^-1 x, (d, n)
            shrink = 1.0 + curvature * ordered_dot(x, v)
            less, more = v * np.sqrt(curvature / shrink), x * np.sqrt(curvature)
            M_inv -= less[:, None, :] * less[None, :, :]
            M += more[:, None, :] * more[None, :, :]
            surprise = (clicks[:, position] - count * expected) * share
            theta = theta + v * (surprise / shrink)
        updates = state.updates[rows] + 1
        state.interval[rows] = refine_where_due(M, M_inv, updates, state.interval[rows])
        state.M[:, :, rows], state.M_inv[:, :, rows], state.theta[:, rows] = M, M_inv, theta
        state.updates[rows] = updates

    def beliefs(self, state: LogisticState, rows: Rows, pool: Pool) -> RidgeBeliefs:
        return RidgeBeliefs(state.theta[:, rows], state.M_inv[:, :, rows], pool.with_intercept)

    def describe(self, state: LogisticState, row: int) -> dict[str, Any]:
        *preferences, intercept = state.theta[:, row].tolist()
        return {
            "updates": int(state.updates[row]),
            "preferences": preferences,
            "intercept": intercept,
        }


def informative_share(expected: Floats, seen: Floats) -> Floats:
    """Return (1 - p) / (1 - s p), by which positions seen with probability s teach less, (n,)."""
    share, partly = np.ones_like(expected), seen < 1.0
    p = expected[partly]
    share[partly] = (1.0 - p) / (1.0 - seen[partly] * p)
    return share


def weights_and_clicks(
    weighs: Weighs, factors: Floats, targets: Floats, clicked: Bools, largest: float
) -> tuple[Floats, Floats]:
    """Return how much positions count where they are seen in full, and as how much of a click."""
    if weighs == "targets":
        return factors, targets / largest
    weights = factors * factors
    return weights, clicked * weights
