"""The contract of an observation."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from faircascade.registry import Component
from faircascade.types import Bools, Floats, Ints


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
