"""One trial of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faircascade.experiment.tuning.bounds import total_excess


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Some values of the parameters, and how the policy did with them."""

    number: int
    """From 1, which is the policy as written."""
    values: Mapping[str, Any]
    """By parameter; one that did not go with the others is not there."""
    means: Mapping[str, float] = field(default_factory=dict)
    """Of the metrics that matter, over the seeds of the search; nothing if it failed."""
    excesses: tuple[float, ...] = ()
    """By how much each bound is broken; 0 or less if it is not."""
    cells: tuple[str, ...] = ()
    """The keys of its cells."""
    failure: str = ""
    """Why it could not be run; empty if it could."""

    @property
    def is_feasible(self) -> bool:
        """Say whether it was run and keeps to all bounds."""
        return not self.failure and total_excess(self.excesses) == 0
