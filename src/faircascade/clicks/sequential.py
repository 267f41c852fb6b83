"""Users who look at a slate from the top and decide at each position whether to go on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from faircascade.clicks.base import ClickDraws, ClickModel
from faircascade.types import Bools, Floats, Ints


class Continuation(NamedTuple):
    """What tells one sequential model from another, for slates of length K."""

    ignored: float
    """Probability of going on from a position that was not clicked."""
    clicked: Floats
    """Of going on from one that was, before the next two, (K,)."""
    slope: float = 0.0
    """What the attraction of the clicked item adds to it, times the attraction."""
    kept: Floats = np.ones(1)
    """What the result is multiplied by, for each item, or one for all, (m,) or (1,)."""
    gain: Floats = np.ones(1)
    """What a click is worth by its position, (K,) or (1,)."""
    worth: Floats = np.ones(1)
    """What that is multiplied by, for each item, or one for all, (m,) or (1,)."""


class SequentialModel(ClickModel):
    """Position 1 is looked at; the next one if a draw of the position says so.

    The value of a slate adds up, over positions, the probability of a click times what it is worth.
    """

    code: ClassVar[int] = 1
    """What the kernels of the compiled engines call it."""

    @abstractmethod
    def numbers(self, k: int) -> Continuation:
        """Return the numbers of the model for slates of length k."""

    def check(self, k: int, items: int) -> None:
        self.numbers(k)

    def click(self, attraction: Floats, slates: Ints, draws: ClickDraws) -> Bools:
        numbers = self.numbers(attraction.shape[1])
        attracted = draws.by_item("attraction") < attraction  # (n, K)
        luck = draws.by_position("examination")
        clicks = np.zeros_like(attracted)
        looks = np.ones(len(attraction), dtype=bool)
        for position in range(attraction.shape[1]):
            clicks[:, position] = looks & attracted[:, position]
            goes_on = np.where(
                clicks[:, position],
                _after_click(numbers, attraction, slates, position),
                numbers.ignored,
            )
            looks &= luck[:, position] < goes_on
        return clicks

    def value(self, attraction: Floats, slates: Ints) -> Floats:
        numbers = self.numbers(attraction.shape[1])
        total, reached = np.zeros(len(attraction)), np.ones(len(attraction))
        for position in range(attraction.shape[1]):  # in order: every engine gets these bits
            w = attraction[:, position]
            gain = _at(numbers.gain, position) * _at(numbers.worth, slates[:, position])
            total += reached * (w * gain)
            after_click = _after_click(numbers, attraction, slates, position)
            reached *= (1.0 - w) * numbers.ignored + w * after_click
        return total

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"model": self.code, **self.numbers(k)._asdict()}


def _after_click(numbers: Continuation, attraction: Floats, slates: Ints, position: int) -> Floats:
    """Return the probability of going on after a click at a position, (n,)."""
    likely = numbers.clicked[position] + numbers.slope * attraction[:, position]
    return np.asarray(likely * _at(numbers.kept, slates[:, position]))


def _at(values: Floats, places: Any) -> Any:
    """Return values at places; a single value holds everywhere."""
    return values[places] if len(values) > 1 else values[0]
