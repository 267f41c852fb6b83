"""Intervals that hold at every look: an experiment may be watched, and stopped at any time.

Users are independent; the slates of one user are not. Users are hashed into blocks, and all that is
kept of an arm are sums by block. A look estimates from them, with the error that the differences
between blocks show.

An estimate D(t) has an error D(t) - D and information I(t) = 1 / var D(t). If the data of before s
should not count more than they do at a later t, cov(D(s), D(t)) >= var D(t), and the error in
standard errors is correlated with its past at least as much as a Brownian motion is that is run by
the clock I; so it crosses a growing bound at most as often (Slepian 1962). That is so if users come
once, with equality ("independent increments" of group sequential tests), and if they return with
tastes that last: then little news comes between looks, and information hardly grows. The bound is
that of Robbins and Siegmund (1970) for a Brownian motion watched from I0 on: it stays within
sqrt(a^2 + log(I / I0)) standard errors at all times with probability 1 - 2 (1 - Phi(a) + a phi(a)).
I is estimated, as in asymptotic confidence sequences (Waudby-Smith et al. 2024; with this bound
Bibaut, Kallus and Lindon 2022); quantiles are Student's, for blocks are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from faircascade.errors import ParameterError
from faircascade.evaluation.intervals import ratio_jackknife
from faircascade.types import Floats, Ints

BLOCKS = 128
"""Blocks of users, by hash."""
BURN_IN = 10.0
"""Effective blocks of every arm before the first interval."""
_FREEDOM = 2.0
"""Degrees of freedom that a variance has at least; a late heavy user may leave it fewer."""
_ROUNDING = 1e-9
"""Differences between blocks of less than this share of the value are none."""
_MOST = 1e6
"""Times as many slates beyond which no more are foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the blocks of users say at one look."""

    value: float
    variance: float
    """Of the value; NaN with less than two blocks."""
    blocks: float
    """Effective blocks, of the arm that has fewer: as many equal ones tell the variance as well."""
    freedom: float
    """Degrees of freedom of the variance."""
    bias: float = 0.0
    """How far the value may be off on either side for other reasons than chance."""
    correction: float = 0.0
    """What was added to the plain value to take a known bias away."""

    @classmethod
    def of_pseudo(cls, value: float, pseudo: Floats, bias: float = 0.0) -> Estimate:
        """Return an estimate with what each block makes of it, (B,)."""
        n = len(pseudo)
        if n < 2:
            return cls(value=value, variance=math.nan, blocks=0.0, freedom=0.0, bias=bias)
        apart = pseudo - pseudo.mean()
        if float(np.abs(apart).max()) <= _ROUNDING * abs(value):
            apart = np.zeros(n)
        second, fourth = float((apart**2).sum()), float((apart**4).sum())
        blocks = min(3.0 * second**2 / fourth, float(n)) if fourth > 0 else 0.0
        variance = second / (n * (n - 1))
        return cls(value=value, variance=variance, blocks=blocks, freedom=blocks - 1.0, bias=bias)

    @classmethod
    def ratio(cls, above: Ints | Floats, below: Ints | Floats) -> Estimate:
        """Return the ratio of two sums over blocks, such as clicks to slates, (B,) each.

        >>> Estimate.ratio(np.array([1, 3]), np.array([4, 4])).value
        0.5
        """
        used = below > 0
        found = ratio_jackknife(above[used].astype(np.float64), below[used].astype(np.float64))
        return cls.of_pseudo(found.value, found.pseudo)

    @property
    def ready(self) -> bool:
        """True once there are enough blocks to tell the variance."""
        return self.blocks >= BURN_IN and self.variance > 0

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference from another arm's, which has other users."""
        variance = self.variance + other.variance
        parts = [one.variance**2 / max(one.freedom, 1e-9) for one in (self, other)]
        return Estimate(
            value=self.value - other.value,
            variance=variance,
            blocks=min(self.blocks, other.blocks),
            freedom=variance**2 / sum(parts) if sum(parts) > 0 else 0.0,  # Welch and Satterthwaite
            bias=self.bias + other.bias,
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSequence:
    """Intervals that all contain the truth, at every look, with probability `level`."""

    level: float = 0.95
    origin: float | None = None
    """Information at the first look with enough blocks, I0; None before. All there is to store."""

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ParameterError("level", "must be between 0 and 1", self.level)
        if self.origin is not None and not 0 < self.origin < math.inf:
            raise ParameterError("origin", "must be > 0", self.origin)

    def look(self, estimate: Estimate) -> ConfidenceSequence:
        """Return the sequence after a look; the first one with enough blocks sets its origin."""
        if self.origin is None and estimate.ready:
            return replace(self, origin=1.0 / estimate.variance)
        return self

    def interval(self, estimate: Estimate) -> Interval | None:
        """Return the interval at a look; None before there are enough blocks."""
        half = self.half_width(estimate)
        if half is None:
            return None
        return Interval(estimate.value - half, estimate.value + half)

    def half_width(self, estimate: Estimate, growth: float = 1.0) -> float | None:
        """Return half the width of the interval, or of one after `growth` times as many slates.

        A bias is taken to shrink no faster than the error does.
        """
        if self.origin is None or not estimate.variance > 0:
            return None
        variance = estimate.variance / growth
        reach = bound(self.level, 1.0 / (variance * self.origin), estimate.freedom)
        return reach * math.sqrt(variance) + estimate.bias / math.sqrt(growth)

    def growth(self, estimate: Estimate, target: float) -> float | None:
        """Return how many times the slates of now make half the width `target`, at least 1.

        None if no number of slates would, or nothing is known yet.
        """
        now, most = self.half_width(estimate), self.half_width(estimate, _MOST)
        if now is None or most is None or most > target:
            return None
        if now <= target:
            return 1.0
        from scipy.optimize import brentq

        def beyond(log_growth: float) -> float:
            half = self.half_width(estimate, math.exp(log_growth))
            return (0.0 if half is None else half) - target

        return math.exp(float(brentq(beyond, 0.0, math.log(_MOST))))


def bound(level: float, growth: float, freedom: float) -> float:
    """Return how many standard errors an interval reaches at `growth` times the information of I0.

    >>> [round(bound(0.95, growth, 1e9), 2) for growth in (1, 10, 100)]
    [2.8, 3.18, 3.52]
    """
    from scipy.special import ndtr, stdtrit

    reach = math.sqrt(_start(level) ** 2 + math.log(max(growth, 1.0)))
    return -float(stdtrit(max(freedom, _FREEDOM), ndtr(-reach)))


@lru_cache(maxsize=64)
def _start(level: float) -> float:
    """Return a, with 2 (1 - Phi(a) + a phi(a)) = 1 - level."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def beyond(a: float) -> float:
        density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)
        return 2.0 * float(ndtr(-a) + a * density) - (1.0 - level)

    return float(brentq(beyond, 1.0, 40.0))
