"""What ratings are: their kind, their scale, and where on it liking begins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Feedback = Literal["explicit", "implicit", "counts"]
"""Ratings on a scale; interactions alone (all are 1); or how often (plays, views)."""

LIKED = 0.75
"""How far up a scale liking begins: 4 on 1 to 5."""
_FROM_ONE = (5.0, 10.0)
"""Highest ratings of scales that begin at 1 (or a half), even if nobody gave the lowest."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The lowest and the highest rating, and the least step between two that were given."""

    low: float
    high: float
    step: float | None
    """None if all ratings are equal, or any number will do."""

    @classmethod
    def of(
        cls, ratings: NDArray[np.floating[Any]], bounds: tuple[float, float] | None = None
    ) -> Scale:
        """Return the scale of some ratings; `bounds` are its ends where they are known."""
        import pyarrow as pa

        given = np.sort(pa.array(ratings).unique().to_numpy(zero_copy_only=False))
        steps = np.diff(given.astype(np.float64))
        low, high = bounds or (float(given[0]), float(given[-1]))
        step = round(float(steps.min()), 6) if len(steps) else 0.0
        return cls(low, high, step or None)

    @property
    def liked(self) -> float:
        """The rating from which on an item is liked: three quarters up, on the next step.

        >>> Scale(1, 5, 1).liked, Scale(0.5, 5, 0.5).liked, Scale(1, 10, 1).liked
        (4.0, 4.0, 8.0)
        >>> Scale(0, 1, 1).liked, Scale(0, 100, 1).liked, Scale(3, 3, None).liked
        (1.0, 75.0, 3.0)
        """
        if self.low == self.high:
            return float(self.low) if self.low > 0 else 1.0  # if all are 0, nothing was liked
        low, step = self.low, self.step
        if low > 0 and self.high in _FROM_ONE:
            low, step = 1.0, min(step or 1.0, 1.0)
        way = LIKED * (self.high - low)
        if step:
            way = step * math.ceil(round(way / step, 6))
        return float(min(round(low + way, 6), self.high))

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:g} alone"
        steps = "" if self.step is None else f" in steps of {self.step:g}"
        return f"{self.low:g} to {self.high:g}{steps}"
