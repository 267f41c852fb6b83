"""Equality of exposures that are known only up to noise, without the bias of the plug-in.

1 - Gini is a sum over items of exposure times rank. Noise makes equal exposures look unequal, and
the plug-in, which ranks items by the same noisy exposures, takes that for inequality. Here the
items of a block of users are ranked by the exposure that they have with all other users: equal
exposures are then as likely to be ranked one way as the other, and the bias is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.evaluation.intervals import Jackknife, ratio_jackknife
from faircascade.metrics.tally import discounts
from faircascade.types import Floats, Ints

_GRAIN = 1e-9
"""Exposures that differ by less than this share of the largest are equal."""
_CELLS = 1 << 22


@dataclass(eq=False)
class ExposureSums:
    """Exposure of items by block of users: appearances (B), and weighed by position (P)."""

    appearances: Floats
    """(blocks, items)"""
    weighed: Floats
    """(blocks, items)"""

    @classmethod
    def empty(cls, blocks: int, items: int) -> ExposureSums:
        """Return the exposure of nothing."""
        return cls(np.zeros((blocks, items)), np.zeros((blocks, items)))

    def add(self, blocks: Ints, items: Ints, weights: Floats) -> None:
        """Add slates of item rows (n, K), -1 for none, that count `weights` (n, K) each."""
        there = items >= 0
        _, m = self.appearances.shape
        cells = (blocks[:, None] * m + items)[there]
        by_position = weights * discounts(items.shape[1])
        np.add.at(self.appearances.reshape(-1), cells, weights[there])
        np.add.at(self.weighed.reshape(-1), cells, by_position[there])

    def equality(self) -> tuple[Jackknife, Jackknife]:
        """Return Equality (B) and (P)."""
        return cross_ranked_evenness(self.appearances), cross_ranked_evenness(self.weighed)


def cross_ranked_evenness(exposures: Floats) -> Jackknife:
    """Return 1 - Gini of the total exposures of items, from those of blocks, (B, m)."""
    there = exposures.any(axis=1)
    shown = exposures[there]
    _, m = shown.shape
    total = shown.sum(axis=0)
    grain = _GRAIN * (total.max(initial=0.0) or 1.0)
    above = np.empty(len(shown))
    step = max(1, _CELLS // max(m, 1))
    for first in range(0, len(shown), step):
        some = shown[first : first + step]
        ranks = _mean_ranks(np.rint((total - some) / grain))
        above[first : first + step] = ((2.0 * ranks - m - 1) * some).sum(axis=1)
    found = ratio_jackknife(above, m * shown.sum(axis=1))
    return Jackknife(1.0 - found.value, 1.0 - found.pseudo)


def _mean_ranks(values: Floats) -> Floats:
    from scipy import stats

    return np.asarray(stats.rankdata(values, method="average", axis=1))
