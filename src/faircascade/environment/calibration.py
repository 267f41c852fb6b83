"""How well an environment made of a log predicts clicks of the log that were held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.environment.log_sums import HeldOut
from faircascade.fitting.likelihood import log_likelihoods, predict
from faircascade.fitting.scores import SURE, Difference, difference, plain
from faircascade.types import Floats, Ints

_AT_ONCE = 1 << 15


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """Predicted and observed clicks of impressions that no preference was made of."""

    impressions: int
    shown: Ints
    """Impressions with something at a position, (K,)."""
    observed: Floats
    """Clicks over impressions by position, (K,)."""
    low: Floats
    high: Floats
    """Where the click rate is with 95%, users being drawn at random, (K,)."""
    predicted: Floats
    """Mean probability of a click by position, (K,)."""
    log_likelihood: float
    """Per impression, given the clicks above."""
    gain_over_constant: Difference
    """Over predicting the click rate of the position, whatever stands there."""
    gain_over_item_means: Difference
    """Over the same attraction for all users."""
    shrinkage: tuple[float, ...]
    """Looks of a user after which what they clicked counts half: for how much they click at all,
    then for what they prefer; infinite where nothing personal predicts better."""
    level: float
    """What attraction was multiplied by, so that clicks add up to those that were held out."""

    @property
    def covered(self) -> float:
        """Share of the positions whose predicted clicks are inside the interval."""
        there = self.shown > 0
        inside = (self.predicted >= self.low) & (self.predicted <= self.high)
        return float(inside[there].mean())

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        found = {name: plain(value) for name, value in vars(self).items()}
        found["shrinkage"] = [plain(value) for value in self.shrinkage]
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
            ("the same attraction for all users", self.gain_over_item_means),
        ):
            yield (
                f"log-likelihood per impression {gain.mean:+.4f} ({gain.low:+.4f} to "
                f"{gain.high:+.4f}) against {name}"
            )


def attraction_of_held_out(features: Floats, preferences: Floats, held: HeldOut) -> Floats:
    """Return the attraction of held-out items for their users, (n, K)."""
    found = np.empty(held.items.shape)
    for first in range(0, len(held), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        theta = preferences[held.users[part]]
        found[part] = np.einsum("nkd,nd->nk", features[held.items[part]], theta)
    return found


def log_likelihood(model: ClickModel, attraction: Floats, held: HeldOut) -> Floats:
    """Return the log-likelihood of each impression, (n,)."""
    w = np.where(held.present, np.clip(attraction, 1e-6, 1 - 1e-6), 0.0)
    found = predict(model, w, held.items, held.clicks).conditional
    return np.asarray(log_likelihoods(found, held.clicks, held.present).sum(axis=1))


def predicted_clicks(model: ClickModel, attraction: Floats, held: HeldOut) -> Floats:
    """Return the probability of a click at each position, knowing no click, (n, K)."""
    w = np.where(held.present, np.clip(attraction, 0.0, 1.0), 0.0)
    return np.asarray(predict(model, w, held.items, held.clicks).marginal)


def level_of(model: ClickModel, attraction: Floats, held: HeldOut) -> float:
    """Return the factor of attraction with which as many clicks are predicted as there are; 1 if
    what is predicted without it differs from them by no more than chance."""
    wanted, low, high = float(held.clicks.sum()), 0.25, 4.0
    if not len(held) or not wanted:
        return 1.0
    plain_clicks = float(predicted_clicks(model, attraction, held).sum())
    if abs(plain_clicks - wanted) < SURE * np.sqrt(wanted):
        return 1.0
    for _ in range(20):
        middle = np.sqrt(low * high)
        enough = predicted_clicks(model, middle * attraction, held).sum() >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return float(np.sqrt(low * high))


def calibration(
    model: ClickModel,
    attraction: Floats,
    item_means: Floats,
    constant: Floats,
    held: HeldOut,
    *,
    shrinkage: tuple[float, ...],
    level: float,
) -> Calibration:
    """Compare predictions with clicks; `constant` are click rates by position, (K,)."""
    own = log_likelihood(model, attraction, held)
    means = log_likelihood(model, item_means, held)
    rates = np.broadcast_to(np.clip(constant, 1e-9, 1 - 1e-9), held.clicks.shape)
    flat = log_likelihoods(rates, held.clicks, held.present).sum(axis=1)
    shown = held.present.sum(axis=0)
    predicted = predicted_clicks(model, attraction, held).sum(axis=0)
    observed, error = _rates(held)
    with np.errstate(invalid="ignore"):
        predicted = predicted / shown
    return Calibration(
        impressions=len(held),
        shown=shown,
        observed=observed,
        low=np.maximum(observed - SURE * error, 0.0),
        high=np.minimum(observed + SURE * error, 1.0),
        predicted=predicted,
        log_likelihood=float(own.mean()),
        gain_over_constant=difference(own, flat, held.users),
        gain_over_item_means=difference(own, means, held.users),
        shrinkage=shrinkage,
        level=level,
    )


def _rates(held: HeldOut) -> tuple[Floats, Floats]:
    """Return click rates by position and their standard errors over users, (K,) each."""
    _, user = np.unique(held.users, return_inverse=True)
    rates, errors = [], []
    for clicks, present in zip(held.clicks.T, held.present.T, strict=True):
        hits, shown = np.bincount(user, clicks), np.bincount(user, present)
        total, n = max(float(shown.sum()), 1.0), len(hits)
        rate = float(hits.sum()) / total
        spread = float(((hits - rate * shown) ** 2).sum()) * n / max(n - 1, 1)
        if n == 1:  # nobody to compare with: impressions count as independent
            spread = rate * (1.0 - rate) * total
        rates.append(rate)
        errors.append(np.sqrt(spread) / total)
    return np.array(rates), np.array(errors)
