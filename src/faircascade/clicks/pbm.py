"""The position-based model: some positions are looked at more often than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.clicks.base import put_best_first
from faircascade.clicks.positional import PositionalModel
from faircascade.probabilities import (
    Probabilities,
    check_probabilities,
    examination_by_position,
)
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Ints, Pool


@register("pbm", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class PBM(PositionalModel):
    """Position k is looked at with probability kappa_k, whatever else happens.

    A slate is worth its expected number of clicks, sum of kappa_k w_k. The best slates have the
    most attractive items, and of these the more attractive where more users look (the
    rearrangement inequality): at the top, unless kappa says otherwise.
    """

    kappa: Probabilities | None = None
    """Probability of looking, in [0, 1]: one number, or one for each position. By default that of
    position k is 1 / k: a choice, fitted to no data."""

    def __post_init__(self) -> None:
        check_probabilities("kappa", self.kappa)

    def examination(self, k: int) -> Floats:
        by_position = examination_by_position("kappa", self.kappa, k)
        return np.repeat(by_position[:, None], k, axis=1)

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        slates = PositionalModel.best(self, attraction, k, pool)
        return put_best_first(slates, examination_by_position("kappa", self.kappa, k))
