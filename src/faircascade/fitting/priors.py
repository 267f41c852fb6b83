"""What parameters are taken to be before anything was counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.types import Floats


class Prior(NamedTuple):
    """Some imagined trials and how many of them succeeded: Beta(1 + successes, 1 + failures)."""

    successes: float
    failures: float

    @classmethod
    def of(cls, strength: float, rate: float) -> Prior:
        """Return so many trials at a rate."""
        return cls(strength * rate, strength * (1.0 - rate))

    @property
    def rate(self) -> float:
        """Return what is believed of what was never tried."""
        total = self.successes + self.failures
        return self.successes / total if total else 0.5

    def estimate(self, successes: Any, trials: Any) -> Floats:
        """Return the most probable rates given successes of trials; the prior's without any."""
        top = np.asarray(successes, dtype=np.float64) + self.successes
        bottom = np.asarray(trials, dtype=np.float64) + self.successes + self.failures
        found = np.divide(top, bottom, out=np.full(top.shape, self.rate), where=bottom > 0)
        return np.asarray(np.minimum(found, 1.0))

    def log_density(self, rates: Any) -> float:
        """Return the logarithm of the prior's density at rates, but for a constant."""
        from scipy.special import xlog1py, xlogy

        values = np.asarray(rates, dtype=np.float64)
        return float(np.sum(xlogy(self.successes, values) + xlog1py(self.failures, -values)))


class Priors(NamedTuple):
    """Those of attraction, and of all other parameters."""

    attraction: Prior
    others: Prior

    @classmethod
    def of(cls, smoothing: float, click_rate: float) -> Priors:
        """Return one imagined impression (times `smoothing`) for each parameter: clicked at the
        click rate of the log, or, of other parameters, a success as likely as not."""
        return cls(Prior.of(smoothing, click_rate), Prior.of(smoothing, 0.5))


def prior_words(smoothing: float, click_rate: float) -> str:
    """Say what is taken to be known before."""
    if smoothing == 0:
        return "none: maximum likelihood"
    return (
        f"imagined impressions of each item, {smoothing:g} at a click rate of {click_rate:.3g}; "
        f"imagined trials of every other parameter, {smoothing:g}, half of them successes"
    )
