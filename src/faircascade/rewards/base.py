"""The contract of a reward model: a table of targets by position and by how far users saw."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from faircascade.errors import ParameterError
from faircascade.registry import Component
from faircascade.rewards.regression import RegressionTable
from faircascade.types import Bools, Floats, check_finite
from faircascade.weighing import Weighs, check_weighs


@dataclass(frozen=True, slots=True, eq=False)
class RewardTable:
    """What feedback on a slate of length K is worth; nothing else of a reward model is used.

    Both are (K, K): row L - 1 is for slates of which the last position seen was L, column k - 1
    for position k.
    """

    clicked: Floats
    """Target of a position that was clicked."""
    ignored: Floats
    """Target of a position that was seen and not clicked; 0 below the last one seen."""
    gamma: float = 1.0
    """Strength of the penalty that is in `ignored`, > 0: its weights are -ignored / gamma."""

    def __post_init__(self) -> None:
        for name in ("clicked", "ignored"):
            table = check_finite(getattr(self, name), name)
            if table.ndim != 2 or table.shape[0] != table.shape[1]:
                raise ParameterError(name, "must be (K, K)", table.shape)
            object.__setattr__(self, name, table)
        if self.clicked.shape != self.ignored.shape:
            rule = f"must have the shape of clicked, {self.clicked.shape}"
            raise ParameterError("ignored", rule, self.ignored.shape)
        if np.triu(self.ignored, 1).any():
            rule = "must be 0 below the last position seen (above the diagonal)"
            raise ParameterError("ignored", rule, self.ignored)
        if not self.gamma > 0:
            raise ParameterError("gamma", "must be positive", self.gamma)

    @property
    def k(self) -> int:
        """Length of the slates, K."""
        return len(self.clicked)

    @property
    def largest(self) -> float:
        """The largest target, 1 if none is positive."""
        return float(self.clicked.max()) if (self.clicked > 0).any() else 1.0

    @classmethod
    def of(
        cls, k: int, *, rewards: ArrayLike, penalties: ArrayLike = 0.0, gamma: float = 1.0
    ) -> RewardTable:
        """Tabulate rewards, and penalties times -gamma.

        Both are by position, (K,), or by the last position seen and position, (K, K); one number
        holds for all.
        """
        if not gamma >= 0:
            raise ParameterError("gamma", "must be at least 0", gamma)
        clicked, penalised = _square("rewards", rewards, k), _square("penalties", penalties, k)
        ignored = np.tril(-gamma * penalised) if gamma > 0 else np.zeros((k, k))
        return cls(clicked, ignored, gamma if gamma > 0 else 1.0)

    def targets(self, clicks: Bools, seen: Floats) -> Floats:
        """Return the target of every position, 0 where nothing was seen, for (n, K), (n, K)."""
        return self.regression("targets").of(clicks, seen)[1]

    def regression(self, weighs: Weighs) -> RegressionTable:
        """Return the factors and targets of feature rows.

        With `observations` a row and its target are multiplied by the root of the weight of its
        position; the target is 1 for a click, and -gamma for an ignored position. Without
        penalties that is 0, and its weight is that of a click there.
        """
        check_weighs(weighs)
        if weighs == "targets":
            ones = np.ones_like(self.clicked)
            return RegressionTable(ones, ones, self.clicked, self.ignored)
        punishes = bool(self.ignored.any())
        weights = np.abs(self.ignored) / self.gamma if punishes else self.clicked
        if (self.clicked < 0).any() or (self.ignored > 0).any():
            rule = "must be 'targets' for rewards below 0 or penalties above 0"
            raise ParameterError("weighs", rule, weighs)
        clicked, ignored = np.sqrt(self.clicked), np.sqrt(weights)
        return RegressionTable(
            clicked, ignored, clicked, ignored * -self.gamma if punishes else np.zeros_like(weights)
        )


def _square(name: str, given: ArrayLike, k: int) -> Floats:
    """Return numbers by position, or by the last position seen and position, as (K, K)."""
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), (k,), (k, k)):
        raise ParameterError(name, f"must be of shape ({k},) or ({k}, {k})", values.shape)
    return np.broadcast_to(check_finite(values, name), (k, k))


class RewardModel(Component):
    """What a click or an ignored item teaches, depending on where it stood."""

    kind: ClassVar[str] = "reward"

    plain: ClassVar[bool] = False
    """True if a click is worth 1 wherever it happens and nothing is lost without one."""

    @property
    def label(self) -> str:
        """What tables and figures add to a policy's name; nothing for the usual one."""
        return self.name

    @property
    def harmful_in(self) -> str | None:
        """The world in which LinUCB with it is known to make exposure less equal, if any is."""
        return None

    @abstractmethod
    def table(self, k: int) -> RewardTable:
        """Return the targets for slates of length k."""
