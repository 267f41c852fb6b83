"""The contract of a metric."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, cast

from faircascade.metrics.tally import Over, Record, check_over
from faircascade.registry import Component, lookup


class Metric(Component):
    """One number out of a record; a frozen dataclass of its parameters."""

    kind: ClassVar[str] = "metric"
    title: ClassVar[str] = ""
    """How tables and figures name it."""
    higher_is_better: ClassVar[bool] = True
    simulated: ClassVar[bool] = False
    """True if it needs what only a simulation knows, so that a log has no such number."""

    @abstractmethod
    def measure(self, record: Record) -> float:
        """Return the value; NaN where there is none."""

    def why_missing(self, record: Record) -> str:
        """Say why `measure` gave NaN."""
        return "nothing was shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMetric(Metric):
    """A metric of how items fare: over the whole catalogue, or over what can be recommended."""

    over: Over = "catalogue"
    """Which items count: "catalogue" (all) or "eligible" (those that can be recommended)."""

    def __post_init__(self) -> None:
        check_over(self.over)

    def measure(self, record: Record) -> float:
        return self.of(record.over(self.over))

    @abstractmethod
    def of(self, record: Record) -> float:
        """Return the value over all items of a record; NaN where there is none."""


ELIGIBLE = "eligible."
"""Prefix of a metric over the eligible items, where it is a column of a table."""
GROUP = "group."
"""Prefix of item columns that hold groups, and of metrics over these: `group.genre.equality_b`."""


def higher_is_better(metric: str) -> bool:
    """Return the direction of a registered metric, whatever it is taken over."""
    return _class_of(metric).higher_is_better


def title_of(metric: str) -> str:
    """Return how tables and figures name a registered metric, and what it is taken over.

    >>> title_of("equality_b"), title_of("group.genre.equality_b")
    ('Equality (B)', 'Equality (B) by genre')
    """
    title, over = _class_of(metric).title, metric.rpartition(".")[0]
    if metric.startswith(GROUP):
        return f"{title} by {over.removeprefix(GROUP)}"
    return f"{title}, eligible items" if metric.startswith(ELIGIBLE) else title


def _class_of(metric: str) -> type[Metric]:
    return cast(type[Metric], lookup("metric", metric.rpartition(".")[2]))
