"""What the items that are shown least get: max-min fairness, over more than a single item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.metrics.base import ItemMetric
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.tally import Record
from faircascade.registry import register

TENTH = 10


@register("worst_tenth")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstTenth(ItemMetric):
    """Mean exposure (P) of the tenth of the items that get least, in units of an equal share: 1 if
    all get the same.

    Max-min fairness looks at the one item that gets least, which is nearly always never shown.
    """

    title: ClassVar[str] = "Worst-off tenth"

    def of(self, record: Record) -> float:
        exposure = np.sort(exposure_p(record))
        if not exposure.any():
            return float("nan")
        return float(exposure[: max(1, len(exposure) // TENTH)].mean() / exposure.mean())
