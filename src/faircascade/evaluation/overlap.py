"""Whether a log can say something of a policy: how its importance weights are spread."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faircascade.evaluation.estimators.slates import last_positions
from faircascade.evaluation.intervals import Jackknife, ratio_jackknife
from faircascade.types import Bools, Floats, Ints

_PER_DECADE = 50
_LOWEST, _HIGHEST = -6, 9
"""Decades of weights that are told apart."""
TOP = 0.01


@dataclass(frozen=True, eq=False)
class Overlap:
    """How far the slates of a policy could have come up in a log, by its importance weights."""

    kind: str
    """What the weights are of: slate, cascade, item_position."""
    mass: float
    """Mean weight: the share of what the policy would show that the log could show. 1 is all."""
    mass_low: float
    mass_high: float
    effective: float
    """Effective sample size: impressions of the policy itself that would say as much."""
    share: float
    """That over the impressions."""
    largest: float
    """The largest weight."""
    top_share: float
    """Share of all weight that the heaviest 1% of impressions have."""
    zero: float
    """Share of impressions with weight 0."""
    edges: Floats
    """Of the histogram of weights, (bins + 1,)."""
    counts: Floats
    """Impressions in each bin, those of weight 0 left out, (bins,)."""


class WeightSums:
    """Adds up importance weights of one kind.

    A slate counts with the weight of its last position, where weights of items down to a position
    are spread most; with the mean of its positions if these have weights of their own.
    """

    def __init__(self, kind: str, blocks: int) -> None:
        """Begin with nothing, for so many blocks of users."""
        self.kind = kind
        bins = (_HIGHEST - _LOWEST) * _PER_DECADE
        self._counts, self._weights = np.zeros(bins + 1), np.zeros(bins + 1)
        self._by_block, self._slates = np.zeros(blocks), np.zeros(blocks)
        self._squares = self._largest = 0.0

    def add(self, weights: Floats, usable: Bools, known: Bools, blocks: Ints) -> None:
        """Add the weights of slates, (n, K)."""
        rows = np.flatnonzero(usable)
        if not len(rows):
            return
        if self.kind == "item_position":
            weight = weights[rows].sum(axis=1) / np.maximum(known[rows].sum(axis=1), 1)
        else:
            weight = weights[rows, last_positions(known[rows])]
        n = len(self._by_block)
        self._by_block += np.bincount(blocks[rows], weights=weight, minlength=n)
        self._slates += np.bincount(blocks[rows], minlength=n)
        self._squares += float((weight**2).sum())
        self._largest = max(self._largest, float(weights[rows].max()))
        with np.errstate(divide="ignore"):
            place = np.floor((np.log10(weight) - _LOWEST) * _PER_DECADE) + 1
        place = np.clip(place, 1, len(self._counts) - 1)
        place = np.where(weight > 0, place, 0).astype(np.int64)
        self._counts += np.bincount(place, minlength=len(self._counts))
        self._weights += np.bincount(place, weights=weight, minlength=len(self._counts))

    @property
    def effective(self) -> float:
        """Effective sample size, in impressions of the policy itself."""
        total = float(self._by_block.sum())
        return total**2 / self._squares if self._squares else 0.0

    def overlap(self, level: float) -> Overlap | None:
        """Return what the weights say; None if there are none."""
        n, total = self._slates.sum(), self._by_block.sum()
        if not n:
            return None
        mass = self._mass()
        low, high = mass.interval(level)
        edges = 10.0 ** (_LOWEST + np.arange(len(self._counts)) / _PER_DECADE)
        return Overlap(
            kind=self.kind,
            mass=mass.value,
            mass_low=low,
            mass_high=high,
            effective=self.effective,
            share=float(self.effective / n),
            largest=self._largest,
            top_share=self._top_share(n, total),
            zero=float(self._counts[0] / n),
            edges=edges,
            counts=self._counts[1:],
        )

    def _mass(self) -> Jackknife:
        there = self._slates > 0
        return ratio_jackknife(self._by_block[there], self._slates[there])

    def _top_share(self, n: float, total: float) -> float:
        if not total:
            return math.nan
        above = np.cumsum(self._counts[::-1])
        weight = np.cumsum(self._weights[::-1])
        return float(np.interp(TOP * n, np.append(0.0, above), np.append(0.0, weight)) / total)
