"""Whether what is popular is what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.metrics.base import ItemMetric
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.tally import Record
from faircascade.registry import register
from faircascade.types import Floats


@register("popularity_correlation")
@dataclass(frozen=True, slots=True, kw_only=True)
class PopularityCorrelation(ItemMetric):
    """Spearman's rank correlation of exposure (P) and popularity over items: 1 if the more popular
    of two items always has more exposure; ties have their mean rank."""

    title: ClassVar[str] = "Popularity correlation"
    higher_is_better: ClassVar[bool] = False

    def of(self, record: Record) -> float:
        exposure = exposure_p(record)
        if _constant(exposure) or _constant(record.popularity):
            return float("nan")
        from scipy.stats import rankdata

        ranks = np.vstack([rankdata(exposure), rankdata(record.popularity)])  # (2, m)
        ranks -= (len(exposure) + 1) / 2  # their mean
        return float(ranks[0] @ ranks[1] / np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))

    def why_missing(self, record: Record) -> str:
        if _constant(record.popularity):
            return "all items are equally popular"
        return "all items have the same exposure"


def _constant(values: Floats) -> bool:
    return bool(values.min() == values.max())
