"""How attractive items are and how well positions are seen, from counts of clicks.

Clicks on item i at position k are taken as Poisson with the mean A_ik θ_k α_i: appearances times
how much of the clicks a position lets through, relative to the first, times the attraction of the
item. This is the position-based model, fitted to counts. In turn, each factor is what makes the
clicks of its row or column come out right, given the other. Items have a prior: before the log
begins, each has had one click and the examined appearances that an average item needs for it. So an
item that was hardly shown counts as average, not as bad, and one that was shown often is what its
clicks say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faircascade.types import Floats, Ints

PRIOR_CLICKS = 1.0
_STEPS = 200
_CLOSE = 1e-6


class Attraction(NamedTuple):
    """A fit."""

    items: Floats
    """Clicks per appearance at the first position, smoothed, (m,)."""
    positions: Floats
    """Clicks at a position relative to the first, items being equal, (K,)."""


def fit(appearances: Ints, clicks: Ints, start: Floats | None = None) -> Attraction:
    """Fit attraction to counts (m, K); `start` is what positions were in a similar fit."""
    by_item, by_position = clicks.sum(axis=1), clicks.sum(axis=0)
    shown = appearances.astype(np.float64)
    seen = shown.sum(axis=0)
    if not by_item.any():
        return Attraction(np.ones(len(shown)), np.ones(len(seen)))
    rates = np.divide(by_position, seen, out=np.zeros(len(seen)), where=seen > 0)
    theta = _relative(rates) if start is None else start
    for _ in range(_STEPS):
        examined = shown @ theta  # (m,)
        mean = by_item.sum() / examined.sum()
        alpha = (by_item + PRIOR_CLICKS) / (examined + PRIOR_CLICKS / mean)
        expected = alpha @ shown  # (K,)
        found = np.divide(by_position, expected, out=np.zeros(len(seen)), where=expected > 0)
        found = _relative(found)
        change, theta = np.abs(found - theta).max(), found
        if change < _CLOSE:
            break
    examined = shown @ theta
    mean = by_item.sum() / examined.sum()
    return Attraction((by_item + PRIOR_CLICKS) / (examined + PRIOR_CLICKS / mean), theta)


def _relative(rates: Floats) -> Floats:
    """Return rates relative to the first one that is not 0."""
    return np.asarray(rates / rates[np.argmax(rates > 0)])
