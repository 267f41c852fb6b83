"""The contract of a metric."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, cast

from faircascade.metrics.tally import Record
from faircascade.registry import Component, lookup


class Metric(Component):
    """One number out of a record; a frozen dataclass of its parameters."""

    kind: ClassVar[str] = "metric"
    title: ClassVar[str] = ""
    """How tables and figures name it."""
    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    def measure(self, record: Record) -> float:
        """Return the value; NaN where there is none."""

    def why_missing(self, record: Record) -> str:
        """Say why `measure` gave NaN."""
        return "nothing was shown"


def higher_is_better(metric: str) -> bool:
    """Return the direction of a registered metric."""
    return cast(type[Metric], lookup("metric", metric)).higher_is_better


def title_of(metric: str) -> str:
    """Return how tables and figures name a registered metric."""
    return cast(type[Metric], lookup("metric", metric)).title
