"""Equality of exposures that are known only up to noise, without the bias of the plug-in.

1 - Gini is a sum over items of exposure times rank. Noise makes exposures look less equal than
they are: the plug-in, which ranks items by the same noisy exposures, has a Gini that is too large
by some b. Ranking the items of one half of the users by the other half has the opposite fault: it
is too small by 2 b where exposures are spread out, and right where all are equal. Two parts of the
first and one of the second are right in between. Where noise is most of what is seen, the interval
reaches from the one to the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faircascade.evaluation.intervals import FEWEST, Jackknife, ratio_jackknife
from faircascade.metrics.tally import discounts
from faircascade.types import Floats, Ints

_GRAIN = 1e-9
"""Exposures that differ by less than this share of the largest are equal."""
_SPLITS = 16
"""Ways to cut the users in halves."""
_FEW = 100
"""Blocks up to which the error is found by leaving out each, if that is not too much work: cells
are blocks times splits times items."""
_CELLS = 2_000_000
_NOISY = 0.5
"""Share of the Gini that may be noise for the mean of both ways to be trusted."""


@dataclass(frozen=True, eq=False)
class Evenness:
    """1 - Gini with its uncertainty."""

    value: float
    lowest: float
    """What it is at least, but for chance; `value` unless noise is most of what is seen."""
    highest: float
    pseudo: Floats
    """What each block of users makes of it, (B,)."""

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval, within [0, 1]."""
        half = _half(self.pseudo, level)
        if math.isnan(half):
            return math.nan, math.nan
        return max(self.lowest - half, 0.0), min(self.highest + half, 1.0)

    def difference(self, other: Evenness, level: float) -> tuple[float, float, float]:
        """Return the difference from another over the same blocks, and the ends of its interval."""
        value = self.value - other.value
        if len(self.pseudo) != len(other.pseudo):
            return value, math.nan, math.nan
        half = _half(self.pseudo - other.pseudo, level)
        low, high = self.lowest - other.highest, self.highest - other.lowest
        return value, low - half, high + half


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

    def equality(self) -> tuple[Evenness, Evenness]:
        """Return Equality (B) and (P)."""
        return noisy_evenness(self.appearances), noisy_evenness(self.weighed)


def noisy_evenness(exposures: Floats) -> Evenness:
    """Return 1 - Gini of the total exposures of items, from those of blocks, (B, m)."""
    shown = exposures[exposures.any(axis=1)]
    n, m = shown.shape
    total = shown.sum(axis=0)
    plain = ratio_jackknife(shown @ _steps(total), m * shown.sum(axis=1))
    if n < FEWEST or not plain.value > 0:
        value = min(1.0 - plain.value, 1.0)
        return Evenness(value, value, value, 1.0 - plain.pseudo)
    first = _splits(n)
    crossed, noise = _halves(shown, first)
    mixed = (2.0 * plain.value + crossed) / 3.0
    pseudo = 1.0 - plain.pseudo
    if n <= _FEW and n * _SPLITS * m <= _CELLS:
        pseudo = 1.0 - n * mixed + (n - 1) * _mixed_without_each(shown, first)
    if noise <= _NOISY * plain.value:
        value = _within(1.0 - mixed)
        return Evenness(value, value, value, pseudo)
    ends = sorted(_within(1.0 - gini) for gini in (mixed, crossed))
    return Evenness(sum(ends) / 2, ends[0], ends[1], pseudo)


def _splits(n: int) -> Floats:
    """Return which of n blocks are in the first half, 1 or 0, (splits, n)."""
    rng = np.random.default_rng(0)  # the same exposures have the same Equality every time
    first = np.zeros((_SPLITS, n))
    for split in first:
        split[rng.permutation(n)[: n // 2]] = 1.0
    return first


def _halves(shown: Floats, first: Floats) -> tuple[float, float]:
    """Return the Gini with items of one half ranked by the other, and the Gini of noise alone.

    Noise is what the exposures of two halves differ by.
    """
    scale = shown.shape[1] * shown.sum()
    own, other = first @ shown, (1.0 - first) @ shown  # (splits, m)
    apart = own - other
    apart -= apart.mean(axis=1, keepdims=True)
    noise = (_steps(apart - apart.min(axis=1, keepdims=True)) * apart).sum(axis=1)
    return float(_crossed(own, other).mean() / scale), float(noise.mean() / scale)


def _mixed_without_each(shown: Floats, first: Floats) -> Floats:
    """Return the mean of both ways without each block, (n,).

    With many blocks it varies as the plug-in does; with few, ranks by half of them vary more.
    """
    halves = first.T[:, :, None]  # (n, splits, 1)
    own = first @ shown - halves * shown[:, None, :]  # (n, splits, m)
    other = (1.0 - first) @ shown - (1.0 - halves) * shown[:, None, :]
    rest = shown.sum(axis=0) - shown  # (n, m)
    plain = (_steps(rest) * rest).sum(axis=1)
    mixed = (2.0 * plain + _crossed(own, other).mean(axis=1)) / 3.0
    return np.asarray(mixed / (shown.shape[1] * rest.sum(axis=1)))


def _crossed(own: Floats, other: Floats) -> Floats:
    """Return exposure times rank by the other half, (...), of halves of exposures, (..., m)."""
    return np.asarray((_steps(own) * other + _steps(other) * own).sum(axis=-1))


def _steps(exposure: Floats) -> Floats:
    """Return 2 rank - m - 1 of items, equal exposures sharing their ranks, (..., m)."""
    from scipy import stats

    most = exposure.max(axis=-1, keepdims=True, initial=0.0)
    grain = _GRAIN * np.where(most > 0, most, 1.0)
    ranks = stats.rankdata(np.rint(exposure / grain), method="average", axis=-1)
    return np.asarray(2.0 * ranks - exposure.shape[-1] - 1)


def _half(pseudo: Floats, level: float) -> float:
    low, high = Jackknife(0.0, pseudo).interval(level)
    return (high - low) / 2


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
