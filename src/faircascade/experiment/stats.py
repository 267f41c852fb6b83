"""What results over seeds mean: intervals, paired tests corrected for their number, effects.

A seed stands for users, their split and all draws. Two policies with the same seed meet the same of
each, so that they are compared by their differences, seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from faircascade.errors import check_choice
from faircascade.types import Floats

LEVEL = 0.95
_FEW = 5
"""Seeds below which a t-test says little."""
Test = Literal["t", "wilcoxon"]
TESTS: Mapping[str, str] = {
    "t": "paired t-test over seeds, two-sided, Holm-corrected",
    "wilcoxon": "Wilcoxon signed-rank test over paired seeds, two-sided, Holm-corrected",
}
"""What each test is called on a page."""
RESAMPLES = 9_999
BOOTSTRAP_SEED = 0
"""The same values have the same interval every time."""

_ROUNDING = 1e-12
"""Differences of less than this share of the values are none."""

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
class Interval:
    """Two ends, or the reason why there are none."""

    low: float
    high: float
    why_not: str = ""
    """Empty if there is an interval."""


class Wins(NamedTuple):
    """In how many seeds a policy does better than another, equal to it, and worse."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class Contrast:
    """A policy against another, seed by seed."""

    difference: float
    """Mean of the differences."""
    low: float
    """Of the 95% interval of that mean (Student's t); NaN with one seed, as `high` is."""
    high: float
    percent: float
    """The difference of the means in percent of the other's; NaN if that is 0."""
    p: float
    """Of the paired test; NaN with one seed, 1 if no seed differs."""
    corrected: float
    """p after Holm's correction for all comparisons made together."""
    cohen_dz: float
    """Cohen's d for paired data, d_z: the mean of the differences in units of their own standard
    deviation. NaN with one seed, or if all differences are the same."""
    above: int
    """Seeds with a greater value than the other's; then those with the same, and with a smaller."""
    equal: int
    below: int
    seeds: int

    @property
    def percents(self) -> tuple[float, float]:
        """The ends of the interval in percent of the other's mean; NaN where there is none."""
        one = self.percent / self.difference if self.difference else math.nan
        return self.low * one, self.high * one

    @property
    def hedges_gz(self) -> float:
        """d_z without its bias (Hedges' correction); NaN with fewer than three seeds.

        Over few seeds d_z is too large in the mean: by a quarter with five.
        """
        return hedges(self.seeds) * self.cohen_dz

    def wins(self, *, higher_is_better: bool) -> Wins:
        """Return for how many seeds the policy does better, the same and worse."""
        better, worse = (self.above, self.below) if higher_is_better else (self.below, self.above)
        return Wins(better, self.equal, worse)


def estimate(values: Floats) -> Estimate:
    """Return the mean of values, one for each seed, and its interval."""
    n = len(values)
    mean = math.fsum(values) / n if n else math.nan
    if n < 2:
        return Estimate(mean, math.nan, math.nan, n)
    if np.ptp(values) <= _tolerance(values):
        return Estimate(mean, mean, mean, n)
    from scipy import stats  # slow to import, and needed only here

    low, high = stats.t.interval(LEVEL, n - 1, loc=mean, scale=stats.sem(values))
    return Estimate(mean, float(low), float(high), n)


def bootstrap_interval(values: Floats) -> Interval:
    """Return the 95% interval of the mean by the bootstrap (BCa, `RESAMPLES` resamples).

    It does not take values to be normal, but is too short over few seeds: of normal values it
    covers the mean in 73% of all cases with three, 83% with five and 91% with ten, where Student's
    has 95%.
    """
    if len(values) < 2:
        return _no_interval("one seed" if len(values) else "no seed")
    if np.isnan(values).any():
        return _no_interval("a seed without a value")
    middle, size = math.fsum(values) / len(values), float(np.ptp(values))
    if size <= _tolerance(values):
        return _no_interval("the same value for every seed")
    from scipy import stats

    def mean(sample: Floats, axis: int = -1) -> Floats:
        """Resamples of the same values in another order must tie, so rounding is cut off."""
        return np.asarray(sample.mean(axis=axis)).round(12)

    found = stats.bootstrap(
        (np.sort((values - middle) / size),),  # sorted: the order of seeds does not matter
        mean,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="BCa",
        rng=np.random.default_rng(BOOTSTRAP_SEED),
    ).confidence_interval
    return Interval(middle + size * float(found.low), middle + size * float(found.high))


def contrasts(pairs: Mapping[K, tuple[Floats, Floats]], *, test: Test = "t") -> dict[K, Contrast]:
    """Compare each pair of (own, other) values by seed; p-values are corrected over all pairs."""
    raw = {key: paired_p(own, other, test=test) for key, (own, other) in pairs.items()}
    corrected = holm(raw)
    return {key: _contrast(*pair, raw[key], corrected[key]) for key, pair in pairs.items()}


def paired_p(own: Floats, other: Floats, *, test: Test = "t") -> float:
    """Return the two-sided p-value of a paired test: Student's t, or Wilcoxon's signed ranks."""
    check_test(test)
    differences = _differences(own, other)
    if len(own) < 2 or np.isnan(differences).any():
        return math.nan
    if not differences.any():
        return 1.0
    from scipy import stats

    if test == "wilcoxon":
        scale = float(np.abs(differences).max())
        return float(stats.wilcoxon((differences / scale).round(12)).pvalue)  # ties are ties
    if np.ptp(differences) <= _tolerance(own, other):
        return 0.5 ** (len(own) - 1)  # t has no value; that of the sign test is beyond doubt
    return float(stats.ttest_rel(own, other).pvalue)


def holm(p: Mapping[K, float]) -> dict[K, float]:
    """Correct p-values for their number: Holm's step-down method. NaN stays NaN.

    Of three, the least is taken times 3, the next times 2, the last as it is, and none may come
    out below one before it: 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, and 0.04 x 1 is raised to 0.06.

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


def hedges(seeds: int) -> float:
    """Return Hedges' correction of d_z: what makes it right in the mean; NaN below three seeds.

    >>> [round(hedges(n), 3) for n in (3, 5, 10, 30)]
    [0.564, 0.798, 0.914, 0.974]
    """
    if seeds < 3:
        return math.nan
    free = seeds - 1
    return math.exp(math.lgamma(free / 2) - math.lgamma((free - 1) / 2)) / math.sqrt(free / 2)


def least_p(seeds: int, test: Test = "t") -> float:
    """Return the least p-value that a test can give: NaN with one seed.

    Wilcoxon's test knows differences by rank and sign alone, and all n signs agree by luck with a
    probability of 2 x 2^-n.

    >>> least_p(5, "wilcoxon"), least_p(5), least_p(1)
    (0.0625, 0.0, nan)
    """
    check_test(test)
    if seeds < 2:
        return math.nan
    return 2.0 ** (1 - seeds) if test == "wilcoxon" else 0.0


def too_few_seeds(seeds: int, *, test: Test = "t", comparisons: int = 1) -> str:
    """Say that seeds are too few for any of some comparisons to be significant; else nothing."""
    least, edge = least_p(seeds, test), 1 - LEVEL
    if seeds < 2:
        shared = "only one seed" if seeds else "no seed in common"
        return f"With {shared} there are no intervals and no tests."
    if test == "t" and seeds < _FEW:
        return (
            f"With {seeds} seeds a t-test depends on normal differences, which so few seeds "
            f"cannot show; use {_FEW} or more."
        )
    if max(comparisons, 1) * least < edge:
        return ""
    needed = next(n for n in range(2, 10_000) if max(comparisons, 1) * least_p(n, test) < edge)
    words = f"With {seeds} seeds p cannot be below {least:.4g}"
    if comparisons > 1:
        after = min(1.0, comparisons * least)
        words += f", which the correction for {comparisons:,} comparisons makes {after:.3g}"
    return (
        f"{words}, so that nothing can be significant (p < {edge:.2g}) by Wilcoxon's test: at "
        f"least {needed} seeds are needed."
    )


def count_tested(found: Mapping[Any, Contrast]) -> int:
    """Return how many comparisons p-values are corrected for."""
    return sum(not math.isnan(change.corrected) for change in found.values())


def too_few(found: Mapping[Any, Contrast], test: Test) -> str:
    """Say of comparisons that there are too few seeds for them; nothing if there are enough."""
    pairs = max((change.seeds for change in found.values()), default=0)
    return too_few_seeds(pairs, test=test, comparisons=count_tested(found)) if found else ""


def check_test(test: str) -> None:
    """Refuse a test that there is not."""
    check_choice("test", test, TESTS)


def _contrast(own: Floats, other: Floats, p: float, corrected: float) -> Contrast:
    differences = _differences(own, other)
    mean = float(np.mean(own - other)) if len(own) else math.nan
    low, high, effect = math.nan, math.nan, math.nan
    if len(own) > 1 and np.ptp(differences) <= _tolerance(own, other):
        low = high = mean
    elif len(own) > 1 and not np.isnan(differences).any():
        from scipy import stats

        low, high = map(float, stats.ttest_rel(own, other).confidence_interval(LEVEL))
        effect = mean / float(np.std(own - other, ddof=1))
    return Contrast(
        difference=mean,
        low=low,
        high=high,
        percent=_percent(own, other),
        p=p,
        corrected=corrected,
        cohen_dz=effect,
        above=int((differences > 0).sum()),
        equal=int((differences == 0).sum()),
        below=int((differences < 0).sum()),
        seeds=len(own),
    )


def _no_interval(reason: str) -> Interval:
    return Interval(math.nan, math.nan, why_not=reason)


def _differences(own: Floats, other: Floats) -> Floats:
    """Return own - other, with 0 for what is rounding alone."""
    found = np.asarray(own - other, dtype=np.float64)
    return np.where(np.abs(found) <= _tolerance(own, other), 0.0, found)


def _tolerance(*values: Floats) -> float:
    return _ROUNDING * max((float(np.abs(of).max()) for of in values if len(of)), default=0.0)


def _percent(own: Floats, other: Floats) -> float:
    if not len(own):
        return math.nan
    before = float(np.mean(other))
    return 100.0 * (float(np.mean(own)) - before) / abs(before) if before else math.nan
