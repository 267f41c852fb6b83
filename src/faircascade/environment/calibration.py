"""How well an environment made of a log foresees clicks of the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log import Log
from faircascade.fitting.forecasts import Forecasts
from faircascade.fitting.likelihood import log_likelihoods, predict
from faircascade.fitting.log_sample import LogSample
from faircascade.fitting.scores import SURE, Difference, difference, plain
from faircascade.fitting.user_sums import UserSlates
from faircascade.random import uniforms
from faircascade.types import Bools, Floats, Ints

_TAIL = 0.025
"""Of 95%, on each side."""
MOST_TESTED = 400_000
"""Impressions that are foreseen at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """Predicted and observed clicks of the last impressions of a log.

    Features and what users have in common are fitted to those before; what a user likes is known
    from all that the user did up to each position.
    """

    impressions: int
    shown: Ints
    """Impressions with something at a position, (K,)."""
    observed: Floats
    """Clicks over impressions by position, (K,)."""
    low: Floats
    high: Floats
    """Where the click rate is with 95%, users being drawn at random, (K,)."""
    predicted: Floats
    """Mean probability of a click by position, given the clicks above, (K,)."""
    log_likelihood: float
    """Per impression, given the clicks above."""
    gain_over_constant: Difference
    """Over predicting the click rate of the position, whatever stands there."""
    gain_over_item_means: Difference
    """Over clicks over looks of the item, for all users."""

    @property
    def covered(self) -> float:
        """Share of the positions whose predicted clicks are inside the interval."""
        there = self.shown > 0
        inside = (self.predicted >= self.low) & (self.predicted <= self.high)
        return float(inside[there].mean())

    def doubts(self) -> Iterator[str]:
        """Say that clicks are not foreseen: more than half of the positions are wrong, or click
        rates by position do better."""
        if self.covered < 0.5 or self.gain_over_constant.high < 0:
            yield (
                "the last clicks are not foreseen: the policy behind the log knows something that "
                "is not in it or in the features, or users have changed"
            )

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        found = {name: plain(value) for name, value in vars(self).items()}
        for name in ("gain_over_constant", "gain_over_item_means"):
            found[name] = {n: plain(float(v)) for n, v in vars(getattr(self, name)).items()}
        return found

    def lines(self) -> Iterator[str]:
        """Say it in words."""
        rows = zip(self.predicted, self.observed, self.low, self.high, strict=True)
        for place, (predicted, observed, low, high) in enumerate(rows, start=1):
            yield (
                f"position {place}: predicted {predicted:.4f}, observed {observed:.4f} "
                f"({low:.4f} to {high:.4f})"
            )
        for name, gain in (
            ("the click rate of the position", self.gain_over_constant),
            ("clicks over looks of the item", self.gain_over_item_means),
        ):
            yield (
                f"log-likelihood per impression {gain.mean:+.4f} ({gain.low:+.4f} to "
                f"{gain.high:+.4f}) against {name}"
            )


class _Test(NamedTuple):
    """Impressions that were foreseen."""

    users: NDArray[np.int32]
    clicks: Bools  # (n, K)
    present: Bools
    foreseen: Floats
    """Probability of a click at each position, given those above."""
    for_everybody: Floats
    """The same if attraction were the same for all users."""

    def __len__(self) -> int:
        return len(self.users)

    def log_likelihood(self, predicted: Floats) -> Floats:
        """Return that of each impression, (n,)."""
        return np.asarray(log_likelihoods(predicted, self.clicks, self.present).sum(axis=1))


def calibration(log: Log, forecasts: Forecasts, sample: LogSample, until: int) -> Calibration:
    """Compare what is foreseen with clicks, from impression `until` on. What comes before tells who
    the users are."""
    share, parts = MOST_TESTED / max(sample.of - until, 1), list[_Test]()
    for block in log.blocks():
        slates = UserSlates.of(block, sample.k, log.has_users)
        expected = forecasts.of(slates)
        numbers = np.arange(block.first, block.first + len(block))
        chosen = (numbers >= until) & (uniforms(0, "calibration", numbers) < share)
        if chosen.any():
            parts.append(_tested(slates.take(chosen), expected[chosen], forecasts))
    joined: Any = (np.concatenate(some) for some in zip(*parts, strict=True))
    test = _Test(*joined)
    shown = test.present.sum(axis=0)
    observed, error = _rates(test)
    low, high = _interval(observed, error, shown)
    constant = np.broadcast_to(np.clip(observed, 1e-9, 1 - 1e-9), test.clicks.shape)
    own = test.log_likelihood(test.foreseen)
    with np.errstate(invalid="ignore"):
        predicted = np.where(test.present, test.foreseen, 0.0).sum(axis=0) / shown
    return Calibration(
        impressions=len(test),
        shown=shown,
        observed=observed,
        low=low,
        high=high,
        predicted=predicted,
        log_likelihood=float(own.mean()),
        gain_over_constant=difference(own, test.log_likelihood(constant), test.users),
        gain_over_item_means=difference(own, test.log_likelihood(test.for_everybody), test.users),
    )


def _tested(slates: UserSlates, expected: Floats, forecasts: Forecasts) -> _Test:
    common = forecasts.preferences.click_rates[slates.items]
    foreseen, for_everybody = (
        predict(
            forecasts.click_model,
            np.where(slates.present, np.clip(attraction, 1e-6, 1 - 1e-6), 0.0),
            slates.items,
            slates.clicks,
        ).conditional
        for attraction in (expected, common)
    )
    return _Test(slates.users, slates.clicks, slates.present, foreseen, for_everybody)


def _rates(test: _Test) -> tuple[Floats, Floats]:
    """Return click rates by position and their standard errors over users, (K,) each."""
    _, user = np.unique(test.users, return_inverse=True)
    rates, errors = [], []
    for clicks, present in zip(test.clicks.T, test.present.T, strict=True):
        hits, shown = np.bincount(user, clicks), np.bincount(user, present)
        total, n = max(float(shown.sum()), 1.0), len(hits)
        rate = float(hits.sum()) / total
        spread = float(((hits - rate * shown) ** 2).sum()) * n / max(n - 1, 1)
        if n == 1:  # nobody to compare with: impressions count as independent
            spread = rate * (1.0 - rate) * total
        rates.append(rate)
        errors.append(np.sqrt(spread) / total)
    return np.array(rates), np.array(errors)


def _interval(rate: Floats, error: Floats, shown: Ints) -> tuple[Floats, Floats]:
    """Return where click rates are with 95%; where all impressions ended alike, as binomial
    probabilities of so many impressions are."""
    low, high = np.maximum(rate - SURE * error, 0.0), np.minimum(rate + SURE * error, 1.0)
    least = _TAIL ** (1.0 / np.maximum(shown, 1))
    return np.where(rate == 1.0, least, low), np.where(rate == 0.0, 1.0 - least, high)
