"""Optimism about what a fair draw is worth, not about each item on its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.ranking import Scores
from faircascade.registry import register


@register("fair-optimism")
@dataclass(frozen=True, slots=True, kw_only=True)
class FairOptimism(Exploration):
    """Scores by the parameters of the confidence set under which drawing an item in proportion to
    exp(sharpness * score) promises most: Wang, Bai, Sun and Joachims, "Fairness of Exposure in
    Stochastic Bandits", ICML 2021.

    With the re-ranker `merit-draws` of the same sharpness it is FairX-LinUCB. The problem is not
    concave, and is climbed by projected gradients.
    """

    asks: ClassVar[frozenset[str]] = frozenset({"fair_optimum"})
    needs_all_scores: ClassVar[bool] = True
    same_for_equals: ClassVar[bool] = True

    alpha: float = 0.25
    """Radius of the confidence set, >= 0; the source lets it grow with log(rounds)."""
    sharpness: float = 10.0
    """How much a higher score counts as merit, >= 0."""

    def __post_init__(self) -> None:
        for name in ("alpha", "sharpness"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ParameterError(name, "must be >= 0", value)

    @property
    def width_factor(self) -> float:
        return self.alpha

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, request: SlateRequest) -> Scores:
        return request.beliefs.fair_optimum(self.sharpness, self.alpha)
