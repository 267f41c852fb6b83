"""The hybrid model: every user's own weights of features, and weights of topics that all share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.estimators.base import Evidence
from faircascade.estimators.shared_ridge import SharedEstimator
from faircascade.estimators.states import ArrayState
from faircascade.estimators.topical import Topical, TopicalBeliefs
from faircascade.numerics import inverse, ordered_dot, ordered_sum
from faircascade.registry import register
from faircascade.types import Floats, Ints, Items, Pool, Rows


@dataclass(kw_only=True, eq=False)
class SharedTopicalState(ArrayState):
    """Sums over rows x of all users: features, then gains. The last axis is the user."""

    S: Floats
    """gain * sum of x x^T, (d + t, d + t, n)."""
    B: Floats
    """Sum of weight * x, (d + t, n)."""
    updates: Ints
    """How many times each user's feedback was learned, (n,)."""
    column: Ints
    """Which column of the sums is whose, (users,)."""


@register("shared-topical")
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTopical(SharedEstimator):
    """One ridge regression of all users: theta_u . features + beta . (gain in topic coverage).

    That is the hybrid model of Li et al. (2010), Algorithm 2, whose shared part Li, Feng and de
    Rijke (2020) apply to topics. Each user's own part is eliminated from the joint normal
    equations; `Topical` has both parts personal. All that users do in a round is learned together,
    at the end of the round.
    """

    conditional: ClassVar[bool] = True
    needs_topics: ClassVar[bool] = True

    def _one(self) -> Topical:
        return Topical(
            ridge=self.ridge,
            sigma=self.sigma,
            reading=self.reading,
            weighs=self.weighs,
            features=True,
        )

    def dim_of(self, items: Items) -> int:
        return self._one().dim_of(items)

    def start(self, users: int, dim: int) -> SharedTopicalState:
        return SharedTopicalState(
            S=np.zeros((dim, dim, users)),
            B=np.zeros((dim, users)),
            updates=np.zeros(users, dtype=np.int64),
            column=np.arange(users),
        )

    def update(self, state: SharedTopicalState, rows: Rows, evidence: Evidence) -> None:
        one, column = self._one(), state.column[rows]
        x = one.rows_of(evidence) * (evidence.seen * evidence.factors)[:, :, None]  # (n, K, d + t)
        state.S[:, :, column] += one.gain * np.einsum("nka,nkb->abn", x, x)
        state.B[:, column] += np.einsum("nk,nka->an", evidence.targets, x)
        state.updates[column] += 1

    def beliefs(self, state: SharedTopicalState, rows: Rows, pool: Pool) -> TopicalBeliefs:
        d, column = pool.items.dim, state.column[rows]
        theta, M_inv = self._solved(state, d, column)
        return TopicalBeliefs(theta, M_inv, pool.with_topics, d)

    def _solved(self, state: SharedTopicalState, d: int, column: Ints) -> tuple[Floats, Floats]:
        """Return (theta_u, beta) and their blocks of the joint inverse for some users.

        A_u theta_u + C_u beta = b_u for every user u, and sum_u C_u^T theta_u + D beta = b_0. With
        V_u = A_u^-1 C_u the shared block is that of P^-1 = D - sum_u C_u^T V_u.
        """
        one, t = self._one(), len(state.B) - d
        A = state.S[:d, :d] + one.ridge * np.eye(d)[:, :, None]
        C = state.S[:d, d:]  # (d, t, n)
        A_inv = inverse(A)
        V = ordered_dot(A_inv[:, :, None], C[:, None])  # (d, t, n)
        left = state.S[d:, d:] - ordered_dot(C[:, :, None], V[:, None])  # (t, t, n)
        D = one.ridge * np.eye(t) + _over_users(left)
        P = inverse(D[:, :, None])[:, :, 0]  # (t, t)
        beta = P @ _over_users(state.B[d:] - ordered_dot(V, state.B[:d, None]))  # (t,)
        V, A_inv, b = V[:, :, column], A_inv[:, :, column], state.B[:d, column]
        own = ordered_dot(A_inv, b[:, None]) - np.einsum("atn,t->an", V, beta)  # (d, n)
        theta = np.empty((d + t, len(column)))
        theta[:d] = np.where(state.updates[column] > 0, one.scale * own, one.first_theta)
        theta[d:] = one.scale * beta[:, None] if state.updates.any() else one.first_theta
        beside = np.einsum("asn,st->atn", V, P)  # (d, t, n)
        M_inv = np.empty((d + t, d + t, len(column)))
        M_inv[:d, :d] = A_inv + np.einsum("atn,btn->abn", beside, V)
        M_inv[:d, d:] = -beside
        M_inv[d:, :d] = -beside.transpose(1, 0, 2)
        M_inv[d:, d:] = P[:, :, None]
        return theta, M_inv

    def take(self, state: SharedTopicalState, rows: Rows) -> SharedTopicalState:
        arrays = {name: array.copy() for name, array in state.arrays().items()}
        return SharedTopicalState(**{**arrays, "column": state.column[rows].copy()})

    def join(self, states: Sequence[SharedTopicalState]) -> SharedTopicalState:
        column = np.concatenate([state.column for state in states])
        return SharedTopicalState(**{**states[0].arrays(), "column": column})

    def scale_warning(self, norm: float, rows: float) -> str:
        return self._one().scale_warning(norm, rows)


def _over_users(terms: Floats) -> Floats:
    """Sum over the last axis, one user after the other."""
    return ordered_sum(np.moveaxis(terms, -1, 0))
