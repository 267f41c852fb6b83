"""The contract of a reward model: a table of weights by position and examined length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.registry import Component
from faircascade.types import Floats, Ints, check_finite


@dataclass(frozen=True, slots=True, eq=False)
class RewardTable:
    """What feedback on a list of length K is worth; nothing else of a reward model is used."""

    clicked: Floats
    """Weight of a click at position k, (K,)."""
    ignored: Floats
    """Weight of position k when it was seen and not clicked, row L - 1 for L examined, (K, K)."""

    @classmethod
    def of(
        cls,
        k: int,
        *,
        reward: Callable[[int], float],
        penalty: Callable[[int, int], float],
        gamma: float,
    ) -> RewardTable:
        """Tabulate `reward(position)` and `-gamma * penalty(position, examined)`, 1-based."""
        clicked = np.array([reward(position) for position in range(1, k + 1)], dtype=np.float64)
        ignored = np.zeros((k, k))
        if gamma > 0:
            for examined in range(1, k + 1):
                for position in range(1, examined + 1):
                    ignored[examined - 1, position - 1] = -gamma * penalty(position, examined)
        return cls(check_finite(clicked, "rewards"), check_finite(ignored, "penalties"))

    def weights(self, clicked: Ints, examined: Ints) -> Floats:
        """Return the weight of every position for outcomes (n,); unseen ones weigh 0, (n, K)."""
        weights = self.ignored[examined - 1]
        hit = np.flatnonzero(clicked)
        weights[hit, clicked[hit] - 1] = self.clicked[clicked[hit] - 1]
        return weights


class RewardModel(Component):
    """What a click or an ignored item teaches, depending on where it stood."""

    kind: ClassVar[str] = "reward"

    @abstractmethod
    def table(self, k: int) -> RewardTable:
        """Return the weights for lists of length k."""
