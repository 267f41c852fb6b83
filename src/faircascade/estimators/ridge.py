"""Ridge regression for each user, kept up to date by rank-one updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.estimators.base import Beliefs, Estimator, Evidence
from faircascade.estimators.fair_optimum import fair_optimum
from faircascade.estimators.refinement import REFINE_EVERY, refine_where_due
from faircascade.estimators.single_precision import (
    mean_in_single,
    width_in_single,
    widths_in_single,
)
from faircascade.estimators.states import UserArrays
from faircascade.numerics import (
    LARGEST_RESIDUAL,
    ROUNDOFF,
    cholesky,
    mean_error,
    ordered_dot,
    quadratic_form,
)
from faircascade.random import Words, normals
from faircascade.ranking import Scores
from faircascade.readings import Reading, check_reading
from faircascade.registry import register
from faircascade.types import Floats, Ints, Pool, Rows, Singles
from faircascade.weighing import Weighs, check_weighs

LARGEST_CONDITION = 3e7
"""Of M, up to which float64 holds its inverse for sure."""
SMALLEST_NORM = 1e-6
"""Of the longest feature row, below which ties are many."""
_MANY_USERS = 8
"""From here on one large product for all users is faster than one for each."""


@dataclass(kw_only=True, eq=False)
class RidgeState(UserArrays):
    """Sums of all users.

    M and B are sums over feedback, so the order in which feedback arrives does not matter.
    """

    M: Floats
    """ridge * I + gain * sum of x x^T, (d, d, n)."""
    M_inv: Floats
    """Its inverse, (d, d, n)."""
    B: Floats
    """Sum of weight * x, (d, n)."""
    theta: Floats
    """Estimated preferences, (d, n)."""
    updates: Ints
    """How many times each user's feedback was learned, (n,)."""
    interval: Ints
    """Updates from one refinement of a user's inverse to the next: a power of two, (n,)."""

    def __len__(self) -> int:
        return len(self.updates)


@register("ridge", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge(Estimator):
    """theta = scale * M^-1 B with M = ridge * I + gain * sum x x^T, B = sum weight * x.

    Algorithm 1 has gain = scale = sigma^-2 and starts at theta = 0. The authors' package (the
    `reference` reading) has gain = sigma, scale = 1 and theta = 1 until a user's first update.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"mean", "width", "sample", "fair_optimum"})
    studied: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True

    ridge: float = 1.0
    """Regularisation lambda, > 0."""
    sigma: float = 1.0
    """Learning rate sigma, > 0."""
    reading: Reading = "intended"
    """Whose scaling and start: `paper` and `intended` follow Algorithm 1."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: B alone, as in the paper (`targets`), or M and B, as
    in weighted least squares (`observations`), where it does not distort theta."""

    def __post_init__(self) -> None:
        if not (self.ridge > 0 and np.isfinite(self.ridge)):
            raise ParameterError("ridge", "must be positive", self.ridge)
        if not (self.sigma > 0 and np.isfinite(self.sigma)):
            raise ParameterError("sigma", "must be positive", self.sigma)
        check_reading(self.reading)
        check_weighs(self.weighs)

    @property
    def gain(self) -> float:
        """Weight of x x^T in M."""
        return self.sigma if self.reading == "reference" else self.sigma**-2

    @property
    def scale(self) -> float:
        """Factor of M^-1 B in theta."""
        return 1.0 if self.reading == "reference" else self.sigma**-2

    @property
    def first_theta(self) -> float:
        """Every component of theta before a user's first update."""
        return 1.0 if self.reading == "reference" else 0.0

    def start(self, users: int, dim: int) -> RidgeState:
        """Return the state of `users` users without feedback."""
        identity = np.repeat(np.eye(dim)[:, :, None], users, axis=2)
        return RidgeState(
            M=identity * self.ridge,
            M_inv=identity / self.ridge,
            B=np.zeros((dim, users)),
            theta=np.full((dim, users), self.first_theta),
            updates=np.zeros(users, dtype=np.int64),
            interval=np.full(users, REFINE_EVERY),
        )

    def kernel(self) -> Mapping[str, Any]:
        return {
            "gain": float(self.gain),
            "scale": float(self.scale),
            "first_theta": float(self.first_theta),
            "refine_every": REFINE_EVERY,
        }

    def scale_warning(self, norm: float, rows: float) -> str:
        """Return what is wrong with the scale of features, if anything.

        `norm` is the largest one, and `rows` are learned of a user. The condition of M is at most
        1 + gain / ridge * rows * norm^2. Runs in few directions were refused near 5e7.
        """
        condition = self.gain / self.ridge * rows * (norm * norm)
        if condition > LARGEST_CONDITION:
            return (
                f"the largest feature norm is {norm:.3g}, so that M may reach a condition of "
                f"{condition:.1g}, and the run ends where M^-1 is off by more than "
                f"{LARGEST_RESIDUAL:g}; scale the features to norm 1, or raise ridge or sigma"
            )
        if 0 < norm < SMALLEST_NORM:
            return (
                f"the largest feature norm is {norm:.3g}, so that scores hardly differ by more "
                "than the resolution of ties, 2^-32; scale the features to norm 1"
            )
        return ""

    def update(self, state: RidgeState, rows: Rows, evidence: Evidence) -> None:
        """Learn slates; a position that was seen in part counts as the row seen * x."""
        scale = evidence.seen * evidence.factors  # (n, K)
        M, M_inv, B = state.M[:, :, rows], state.M_inv[:, :, rows], state.B[:, rows]
        anywhere = np.flatnonzero(evidence.seen.any(axis=0))  # positions that somebody saw
        for position in anywhere.tolist():
            x = evidence.features[:, position].T * scale[:, position]  # (d, n); 0 changes nothing
            v = ordered_dot(M_inv, x[:, None, :])  # M^-1 x, (d, n)
            v *= 1.0 / np.sqrt(1.0 / self.gain + ordered_dot(x, v))
            M_inv -= v[:, None, :] * v[None, :, :]
            M += self.gain * (x[:, None, :] * x[None, :, :])
            B += evidence.targets[:, position] * x
        updates = state.updates[rows] + 1
        state.interval[rows] = refine_where_due(M, M_inv, updates, state.interval[rows])
        state.M[:, :, rows], state.M_inv[:, :, rows], state.B[:, rows] = M, M_inv, B
        state.theta[:, rows] = self.scale * ordered_dot(M_inv, B[:, None, :])
        state.updates[rows] = updates

    def sums(self, state: RidgeState) -> Floats:
        """Return what was learned as plain sums over feedback, (n, 1 + d + d (d + 1) / 2).

        One row a user: the number of updates, B, and the upper triangle of the sum of x x^T.
        Neither ridge nor sigma has a part in them.
        """
        d = len(state.B)
        a, b = _upper(d)
        S = (state.M - self.ridge * np.eye(d)[:, :, None]) / self.gain
        return np.concatenate([state.updates[None], state.B, S[a, b]]).T

    def increments(self, evidence: Evidence) -> Floats:
        x = evidence.features * (evidence.seen * evidence.factors)[:, :, None]  # (n, K, d)
        B = (evidence.targets[:, None, :] @ x)[:, 0]  # (n, d)
        a, b = _upper(x.shape[2])
        S = (x.transpose(0, 2, 1) @ x)[:, a, b]
        return np.concatenate([np.ones((len(x), 1)), B, S], axis=1)

    def from_sums(self, sums: Floats, dim: int) -> RidgeState:
        """Return the state that sums (n, s) make, the inverse computed afresh."""
        n = len(sums)
        a, b = _upper(dim)
        M = np.empty((n, dim, dim))
        M[:, a, b] = M[:, b, a] = self.gain * sums[:, 1 + dim :]
        M[:, np.arange(dim), np.arange(dim)] += self.ridge
        M_inv = _inverse(M)
        B, updates = sums[:, 1 : 1 + dim], np.rint(sums[:, 0]).astype(np.int64)
        theta = np.where(
            updates[:, None] > 0, self.scale * (M_inv @ B[:, :, None])[:, :, 0], self.first_theta
        )
        return RidgeState(
            M=np.ascontiguousarray(M.transpose(1, 2, 0)),
            M_inv=np.ascontiguousarray(M_inv.transpose(1, 2, 0)),
            B=np.ascontiguousarray(B.T),
            theta=np.ascontiguousarray(theta.T),
            updates=updates,
            interval=np.full(n, REFINE_EVERY),
        )

    def beliefs(self, state: RidgeState, rows: Rows, pool: Pool) -> RidgeBeliefs:
        return RidgeBeliefs(state.theta[:, rows], state.M_inv[:, :, rows], pool)

    def describe(self, state: RidgeState, row: int) -> dict[str, Any]:
        return {
            "updates": int(state.updates[row]),
            "preferences": state.theta[:, row].tolist(),
        }


class RidgeBeliefs(Beliefs):
    """theta . x, sqrt(x^T M^-1 x), and draws of theta."""

    def __init__(self, theta: Floats, M_inv: Floats, pool: Pool) -> None:
        """Take theta (d, n) and M^-1 (d, d, n) of some users."""
        self._theta = theta
        self._M_inv = M_inv
        self._pool = pool

    def mean(self) -> Scores:
        return self._products(self._theta)

    def _products(self, theta: Floats) -> Scores:
        x, radius = self._pool.by_feature, self._pool.radius

        def exact(rows: Rows, columns: Rows) -> Floats:
            return ordered_dot(theta[:, self._whose(rows)], x[:, columns])

        error = mean_error(theta, radius)
        if self._pool.single:
            rough, more = mean_in_single(theta, self._pool.single_by_feature, radius)
            return Scores(rough, error + more, exact)
        return Scores(np.asarray(theta.T @ x), error, exact)

    def _whose(self, rows: Rows) -> Rows:
        return slice(None) if self._theta.shape[1] == 1 else rows  # one user's need no copies

    def width(self) -> Scores:
        M_inv, pool = self._M_inv, self._pool
        d, n = self._theta.shape
        diagonal = M_inv[np.arange(d), np.arange(d)]  # (d, n)
        is_diagonal = np.count_nonzero(M_inv) == np.count_nonzero(diagonal)

        def exact(rows: Rows, columns: Rows) -> Floats:
            x, whose = pool.by_feature[:, columns], self._whose(rows)  # (d, pairs)
            if is_diagonal:  # before the first feedback: leaving out zeros gives the same bits
                return _root(ordered_dot(x, diagonal[:, whose] * x))
            return width_of(M_inv[:, :, whose], x)

        error = width_error(M_inv, pool.radius)
        if pool.single and (found := self._width_in_single()) is not None:
            return Scores(found[0], error + found[1], exact)
        if n < _MANY_USERS:
            X = pool.by_feature
            squares = np.stack(
                [np.einsum("ap,ap->p", M_inv[:, :, user] @ X, X) for user in range(n)]
            )
        else:
            a, b = _upper(d)
            packed = M_inv[a, b] * np.where(a == b, 1.0, 2.0)[:, None]  # (pairs, n)
            squares = packed.T @ pool.pairs
        return Scores(_root(squares), error, exact)

    def _width_in_single(self) -> tuple[Singles, Floats] | None:
        """Return widths in single precision and their errors, those of few users more exactly."""
        x, radius = self._pool.single_by_feature, self._pool.radius
        n = self._M_inv.shape[2]
        if n >= _MANY_USERS:
            return widths_in_single(self._M_inv, x, radius)
        parts = [width_in_single(self._M_inv[:, :, u : u + 1], x, radius) for u in range(n)]
        known = [part for part in parts if part is not None]
        if len(known) < n:
            return None
        rough, error = zip(*known, strict=True)
        return (rough[0] if n == 1 else np.concatenate(rough)), np.concatenate(error)

    def sample(self, scale: float, *, seed: int, users: Words, round: int | Ints) -> Scores:
        """Score with theta ~ N(theta_hat, scale^2 M^-1), one draw for a user and round."""
        return self._products(draw_theta(self._theta, self._M_inv, scale, seed, users, round))

    def fair_optimum(self, sharpness: float, radius: float) -> Scores:
        return self._products(
            fair_optimum(self._theta, self._M_inv, self._pool.by_feature, sharpness, radius)
        )

    def widths_of(self, slates: Ints, pool: Pool) -> Floats:
        return width_of(self._M_inv[:, :, :, None], self._pool.items.by_feature[:, slates])


def draw_theta(
    theta: Floats, M_inv: Floats, scale: float, seed: int, users: Words, round: int | Ints
) -> Floats:
    """Return a draw from N(theta, scale^2 M^-1) for each user, (d, n)."""
    L = cholesky(M_inv)
    rounds = np.broadcast_to(np.asarray(round), users.shape)
    z = normals(seed, "thompson", len(L), users, rounds)  # (n, d)
    return theta + scale * ordered_dot(L.transpose(1, 0, 2), z.T[:, None])


def width_of(M_inv: Floats, x: Floats) -> Floats:
    """Return sqrt(x^T M^-1 x) for M^-1 (d, d, ...) and x (d, ...), the same in every engine."""
    return _root(quadratic_form(M_inv, x))


def _root(squares: Floats) -> Floats:
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


def width_error(M_inv: Floats, radius: float) -> Floats:
    """Bound the rounding of sqrt(x^T M^-1 x) for |x| <= radius and M^-1 (d, d, n), (n,).

    In any order the square is off by at most (d + 2)^2 roundoffs of |x|^T |M^-1| |x|, which the
    Frobenius norm bounds; and sqrt(q + e) <= sqrt(q) + sqrt(e).
    """
    norm: Floats = np.sqrt((M_inv * M_inv).sum(axis=(0, 1)))
    error = (len(M_inv) + 2) ** 2 * ROUNDOFF
    return (math.sqrt(error) + error) * radius * np.sqrt(norm)


@lru_cache(maxsize=64)
def _upper(d: int) -> tuple[Ints, Ints]:
    """Return the rows and columns of the upper half of a matrix, row by row."""
    return np.triu_indices(d)


def _inverse(M: Floats) -> Floats:
    """Invert symmetric matrices (n, d, d), also those that rounding has made singular."""
    try:
        inverse = np.linalg.inv(M)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(M, hermitian=True)
    return np.asarray(0.5 * (inverse + inverse.transpose(0, 2, 1)))
