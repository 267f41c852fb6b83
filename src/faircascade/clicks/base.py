"""The contract of a click model."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from faircascade.registry import Component
from faircascade.types import Floats, Ints


class ClickModel(Component):
    """How a user goes through a list and what they click."""

    kind: ClassVar[str] = "click_model"

    @abstractmethod
    def click(self, attraction: Floats, draws: Floats) -> tuple[Ints, Ints]:
        """Return (clicked, examined), each (n,), for attractions and uniform draws (n, K).

        `clicked` is the 1-based position of the click or 0; `examined` counts the positions
        looked at, the click included.
        """

    @abstractmethod
    def expected(self, attraction: Floats) -> Floats:
        """Return the probability of a click for attractions (n, K), (n,)."""
