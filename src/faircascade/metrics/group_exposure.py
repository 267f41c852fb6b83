"""How groups of items fare against their merit: metrics of a record by group.

A group deserves exposure in proportion to its merit, the sum of its items'; where every merit is
1, in proportion to the number of its items. They are not registered: over single items, of which
some are hardly shown, the worst-off of all says little.

>>> result.measure(DisparateTreatment(), group="genre")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.metrics.base import Metric
from faircascade.metrics.diversity import MeritJS
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.tally import Record
from faircascade.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionWeightedRankFairness(Metric):
    """1 minus the Jensen-Shannon divergence, in bits, of the groups' shares of exposure (P) and of
    merit: 1 if they agree."""

    title: ClassVar[str] = "AWRF"

    def measure(self, record: Record) -> float:
        return 1.0 - MeritJS().measure(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisparateTreatment(Metric):
    """Least exposure (P) per merit of a group over the greatest: 1 if all have the same."""

    title: ClassVar[str] = "Disparate treatment"

    def measure(self, record: Record) -> float:
        return _least_over_greatest(exposure_p(record) / record.merit)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisparateImpact(Metric):
    """Fewest clicks per merit of a group over the most: 1 if all have the same."""

    title: ClassVar[str] = "Disparate impact"

    def measure(self, record: Record) -> float:
        return _least_over_greatest(record.item_clicks.sum(axis=1) / record.merit)

    def why_missing(self, record: Record) -> str:
        return "nothing was clicked"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxMinShare(Metric):
    """The smallest share of exposure (P) of a group, relative to its share of merit: what max-min
    fairness maximises, 1 if all groups have what they deserve."""

    title: ClassVar[str] = "Max-min share"

    def measure(self, record: Record) -> float:
        exposure = exposure_p(record)
        if not exposure.any():
            return float("nan")
        return float((exposure / exposure.sum() / (record.merit / record.merit.sum())).min())


GROUP_METRICS: Mapping[str, Metric] = {
    "awrf": AttentionWeightedRankFairness(),
    "disparate_treatment": DisparateTreatment(),
    "disparate_impact": DisparateImpact(),
    "max_min_share": MaxMinShare(),
}


def _least_over_greatest(values: Floats) -> float:
    return float(values.min() / values.max()) if np.any(values > 0) else float("nan")
