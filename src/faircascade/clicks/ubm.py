"""The user browsing model: who has just clicked looks more closely at what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.clicks.positional import PositionalModel
from faircascade.errors import ParameterError
from faircascade.probabilities import check_probabilities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Ints, Pool

_LEAST_GAIN = 1e-12
"""Clicks by which an exchange must be better, so that rounding does not go round in circles."""


@register("ubm", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class UBM(PositionalModel):
    """Position k is looked at with a probability of k and of the distance to the last click above
    (Dupret and Piwowarski 2008).

    A slate is worth its expected number of clicks. Which slates are best is not known: where users
    click decides what they look at next, and not always for the better. The yardstick is the most
    attractive items, in an order that no exchange of two of them improves: the best slates in all
    that we enumerated with tables that fall with the distance, and not in general. Regret against
    it can be negative.
    """

    best_is_optimal: ClassVar[bool] = False

    kappa: tuple[tuple[float, ...], ...] | None = None
    """Probability of looking, in [0, 1]: a row for each position k, in which entry d is that for
    the last click d positions above, and entry k that for none above. By default 1 / d: a choice,
    fitted to no data."""

    def __post_init__(self) -> None:
        for row in self.kappa or ():
            check_probabilities("kappa", row)
        if self.kappa is not None:
            self.examination(len(self.kappa))

    def examination(self, k: int) -> Floats:
        if self.kappa is None:
            return np.repeat(1.0 / np.arange(1.0, k + 1)[None], k, axis=0)
        if len(self.kappa) < k or not self.kappa:
            rule = f"must have a row for each of the {k} positions"
            raise ParameterError("kappa", rule, [list(row) for row in self.kappa])
        table = np.zeros((k, k))
        for position, row in enumerate(self.kappa[:k], start=1):
            if len(row) != position:
                rule = f"must have {position} numbers in row {position}, one for each distance"
                raise ParameterError("kappa", rule, list(row))
            table[position - 1, :position] = row
        return table

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        slates = PositionalModel.best(self, attraction, k, pool)
        w = attraction.of(slates, pool)  # (n, k)
        order = np.tile(np.arange(k), (len(slates), 1))
        every = _exchanges(k)  # (e, k)
        rows = np.arange(len(slates))  # those that may get better
        while k > 1 and len(rows):
            others = order[rows][:, every]  # (n, e, k)
            here = np.broadcast_to(rows[:, None, None], others.shape)
            values = self.value(w[here, others].reshape(-1, k), others.reshape(-1, k))
            values = values.reshape(others.shape[:2])
            better = values.max(axis=1) > values[:, 0] + _LEAST_GAIN
            chosen = others[better, values[better].argmax(axis=1)]
            rows = rows[better]
            order[rows] = chosen
        return np.take_along_axis(slates, order, axis=1)


def _exchanges(k: int) -> Ints:
    """Return positions as they are, and with each two of them exchanged, (1 + k (k - 1) / 2, k)."""
    first, second = np.triu_indices(k, 1)
    every = np.tile(np.arange(k), (len(first) + 1, 1))
    at = np.arange(1, len(every))
    every[at, first], every[at, second] = second, first
    return every
