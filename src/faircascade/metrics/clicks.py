"""How well users are served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.metrics.base import Metric
from faircascade.metrics.tally import Record
from faircascade.registry import register


@register("clicks")
@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks(Metric):
    """Clicks per slate shown."""

    title: ClassVar[str] = "Clicks"

    def measure(self, record: Record) -> float:
        return record.clicks / record.served if record.served else float("nan")


@register("regret")
@dataclass(frozen=True, slots=True, kw_only=True)
class Regret(Metric):
    """How much more the best slates (good ones, where the best are not known) would be expected to
    earn, over all rounds, per user."""

    title: ClassVar[str] = "Regret"
    higher_is_better: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    realised: bool = False
    """True counts drawn clicks instead of expectations, both slates under the same draws."""

    def measure(self, record: Record) -> float:
        return record.realised_regret if self.realised else record.regret

    def why_missing(self, record: Record) -> str:
        return "realised regret was not counted"


@register("clicked")
@dataclass(frozen=True, slots=True, kw_only=True)
class Clicked(Metric):
    """Share of slates with a click; equal to Clicks where users click at most once."""

    title: ClassVar[str] = "Clicked"

    def measure(self, record: Record) -> float:
        return record.clicked / record.served if record.served else float("nan")
