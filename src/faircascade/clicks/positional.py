"""Users who look at positions one by one, each by a chance of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from faircascade.clicks.base import ClickDraws, ClickModel
from faircascade.types import Bools, Floats, Ints


class PositionalModel(ClickModel):
    """A position is looked at by a probability that depends on it and on the last click above."""

    code: ClassVar[int] = 2
    """What the kernels of the compiled engines call it."""

    @abstractmethod
    def examination(self, k: int) -> Floats:
        """Return the probability of looking at a position, (k, k).

        Rows are positions; columns the distance to the last click above, from 1. Without a click
        above, the distance is that to an imagined position 0.
        """

    def check(self, k: int, items: int) -> None:
        self.examination(k)

    def click(self, attraction: Floats, slates: Ints, draws: ClickDraws) -> Bools:
        examination = self.examination(attraction.shape[1])
        attracted = draws.by_item("attraction") < attraction  # (n, K)
        luck = draws.by_position("examination")
        clicks = np.zeros_like(attracted)
        last = np.zeros(len(attraction), dtype=np.int64)
        for position in range(attraction.shape[1]):
            looks = luck[:, position] < examination[position, position - last]
            clicks[:, position] = looks & attracted[:, position]
            last = np.where(clicks[:, position], position + 1, last)
        return clicks

    def value(self, attraction: Floats, slates: Ints) -> Floats:
        """Return the expected number of clicks, (n,)."""
        n, k = attraction.shape
        examination = self.examination(k)
        total, chances = np.zeros(n), np.zeros((k + 1, n))
        chances[0] = 1.0  # that the last click was at position 0 (none), 1, 2, ...
        for position in range(k):  # in order: every engine gets these bits
            clicked = np.zeros(n)
            for last in range(position + 1):
                looks = examination[position, position - last]
                chance = chances[last] * (looks * attraction[:, position])
                chances[last] -= chance
                clicked += chance
            chances[position + 1] = clicked
            total += clicked
        return total

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"model": self.code, "examination": self.examination(k)}
