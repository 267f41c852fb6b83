"""How well a click model predicts slates that were held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.fitting.likelihood import log_likelihoods, predict
from faircascade.fitting.statistics import Slates
from faircascade.types import Floats, Ints

_AT_ONCE = 1 << 16
_LONG = 64
"""Slates up to this length are predicted in the order of the log."""
SURE = 1.959963984540054
"""Standard errors on both sides of an interval that covers 95%."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """Predictions against clicks of impressions that no parameter was fitted to."""

    impressions: int
    log_likelihood: float
    """Of all clicks of an impression, mean over impressions."""
    perplexity: float
    """Mean of that by position."""
    perplexity_by_position: Floats
    """2 to the mean of -log2 P(what happened), knowing no other click: 1 is perfect, 2 a coin
    flip. NaN at positions that were never shown, (K,)."""
    conditional_perplexity: float
    conditional_perplexity_by_position: Floats
    """The same, knowing the clicks above, (K,)."""
    clicks_by_position: Floats
    """Clicks over impressions, (K,)."""
    predicted_by_position: Floats
    """Mean probability of a click, (K,)."""
    shown_by_position: Ints
    """Impressions with something at a position, (K,)."""

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores, and the log-likelihood of each impression, to compare models by."""

    scores: Scores
    log_likelihoods: Floats  # (n,)
    users: Any  # (n,)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Log-likelihood of a model less that of another, mean over impressions, with an interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """True if the interval (95%) does not contain 0."""
        return self.low > 0 or self.high < 0


def score(model: ClickModel, attraction: Floats, slates: Slates, k: int = 0) -> Scored:
    """Predict slates of entries; `model` and `attraction` are those of entries, and `k` says to
    which position there are scores if that is further down than these slates reach."""
    sums, each = np.zeros((5, max(k, slates.entries.shape[1]))), np.zeros(len(slates))
    for chosen, block in _alike(slates):
        rows, there = np.maximum(block.entries, 0), block.present
        kept = np.maximum(block.satisfying, 0)
        known = predict(model, np.where(there, attraction[rows], 0.0), kept, block.clicks)
        given = log_likelihoods(known.conditional, block.clicks, there)
        alone = log_likelihoods(known.marginal, block.clicks, there)
        each[chosen] = given.sum(axis=1)
        shares = (alone, given, block.clicks & there, np.where(there, known.marginal, 0.0), there)
        sums[:, : there.shape[1]] += np.stack([share.sum(axis=0) for share in shares])
    return Scored(_scores(sums, each), each, slates.users)


def _alike(slates: Slates) -> Iterator[tuple[slice | Ints, Slates]]:
    """Yield slates in blocks, and which they are; where a few are very long, those of a length
    together, since the work grows with the square of the longest of a block."""
    if slates.entries.shape[1] <= _LONG:
        for first in range(0, len(slates), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            yield some, slates.take(some)
        return
    size = np.ceil(np.log2(np.maximum(slates.lengths, _LONG)))
    for each in np.unique(size):
        rows = np.flatnonzero(size == each)
        step = max(1, int(_AT_ONCE * _LONG / 2**each))
        for first in range(0, len(rows), step):
            chosen = rows[first : first + step]
            yield chosen, slates.take(chosen).narrowed()


def _scores(sums: Floats, each: Floats) -> Scores:
    alone, given, clicks, predicted, shown = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        perplexity, conditional = np.exp(-alone / shown), np.exp(-given / shown)
        rates = clicks / shown, predicted / shown
    there = shown > 0
    return Scores(
        impressions=len(each),
        log_likelihood=float(each.mean()),
        perplexity=float(perplexity[there].mean()),
        perplexity_by_position=perplexity,
        conditional_perplexity=float(conditional[there].mean()),
        conditional_perplexity_by_position=conditional,
        clicks_by_position=rates[0],
        predicted_by_position=rates[1],
        shown_by_position=shown.astype(np.int64),
    )


def difference(one: Floats, other: Floats, users: Any, weights: Floats | None = None) -> Difference:
    """Compare log-likelihoods of the same impressions, (n,); those of a user belong together.

    `weights` are numbers of impressions where an element is the sum of several.
    """
    _, user = np.unique(users, return_inverse=True)
    with np.errstate(invalid="ignore"):
        gain = np.bincount(user, one - other)
    size = np.bincount(user, weights)
    mean = float(gain.sum() / size.sum())
    if not np.isfinite(mean):  # one of them took for impossible what happened
        return Difference(mean=mean, low=mean, high=mean)
    n = len(gain)
    spread = float(((gain - mean * size) ** 2).sum()) * n / max(n - 1, 1)
    error = np.sqrt(spread) / float(size.sum()) if n > 1 else np.inf
    return Difference(mean=mean, low=mean - SURE * error, high=mean + SURE * error)


def plain(value: Any) -> Any:
    """Return numbers and arrays as JSON takes them: None for what is not a number."""
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
