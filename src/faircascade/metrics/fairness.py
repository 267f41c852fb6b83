"""The paper's four notions of exposure fairness, 1 - Gini over items; fairness regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.metrics.base import ItemMetric
from faircascade.metrics.exposure import (
    evenness,
    exposure_b,
    exposure_p,
    exposures,
)
from faircascade.metrics.tally import Record
from faircascade.registry import register


@register("equality_b")
@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityB(ItemMetric):
    """How evenly appearances are spread over items: 1 − Gini, 1 if all are shown equally often."""

    title: ClassVar[str] = "Equality (B)"

    def of(self, record: Record) -> float:
        return evenness(exposure_b(record))


@register("equality_p")
@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityP(ItemMetric):
    """How evenly exposure by position is spread: as Equality (B), but further down counts less."""

    title: ClassVar[str] = "Equality (P)"

    def of(self, record: Record) -> float:
        return evenness(exposure_p(record))


@register("equity_b")
@dataclass(frozen=True, slots=True, kw_only=True)
class EquityB(ItemMetric):
    """How evenly appearances divided by merit are spread: 1 if they are proportional to merit."""

    title: ClassVar[str] = "Equity (B)"

    def of(self, record: Record) -> float:
        return evenness(exposures(record).exposure_bm)


@register("equity_p")
@dataclass(frozen=True, slots=True, kw_only=True)
class EquityP(ItemMetric):
    """How evenly exposure by position over merit is spread: further down the slate counts less."""

    title: ClassVar[str] = "Equity (P)"

    def of(self, record: Record) -> float:
        return evenness(exposures(record).exposure_pm)


@register("fairness_regret")
@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessRegret(ItemMetric):
    """Rounds times the L1 distance between the shares of exposure (by position) and of merit.

    Taken over each interval between checkpoints and added up, so it depends on those. After Wang
    et al. (2021).
    """

    title: ClassVar[str] = "Fairness regret"
    higher_is_better: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def of(self, record: Record) -> float:
        return record.fairness_regret

    def why_missing(self, record: Record) -> str:
        return "it is taken over items, not over groups"
