"""One ridge regression for all users: what one of them clicks teaches about everybody."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.estimators.base import Estimator, Evidence
from faircascade.estimators.ridge import Ridge, RidgeBeliefs, RidgeState
from faircascade.numerics import inverse, ordered_dot
from faircascade.readings import Reading
from faircascade.registry import register
from faircascade.types import Ints, Pool, Rows
from faircascade.weighing import Weighs


@dataclass(kw_only=True, eq=False)
class SharedRidgeState:
    """What all users did, as if one of them had done it."""

    everybody: RidgeState
    """The state of one user."""
    column: Ints
    """Which of its columns is whose: 0 for every user, (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEstimator(Estimator):
    """A ridge regression that users share, or a part of it."""

    offers: ClassVar[frozenset[str]] = frozenset({"mean", "width", "sample"})

    ridge: float = 1.0
    """Regularisation lambda, > 0."""
    sigma: float = 1.0
    """Learning rate sigma, > 0."""
    reading: Reading = "intended"
    """Whose scaling and start: `paper` and `intended` follow Algorithm 1."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: see `Ridge`."""

    def __post_init__(self) -> None:
        self._one()  # a wrong parameter is an error now

    @abstractmethod
    def _one(self) -> Ridge:
        """Return the estimator of one user."""

    @property
    def shares(self) -> bool:
        return True


@register("shared-ridge", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRidge(SharedEstimator):
    """The ridge of a user who did what all users did.

    Nothing is personal: it learns fast what most people like. All that users do in a round is
    learned together, at the end of the round.
    """

    def _one(self) -> Ridge:
        return Ridge(ridge=self.ridge, sigma=self.sigma, reading=self.reading, weighs=self.weighs)

    def kernel(self) -> Mapping[str, Any]:
        return {"shared": True}

    def start(self, users: int, dim: int) -> SharedRidgeState:
        column = np.zeros(users, dtype=np.int64)
        return SharedRidgeState(everybody=self._one().start(1, dim), column=column)

    def update(self, state: SharedRidgeState, rows: Rows, evidence: Evidence) -> None:
        own, one = state.everybody, self._one()
        scale = evidence.seen * evidence.factors  # (n, K)
        x = (evidence.features * scale[:, :, None]).reshape(-1, evidence.features.shape[2])
        own.M[:, :, 0] += one.gain * (x.T @ x)
        own.B[:, 0] += evidence.targets.reshape(-1) @ x
        own.M_inv[:] = inverse(own.M)
        own.theta[:] = one.scale * ordered_dot(own.M_inv, own.B[:, None, :])
        own.updates += len(evidence.clicks)

    def beliefs(self, state: SharedRidgeState, rows: Rows, pool: Pool) -> RidgeBeliefs:
        return self._one().beliefs(state.everybody, state.column[rows], pool)

    def take(self, state: SharedRidgeState, rows: Rows) -> SharedRidgeState:
        return SharedRidgeState(
            everybody=state.everybody.take(slice(None)),
            column=state.column[rows].copy(),
        )

    def join(self, states: Sequence[SharedRidgeState]) -> SharedRidgeState:
        column = np.concatenate([state.column for state in states])
        return SharedRidgeState(everybody=states[0].everybody, column=column)

    def arrays(self, state: SharedRidgeState) -> dict[str, NDArray[Any]]:
        return state.everybody.arrays() | {"column": state.column}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> SharedRidgeState:
        return SharedRidgeState(everybody=RidgeState.restore(arrays), column=arrays["column"])

    def scale_warning(self, norm: float, rows: float) -> str:
        return self._one().scale_warning(norm, rows)

    def describe(self, state: SharedRidgeState, row: int) -> dict[str, Any]:
        return self._one().describe(state.everybody, 0)
