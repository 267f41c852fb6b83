"""Bounds on metrics: "clicks >= -3%" of the baseline's, or "clicks >= 0.35" whatever that has."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.experiment.stats import LEVEL, Interval, estimate
from faircascade.registry import lookup
from faircascade.types import Floats

_WRITTEN = re.compile(r"\s*(\w+)\s*(>=|<=)\s*([+-]?[\d.]+(?:e[+-]?\d+)?)\s*(%?)\s*", re.IGNORECASE)
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """What a metric must keep to."""

    metric: str
    sign: str
    """`>=` or `<=`."""
    value: float
    relative: bool
    """True for a change against the baseline in percent."""

    @classmethod
    def of(cls, written: Any) -> Bound:
        """Read a bound as it is written."""
        found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
        try:
            value = float(found[3]) if found else math.nan
        except ValueError:  # two points
            value = math.nan
        if found is None or not math.isfinite(value):
            raise ValueError(
                'a bound must be like "clicks >= -3%" (a change against the baseline) or '
                f'"clicks >= 0.35", got {written!r}'
            )
        lookup("metric", found[1])
        return cls(found[1], found[2], value, bool(found[4]))

    def __str__(self) -> str:
        return f"{self.metric} {self.sign} {self.shown(self.value)}"

    @property
    def allowed(self) -> float:
        """How far the bound lets a policy fall behind the baseline, as a share of it; 0 if it is
        absolute, or asks for more."""
        short = -self.value if self.sign == ">=" else self.value
        return short / 100.0 if self.relative and short > 0 else 0.0

    def shown(self, value: float) -> str:
        """Return a value as people read it: a change with its sign, or a plain number."""
        if math.isnan(value):
            return "–"
        return f"{value:+.3g}%" if self.relative else f"{value:.4g}"

    def measure(self, own: float, baseline: float) -> float:
        """Return what is held against the bound: the change in percent, or the metric itself."""
        if not self.relative:
            return own
        return 100.0 * (own - baseline) / abs(baseline) if baseline else math.nan

    def excess(self, own: float, baseline: float) -> float:
        """Return by how much a policy breaks the bound: a share of its scale; 0 or less if not."""
        limit = baseline + self.value / 100.0 * abs(baseline) if self.relative else self.value
        scale = abs(baseline if self.relative else limit) or 1.0
        found = (limit - own if self.sign == ">=" else own - limit) / scale
        return 0.0 if abs(found) <= _ROUNDING else found

    def verdict(self, own: Floats, baseline: Floats) -> BoundCheck:
        """Say how the bound fares over seeds, given a value of both policies for each."""
        means = [float(np.mean(values)) if len(values) else math.nan for values in (own, baseline)]
        if self.relative:
            interval = percent_interval(own, baseline)
        else:
            found = estimate(own)
            interval = Interval(found.low, found.high)
        return BoundCheck(
            self, self.measure(*means), interval, len(own), holds=self.excess(*means) <= 0
        )


@dataclass(frozen=True)
class BoundCheck:
    """How a bound fares over the seeds of a comparison."""

    bound: Bound
    measured: float
    """The change in percent, or the mean of the metric."""
    interval: Interval
    """Of what was measured, 95%."""
    seeds: int
    holds: bool
    """In the mean over seeds."""

    @property
    def is_sure(self) -> bool:
        """Say whether the interval is all on the side of the mean."""
        if math.isnan(self.interval.low):
            return False
        side = 1.0 if self.bound.sign == ">=" else -1.0
        limit = side * self.bound.value  # of what must be at least that
        worst, best = sorted((side * self.interval.low, side * self.interval.high))
        return worst >= limit if self.holds else best < limit

    def __str__(self) -> str:
        shown = self.bound.shown
        low, high = self.interval.low, self.interval.high
        if math.isnan(low):
            doubt, interval = " (as far as that can be said without an interval)", ""
        else:
            doubt = "" if self.is_sure else " in the mean, but the interval reaches across"
            interval = f", 95% interval {shown(low)} to {shown(high)}"
        kept = "holds" if self.holds else "does not hold"
        seeds = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        return f"{self.bound} {kept}{doubt}: {shown(self.measured)}{interval} ({seeds})"

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        numbers = {
            "measured": self.measured,
            "low": self.interval.low,
            "high": self.interval.high,
        }
        return {
            "bound": str(self.bound),
            **{name: None if math.isnan(value) else value for name, value in numbers.items()},
            "seeds": self.seeds,
            "holds": self.holds,
            "sure": self.is_sure,
        }


def percent_interval(own: Floats, other: Floats) -> Interval:
    """Return the 95% interval of the change of a mean in percent of another's, seed by seed.

    Fieller's: a change of q is inside if a paired t-test cannot tell own from (1 + q) other. It
    knows that both means are uncertain, and that they vary together.
    """
    n = len(own)
    if n < 2:
        return Interval(math.nan, math.nan, "one seed" if n else "no seed")
    if np.isnan(own).any() or np.isnan(other).any():
        return Interval(math.nan, math.nan, "a seed without a value")
    from scipy import stats

    difference, base = own - other, float(np.mean(other))
    t = float(stats.t.ppf((1 + LEVEL) / 2, n - 1))
    spread = t**2 / n * np.cov(difference, other)  # (2, 2)
    # (mean difference - q base)^2 <= t^2 variance(difference - q other) / n, a parabola in q
    mean = float(np.mean(difference))
    a = base**2 - float(spread[1, 1])
    b = base * mean - float(spread[0, 1])
    c = mean**2 - float(spread[0, 0])
    if a <= 0:
        return Interval(math.nan, math.nan, "the baseline may as well be 0")
    root = math.sqrt(max(0.0, b**2 - a * c))
    low, high = sorted(100.0 * math.copysign(1.0, base) * (b + side * root) / a for side in (-1, 1))
    return Interval(low, high)


def total_excess(excesses: Sequence[float]) -> float:
    """Return by how much some bounds are broken together; 0 if all hold."""
    return sum(max(0.0, excess) for excess in excesses)
