"""95% intervals over users, from counts of blocks of users; rows are never drawn.

Users are in b blocks by a hash, so that blocks are alike and all of this holds however many
impressions a user has. T is a number of the whole log.

- Smooth numbers: the jackknife. T_j is without block j and T. their mean. The error is
  sqrt((b − 1)/b Σ (T_j − T.)²), and b T − (b − 1) T. is T without the part of its bias that
  falls as 1/n. The interval lies around that. If T itself is outside, because few impressions are
  far from what many would show, the interval goes on until T.
- Evenness (1 − Gini, shares of the most shown): chance makes exposure look less even than it is.
  Where items differ by more than chance, that bias falls as 1/n and the jackknife removes it. Where
  they do not, it falls as 1/√n, and the jackknife removes half. The interval covers both: it is
  longer by the correction, on the side to which that points.
- Extremes (ranks, the worst-off of all, distances near 0): T jumps, or turns, as blocks are left
  out, which the jackknife cannot bear. The error is the root of the mean square of the distance
  between T and its value in halves of the blocks; halves are balanced, that is, any two share half
  of their blocks. The interval lies around T itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from faircascade.types import Bools, Floats

BLOCKS = 32
"""Blocks of users; a power of 2, for which there are balanced halves."""
FEWEST = 8
"""Blocks with users in them that an interval takes."""

Bounds = tuple[float, float]
"""The least and the greatest value that a number can have."""
ANY: Bounds = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of a log, and what it would be with other users of the same kind."""

    value: float
    """In the log."""
    corrected: float
    """Without the bias that comes from having few users, as far as it can be removed."""
    low: float
    """The 95% interval; NaN if there are too few users."""
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """Return plain numbers, None where there is none."""
        found = {"value": self.value, "corrected": self.corrected}
        found |= {"low": self.low, "high": self.high}
        return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> float | None:
    """Return a number for JSON."""
    number = float(value)
    return number if np.isfinite(number) else None


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The same of many numbers, (n,) each."""

    value: Floats
    corrected: Floats
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.value)

    @property
    def at_an_end(self) -> Bools:
        """Whether an interval had to be made longer to reach the value, (n,)."""
        above, below = self.corrected > self.value, self.corrected < self.value
        found: Bools = (above & (self.low == self.value)) | (below & (self.high == self.value))
        return found

    def __getitem__(self, row: int) -> Estimate:
        return Estimate(
            *(float(each[row]) for each in (self.value, self.corrected, self.low, self.high))
        )


Interval = Callable[[Floats, Floats, Bounds], Estimates]
"""From numbers of the whole log (n,) and of its parts (parts, n)."""


def smooth(whole: Floats, without: Floats, bounds: Bounds = ANY) -> Estimates:
    """Return numbers with jackknife intervals; `without` has one row for each block left out."""
    if len(without) < FEWEST:
        return no_interval(whole)
    corrected, half = _jackknife(whole, without)
    return _within(bounds, whole, corrected, corrected - half, corrected + half)


def evenness(whole: Floats, without: Floats, bounds: Bounds = ANY) -> Estimates:
    """Return the same for numbers with an absolute value in them, which chance makes look worse."""
    if len(without) < FEWEST:
        return no_interval(whole)
    corrected, half = _jackknife(whole, without)
    low, high = corrected - half, corrected + half
    further = corrected - whole
    return _within(
        bounds, whole, corrected, low + np.minimum(further, 0), high + np.maximum(further, 0)
    )


def extreme(whole: Floats, halves: Floats, bounds: Bounds = ANY) -> Estimates:
    """Return numbers with half-sample intervals; `halves` has one row for each half."""
    if not len(halves):
        return no_interval(whole)
    error = np.sqrt(((halves - whole) ** 2).mean(axis=0))
    half = quantile(len(halves)) * error
    return _within(bounds, whole, whole, whole - half, whole + half)


def left_out(blocks: Bools) -> Bools:
    """Return which blocks each jackknife sample has, (samples, b): all but one that has users.

    There is none if too few have users.
    """
    if np.count_nonzero(blocks) < FEWEST:
        return np.zeros((0, len(blocks)), dtype=bool)
    return np.array([np.arange(len(blocks)) != j for j in np.flatnonzero(blocks)])


def balanced_halves(blocks: Bools) -> Bools:
    """Return which blocks each half has, (samples, b); none if too few have users.

    >>> halves = balanced_halves(np.ones(BLOCKS, dtype=bool)).astype(int)
    >>> halves.shape, set(halves.sum(axis=1).tolist()), (halves @ halves.T)[0, 1:4].tolist()
    ((31, 32), {16}, [8, 8, 8])
    """
    if np.count_nonzero(blocks) < FEWEST:
        return np.zeros((0, len(blocks)), dtype=bool)
    from scipy.linalg import hadamard

    rows: Bools = hadamard(len(blocks))[1:] > 0
    return rows


@cache
def quantile(freedom: int) -> float:
    """Return the 97.5% quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))


def _jackknife(whole: Floats, without: Floats) -> tuple[Floats, Floats]:
    """Return corrected numbers and half the width of their intervals."""
    b = len(without)
    mean = without.mean(axis=0)
    error = np.sqrt((b - 1) / b * ((without - mean) ** 2).sum(axis=0))
    return b * whole - (b - 1) * mean, quantile(b - 1) * error


def _within(
    bounds: Bounds, whole: Floats, corrected: Floats, low: Floats, high: Floats
) -> Estimates:
    low, high = np.minimum(low, whole), np.maximum(high, whole)
    return Estimates(whole, *(np.clip(each, *bounds) for each in (corrected, low, high)))


def no_interval(whole: Floats) -> Estimates:
    """Return numbers alone."""
    nothing = np.full(len(whole), np.nan)
    return Estimates(whole, nothing, nothing, nothing)
