"""Attraction of items and examination of positions from counts, in a few cheap steps.

Clicks on item i at position k are taken as Poisson with the mean A_ik θ_k α_i: appearances times
how much of the clicks a position lets through, relative to the first, times the attraction of the
item. In turn, each factor is what makes the clicks of its row or column come out right, given the
other. Where click rates are small this is what the EM of `factors` comes to, at a fraction of the
time: audits fit it again and again, without some of the users each time.

Items have a prior: before the log begins, each has had one click and the examined appearances that
an average item needs for it. So an item that was hardly shown counts as average, not as bad, and
one that was shown often is what its clicks say.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.types import Floats

PRIOR_CLICKS = 1.0
_STEPS = 200
_CLOSE = 1e-6


class PositionFit(NamedTuple):
    """Two factors of click rates."""

    items: Floats
    """Clicks per appearance at the first position, smoothed, (m,)."""
    positions: Floats
    """Clicks at a position relative to the first, items being equal, (K,)."""
    average: float
    """What an item that was never shown has."""


def fit_positions(appearances: Any, clicks: Any, start: Floats | None = None) -> PositionFit:
    """Fit both factors to counts (m, K), which may be sparse; `start` is what positions were in a
    similar fit."""
    by_item, by_position = clicks.sum(axis=1), clicks.sum(axis=0)
    shown = appearances.astype(np.float64)
    seen = shown.sum(axis=0)
    if not by_item.any():
        return PositionFit(np.ones(shown.shape[0]), np.ones(len(seen)), 1.0)
    rates = np.divide(by_position, seen, out=np.zeros(len(seen)), where=seen > 0)
    theta = _relative(rates) if start is None else start
    for _ in range(_STEPS):
        alpha, _ = _attraction(by_item, shown @ theta)
        expected = alpha @ shown  # (K,)
        found = np.divide(by_position, expected, out=np.zeros(len(seen)), where=expected > 0)
        found = _relative(found)
        change, theta = np.abs(found - theta).max(), found
        if change < _CLOSE:
            break
    alpha, average = _attraction(by_item, shown @ theta)
    return PositionFit(alpha, theta, average)


def _attraction(clicks: Any, examined: Floats) -> tuple[Floats, float]:
    """Return attraction of items (m,) from their clicks and examined appearances, and the mean."""
    mean = float(clicks.sum() / examined.sum())
    return (clicks + PRIOR_CLICKS) / (examined + PRIOR_CLICKS / mean), mean


def _relative(rates: Floats) -> Floats:
    """Return rates relative to the first one that is not 0."""
    return np.asarray(rates / rates[np.argmax(rates > 0)])
