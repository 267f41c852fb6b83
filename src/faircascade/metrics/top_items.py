"""How much of all exposure the most shown items take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.metrics.base import Metric
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.tally import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class TopItems(Metric):
    """Share of exposure (P) that the tenth of the items with most exposure has."""

    title: ClassVar[str] = "Top 10% of items"
    higher_is_better: ClassVar[bool] = False

    top: float = 0.1
    """Which share of the items, to the nearest whole number, half up, and at least one."""

    def __post_init__(self) -> None:
        if not 0 < self.top < 1:
            raise ParameterError("top", "must be above 0 and below 1", self.top)

    def measure(self, record: Record) -> float:
        exposure = np.sort(exposure_p(record))
        if not exposure.any():
            return float("nan")
        return float(exposure[-self.few(len(exposure)) :].sum() / exposure.sum())

    def few(self, items: int) -> int:
        """Return how many of so many items that is.

        >>> [TopItems().few(items) for items in (4, 24, 25, 26, 35)]
        [1, 2, 3, 3, 4]
        """
        return max(1, int(self.top * items + 0.5))
