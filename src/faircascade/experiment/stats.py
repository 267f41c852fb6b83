"""What results over seeds mean: intervals, and paired tests corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from faircascade.types import Floats

LEVEL = 0.95
TEST = "paired t-test over seeds, two-sided, Holm-corrected"

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95% interval (Student's t)."""

    mean: float
    low: float
    """NaN with one seed, as `high` is."""
    high: float
    seeds: int


@dataclass(frozen=True)
class Contrast:
    """A policy against another, seed by seed."""

    difference: float
    """Mean of the differences."""
    percent: float
    """The difference of the means in percent of the other's; NaN if that is 0."""
    p: float
    """Of the paired t-test; NaN with one seed, 1 if no seed differs."""
    corrected: float
    """p after Holm's correction for all comparisons made together."""
    seeds: int


def estimate(values: Floats) -> Estimate:
    """Return the mean of values, one a seed, and its interval."""
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    if n < 2:
        return Estimate(mean, math.nan, math.nan, n)
    from scipy import stats  # slow to import, and needed only here

    half = float(stats.t.ppf(0.5 + LEVEL / 2, n - 1) * np.std(values, ddof=1) / math.sqrt(n))
    return Estimate(mean, mean - half, mean + half, n)


def contrasts(pairs: Mapping[K, tuple[Floats, Floats]]) -> dict[K, Contrast]:
    """Compare each pair of (own, other) values by seed; p-values are corrected over all pairs."""
    raw = {key: paired_p(own, other) for key, (own, other) in pairs.items()}
    corrected = holm(raw)
    return {
        key: Contrast(
            float(np.mean(own - other)) if len(own) else math.nan,
            _percent(own, other),
            raw[key],
            corrected[key],
            len(own),
        )
        for key, (own, other) in pairs.items()
    }


def paired_p(own: Floats, other: Floats) -> float:
    """Return the p-value of a paired t-test."""
    if len(own) < 2:
        return math.nan
    if np.array_equal(own, other):
        return 1.0
    from scipy import stats

    if np.ptp(own - other) == 0:  # the same difference every time leaves nothing to chance
        return 0.0
    return float(stats.ttest_rel(own, other).pvalue)


def holm(p: Mapping[K, float]) -> dict[K, float]:
    """Correct p-values for their number: Holm's step-down method. NaN stays NaN.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    tested = sorted((value, place) for place, value in enumerate(p.values()) if value == value)
    corrected = [math.nan] * len(p)
    least = 0.0
    for rank, (value, place) in enumerate(tested):
        least = max(least, min(1.0, value * (len(tested) - rank)))
        corrected[place] = least
    return dict(zip(p, corrected, strict=True))


def _percent(own: Floats, other: Floats) -> float:
    before = float(np.mean(other)) if len(other) else math.nan
    return 100.0 * (float(np.mean(own)) - before) / abs(before) if before else math.nan
