"""The dynamic Bayesian network model: a click may satisfy, and users lose patience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.clicks.sequential import Continuation, SequentialModel
from faircascade.errors import ParameterError
from faircascade.probabilities import Probabilities, check_probabilities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Ints, Pool, Rows


@register("dbn", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class DBN(SequentialModel):
    """A click on item i satisfies with probability s_i and ends it; all others go on with
    probability c, clicked or not (Chapelle and Zhang 2009; c = 1 is their simplified model).

    A slate is worth the probability of satisfying, which is not its number of clicks. It depends
    on the products w_i s_i alone. Exchanging neighbours shows that the largest come first, and a
    larger one never harms, so that the best slates are those of the largest w_i s_i, in order.
    """

    value_is_clicks: ClassVar[bool] = False

    satisfaction: Probabilities = 0.5
    """Probability that a clicked item satisfies, in [0, 1]: one number, or one for each item of the
    catalogue, in its order."""
    continuation: float = 0.9
    """Probability of going on to the next position unless satisfied, in [0, 1]."""

    def __post_init__(self) -> None:
        check_probabilities("satisfaction", self.satisfaction)
        check_probabilities("continuation", self.continuation)

    def check(self, k: int, items: int) -> None:
        given = self.satisfaction
        if isinstance(given, tuple) and len(given) != items:
            rule = f"must be one number, or one for each of the {items:,} items of the catalogue"
            raise ParameterError("satisfaction", rule, f"{len(given)} numbers")

    @property
    def _satisfaction(self) -> Floats:
        return np.atleast_1d(np.asarray(self.satisfaction, dtype=np.float64))

    def numbers(self, k: int) -> Continuation:
        rate, satisfaction = self.continuation, self._satisfaction
        return Continuation(
            ignored=rate, clicked=np.full(k, rate), kept=1.0 - satisfaction, worth=satisfaction
        )

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        satisfaction = np.broadcast_to(self._satisfaction, len(pool.items))[pool.rows]  # (p,)

        def exact(rows: Rows, columns: Rows) -> Floats:
            return attraction.exact(rows, columns) * satisfaction[columns]

        worth = attraction.replaced(attraction.rough * satisfaction, 1.0, exact)
        return SequentialModel.best(self, worth, k, pool)
