"""Exposure of items: how it is counted, shared and compared."""

from __future__ import annotations

import numpy as np

from faircascade.metrics.tally import Record, discounts
from faircascade.types import Floats, Ints


def exposure_b(record: Record) -> Floats:
    """Return E_B: how often each item was shown, (m,)."""
    return np.asarray(record.appearances.sum(axis=1), dtype=np.float64)


def exposure_p(record: Record) -> Floats:
    """Return E_P: appearances weighed by position, (m,)."""
    return np.asarray(record.appearances @ discounts(record.appearances.shape[1]))


def exposure_bm(record: Record) -> Floats:
    """Return E_BM: E_B in proportion to merit, (m,)."""
    return exposure_b(record) / record.merit


def exposure_pm(record: Record) -> Floats:
    """Return E_PM: E_P in proportion to merit, (m,)."""
    return exposure_p(record) / record.merit


NOTIONS = {
    "exposure_b": exposure_b,
    "exposure_p": exposure_p,
    "exposure_bm": exposure_bm,
    "exposure_pm": exposure_pm,
}
"""The paper's four notions of exposure, Table 1."""


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
