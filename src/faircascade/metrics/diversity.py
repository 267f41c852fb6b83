"""Other views on how exposure spreads: coverage, entropy, the tail, the distance to merit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.metrics.base import ItemMetric
from faircascade.metrics.exposure import exposure_b, exposure_p
from faircascade.metrics.tally import Record
from faircascade.registry import register
from faircascade.types import Floats


@register("coverage")
@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage(ItemMetric):
    """Share of the items that was shown at all."""

    title: ClassVar[str] = "Coverage"

    def of(self, record: Record) -> float:
        return float((exposure_b(record) > 0).mean())


@register("entropy")
@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy(ItemMetric):
    """Entropy of the share of position-based exposure, divided by that of equal shares."""

    title: ClassVar[str] = "Entropy"

    def of(self, record: Record) -> float:
        share = _share(exposure_p(record))
        if len(share) == 1:
            return float(share[0])
        logs = np.log(share, out=np.zeros_like(share), where=share > 0)
        return float(-(share * logs).sum() / np.log(len(share)))


@register("tail_share")
@dataclass(frozen=True, slots=True, kw_only=True)
class TailShare(ItemMetric):
    """Share of appearances that went to the least popular items (all of those tied at the edge)."""

    title: ClassVar[str] = "Tail share (popularity)"

    tail: float = 0.8
    """Which share of the items, least popular first, is the tail."""

    def __post_init__(self) -> None:
        ItemMetric.__post_init__(self)
        if not 0 < self.tail < 1:
            raise ParameterError("tail", "must be above 0 and below 1", self.tail)

    def of(self, record: Record) -> float:
        if record.popularity.min() == record.popularity.max():
            return float("nan")
        popularity = np.sort(record.popularity)
        edge = popularity[max(int(self.tail * len(popularity)) - 1, 0)]
        return float(_share(exposure_b(record))[record.popularity <= edge].sum())

    def why_missing(self, record: Record) -> str:
        return "all items are equally popular, so there is no tail"


@register("merit_kl")
@dataclass(frozen=True, slots=True, kw_only=True)
class MeritKL(ItemMetric):
    """Kullback-Leibler divergence of the exposure share (P) from the merit share, in nats."""

    title: ClassVar[str] = "KL to merit"
    higher_is_better: ClassVar[bool] = False

    def of(self, record: Record) -> float:
        return _divergence(_share(exposure_p(record)), _share(record.merit))


@register("merit_js")
@dataclass(frozen=True, slots=True, kw_only=True)
class MeritJS(ItemMetric):
    """Jensen-Shannon divergence of exposure share (P) and merit share, in bits: 0 to 1."""

    title: ClassVar[str] = "JS to merit"
    higher_is_better: ClassVar[bool] = False

    def of(self, record: Record) -> float:
        exposure, merit = _share(exposure_p(record)), _share(record.merit)
        middle = (exposure + merit) / 2
        both = (_divergence(exposure, middle) + _divergence(merit, middle)) / 2
        return both / float(np.log(2))


def _share(values: Floats) -> Floats:
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), np.nan)


def _divergence(p: Floats, q: Floats) -> float:
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    return float((p * np.log(ratio)).sum())
