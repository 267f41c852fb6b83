"""EARS (Jeunen and Goethals, 2021): shuffle as much of the top as costs hardly any clicks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.numerics import ordered_dot
from faircascade.propensities import Propensities, is_drawn, ranks_in
from faircascade.random import draws
from faircascade.registry import register
from faircascade.rerankers.base import Reranker, Shown
from faircascade.rerankers.ledger import Ledger
from faircascade.strengths import StrengthRange
from faircascade.types import Floats, Ints, Slates

LARGEST_SUMMED = 1029
"""The largest k for which C(k, k / 2) is a float64."""


@register("ears", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class EARS(Reranker):
    """Shuffles the longest prefix whose expected clicks stay above 1 - tolerance of the slate's.

    Scores, clipped to [0, 1], count as probabilities of a click.
    """

    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("tolerance", 1e-4, 1.0)

    patience: float = 0.9
    """Probability that a user goes on to the next position, the first included, in (0, 1]."""
    tolerance: float = 0.05
    """Share of the expected clicks that may be lost, in [0, 1]: 0 never shuffles, 1 always all."""

    def __post_init__(self) -> None:
        if not 0 < self.patience <= 1:
            raise ParameterError("patience", "must be in (0, 1]", self.patience)
        if not 0 <= self.tolerance <= 1:
            raise ParameterError("tolerance", "must be between 0 and 1", self.tolerance)

    def kernel(self) -> Mapping[str, Any]:
        return {"tolerance": float(self.tolerance), "patience": float(self.patience)}

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        n, k = slates.items.shape
        length = self._length(slates)
        rounds = np.broadcast_to(np.asarray(request.round), (n,))
        keys = request.pool.items.keys[slates.items]
        lots = draws(request.seed, "ears", request.users[:, None], rounds[:, None], keys)
        places = np.arange(k)
        kept = places[None] >= length[:, None]  # these stay where they are
        order = np.lexsort((np.where(kept, np.uint64(0), lots), np.where(kept, places, -1)))
        return Slates(
            items=np.take_along_axis(slates.items, order, axis=1),
            scores=np.take_along_axis(slates.scores, order, axis=1),
        )

    def _length(self, slates: Slates) -> Ints:
        """Return how many items at the top of each slate are shuffled, (n,)."""
        misses = 1.0 - np.clip(slates.scores, 0.0, 1.0)
        return shuffled_length(misses, self.patience, self.tolerance)

    @property
    def is_random(self) -> bool:
        return self.tolerance > 0

    def propensities(self, shown: Shown) -> Propensities | None:
        if is_drawn(shown.exploration) or not self.is_random:
            return None
        chosen = shown.exploration.slates(shown.request, shown.scores)
        rank, places = ranks_in(chosen.items, shown.slates), np.arange(shown.request.k)
        length = self._length(chosen)[:, None]
        left = length - places  # items of the prefix to choose from, (n, K)
        possible = np.where(left > 0, rank < length, rank == places)
        return Propensities.of_choices(
            possible / np.maximum(left, 1), possible / np.where(left > 0, length, 1)
        )


def stops(k: int, patience: float) -> Floats:
    """Return the probability that a user looks at exactly 0, 1, ..., k positions, (k + 1,)."""
    going = patience ** np.arange(k + 1, dtype=np.float64)
    going[:k] *= 1.0 - patience
    return going


def set_shares(k: int) -> Floats:
    """Return 1 / C(p, r), the probability of each r-subset to come first of p, (k + 1, k + 1).

    It is empty where C(k, k / 2) is no float64.
    """
    if k > LARGEST_SUMMED:
        return np.zeros((0, 0))
    return np.array(
        [[1.0 / comb(p, r) if r <= p else 0.0 for r in range(k + 1)] for p in range(k + 1)]
    )


def shuffled_clicks(misses: Floats, patience: float) -> Floats:
    """Return the expected clicks of slates whose first 1, 2, ..., K items are shuffled, (n, K).

    `misses` are probabilities of no click, (n, K). The sum over subsets of a size is an elementary
    symmetric polynomial, so that a prefix costs O(K) more than the one before it. Long slates have
    the mean over the subsets instead, as the sum is no float64.
    """
    n, k = misses.shape
    stop, share = stops(k, patience), set_shares(k)
    tails = np.zeros((k + 1, n))  # from each length on: what the part that is not shuffled misses
    missed = np.ones((k + 1, n))
    for r in range(1, k + 1):
        missed[r] = missed[r - 1] * misses[:, r - 1]
    for r in range(k - 1, 0, -1):
        tails[r] = tails[r + 1] + missed[r + 1] * stop[r + 1]
    polynomials = np.zeros((k + 1, n))
    polynomials[0] = 1.0
    clicks = np.empty((n, k))
    for length in range(1, k + 1):
        sets, weights = slice(1, length + 1), stop[: length + 1]
        more = misses[:, length - 1] * polynomials[:length]
        if k <= LARGEST_SUMMED:
            polynomials[sets] += more
            weights = share[length, : length + 1] * weights
        else:
            share_in = np.arange(1, length + 1)[:, None] / length
            share_out = np.arange(length - 1, -1, -1)[:, None] / length
            polynomials[sets] = share_out * polynomials[sets] + share_in * more
        inside = ordered_dot(polynomials[: length + 1], weights[:, None])
        clicks[:, length - 1] = 1.0 - inside - tails[length]
    return clicks


def shuffled_length(misses: Floats, patience: float, tolerance: float) -> Ints:
    """Return how many items at the top of each slate to shuffle, (n,)."""
    n, k = misses.shape
    if tolerance == 1.0:
        return np.full(n, k)
    clicks = shuffled_clicks(misses, patience)
    enough = clicks > (1.0 - tolerance) * clicks[:, :1]
    enough[:, 0] = True
    longest: Ints = k - enough[:, ::-1].argmax(axis=1)
    hopeless = (misses == 1.0).all(axis=1)  # its expected clicks, 0, come with a rounding error
    return np.where(hopeless | (tolerance == 0.0), 1, longest)
