"""The user browsing model: who has just clicked looks more closely at what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.clicks.positional import PositionalModel
from faircascade.errors import ParameterError
from faircascade.probabilities import check_probabilities
from faircascade.registry import register
from faircascade.types import Floats


@register("ubm", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class UBM(PositionalModel):
    """Position k is looked at with a probability of k and of the distance to the last click above
    (Dupret and Piwowarski 2008).

    A slate is worth its expected number of clicks. Which slates are best is not known: a click can
    take users away from what comes next. The yardstick is the most attractive items, best first;
    regret against it can be negative.
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
            raise ParameterError("kappa", rule, f"{len(self.kappa)} rows")
        table = np.zeros((k, k))
        for position, row in enumerate(self.kappa[:k], start=1):
            if len(row) != position:
                rule = f"must have {position} numbers in row {position}, one for each distance"
                raise ParameterError("kappa", rule, list(row))
            table[position - 1, :position] = row
        return table
