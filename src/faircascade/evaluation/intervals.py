"""Intervals over blocks of users: users are independent, the impressions of one user are not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from faircascade.evaluation.estimators.base import SlateEstimator, Sums
from faircascade.types import Floats

BLOCKS = 200
"""Blocks of users, of which few users leave some empty; an even number, see `click_rates.FOLDS`."""
FEWEST = 10
"""Blocks below which there are no intervals."""


@dataclass(frozen=True, eq=False)
class Jackknife:
    """An estimate and what each block of users makes of it."""

    value: float
    pseudo: Floats
    """Pseudo-values, whose mean is the estimate without its bias of order 1/blocks, (B,)."""
    used: int | None = None
    """Blocks that have something to say; None if all of them have."""

    @property
    def error(self) -> float:
        """Standard error; NaN with too few blocks."""
        n = len(self.pseudo)
        if self._used < FEWEST:
            return math.nan
        return float(self.pseudo.std(ddof=1) / math.sqrt(n))

    @property
    def skewness(self) -> float:
        """Of the pseudo-values; NaN if there is none."""
        spread = self.pseudo - self.pseudo.mean()
        size = math.sqrt(float((spread**2).mean()))
        return float((spread**3).mean()) / size**3 if size > 0 else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval: Student's t over blocks."""
        error = self.error
        if math.isnan(error):
            return math.nan, math.nan
        half = _quantile(level, self._used - 1) * error
        return self.value - half, self.value + half

    def minus(self, other: Jackknife) -> Jackknife:
        """Return the difference of two estimates over the same blocks."""
        used = min(self._used, other._used)
        return Jackknife(self.value - other.value, self.pseudo - other.pseudo, used)

    @property
    def _used(self) -> int:
        return len(self.pseudo) if self.used is None else self.used


@cache
def _quantile(level: float, freedom: int) -> float:
    """Return how many standard errors of Student's t an interval reaches."""
    from scipy import stats

    return float(stats.t.ppf((1 + level) / 2, freedom))


def jackknife(estimator: SlateEstimator, sums: Sums, occupied: NDArray[np.bool_]) -> Jackknife:
    """Return an estimate with what the blocks that have impressions make of it."""
    value = float(estimator.value(sums.total()))
    n = int(occupied.sum())
    rest = estimator.value(sums.without_each())[occupied] if n > 1 else np.full(n, value)
    used = int(((sums.slates > 0) & occupied).sum())
    return Jackknife(value, n * value - (n - 1) * rest, used)


def ratio_jackknife(above: Floats, below: Floats) -> Jackknife:
    """Return the ratio of two sums over blocks."""
    n, top, bottom = len(above), above.sum(), below.sum()
    value = float(top / bottom) if bottom else math.nan
    left = bottom - below
    rest = np.divide(top - above, left, out=np.full(n, value), where=left != 0)
    return Jackknife(value, n * value - (n - 1) * rest)
