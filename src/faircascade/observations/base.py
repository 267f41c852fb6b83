"""The contract of an observation."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from faircascade.registry import Component
from faircascade.types import Bools, Floats, Ints

ALL, FIRST_CLICK, LAST_CLICK = range(3)
"""How far the kernels of the compiled engines take positions as seen."""


class Observation(Component):
    """What a policy believes a user saw, which need not be what the click model did."""

    kind: ClassVar[str] = "observation"

    @abstractmethod
    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        """Return how much of each position was seen, in [0, 1], (n, K).

        `clicks` (n, K) are the positions clicked, `shown` (n,) how many were on the screen,
        counted from the top. A position that was not shown was not seen. What has seen = 0 is not
        learned from, whether it was clicked or not.
        """

    def check(self, k: int) -> None:
        """Refuse parameters that do not fit slates of length k."""
        return


def seen_up_to(last: Ints, shown: Ints, k: int) -> Floats:
    """Return 1 for positions up to the last one (n,) that were shown, 0 for others, (n, k)."""
    return np.asarray(np.arange(k) < np.minimum(last, shown)[:, None], dtype=np.float64)
