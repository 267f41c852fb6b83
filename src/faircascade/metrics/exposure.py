"""Exposure of items: how it is counted, shared and compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faircascade.metrics.tally import Record, discounts
from faircascade.types import Floats, Ints


def exposure_b(record: Record) -> Floats:
    """Return E_B: how often each item was shown, (m,)."""
    return np.asarray(record.appearances.sum(axis=1), dtype=np.float64)


def exposure_p(record: Record) -> Floats:
    """Return E_P: appearances weighed by position, (m,)."""
    return np.asarray(record.appearances @ discounts(record.appearances.shape[1]))


class Exposures(NamedTuple):
    """The paper's four notions of exposure, Table 1, of each item, (m,)."""

    exposure_b: Floats
    """E_B: how often it was shown."""
    exposure_p: Floats
    """E_P: appearances weighed by position."""
    exposure_bm: Floats
    """E_BM: E_B in proportion to merit."""
    exposure_pm: Floats
    """E_PM: E_P in proportion to merit."""

    @classmethod
    def of(cls, exposure_b: Floats, exposure_p: Floats, merit: Floats) -> Exposures:
        """Complete the two that are counted by those in proportion to merit."""
        return cls(exposure_b, exposure_p, exposure_b / merit, exposure_p / merit)


def exposures(record: Record) -> Exposures:
    """Return the exposure of each item by all four notions."""
    return Exposures.of(exposure_b(record), exposure_p(record), record.merit)


FAIRNESS = ("equality_b", "equality_p", "equity_b", "equity_p")
"""The metrics that say how evenly each of these is shared, in their order."""


def evenness(exposure: Floats) -> float:
    """Return 1 - Gini over all items, those never shown included; NaN if nothing was shown.

    >>> evenness(np.array([1.0, 1.0, 1.0, 1.0]))
    1.0
    >>> evenness(np.array([0.0, 0.0, 0.0, 8.0]))
    0.25
    """
    total = exposure.sum()
    if total == 0:
        return float("nan")
    m = len(exposure)
    steps = 2.0 * np.arange(1, m + 1) - m - 1
    return float(1.0 - (steps * np.sort(exposure)).sum() / (m * total))


def lorenz(exposure: Floats) -> tuple[Floats, Floats]:
    """Return the Lorenz curve: share of items (least shown first) and of exposure, from (0, 0)."""
    items = np.linspace(0.0, 1.0, len(exposure) + 1)
    running = np.concatenate([[0.0], np.cumsum(np.sort(exposure))])
    total = running[-1]
    return items, running / total if total > 0 else np.full(len(running), np.nan)


def percent_change(ours: Floats | Ints, theirs: Floats | Ints) -> Floats:
    """Return the change from theirs to ours in percent of their mean; 0/0 is 0. Figure 4.

    >>> percent_change(np.array([3.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).tolist()
    [100.0, 200.0, 0.0]
    """
    middle = (np.asarray(ours, dtype=np.float64) + theirs) / 2
    return 100.0 * np.divide(ours - theirs, middle, out=np.zeros(len(middle)), where=middle != 0)
