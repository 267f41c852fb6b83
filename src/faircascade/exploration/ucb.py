"""Optimism: add the width of the confidence interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.ranking import Scores
from faircascade.registry import register


@register("ucb", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB(Exploration):
    """Upper confidence bound: mean + alpha * width, not clipped. Eq. (10)."""

    asks: ClassVar[frozenset[str]] = frozenset({"mean", "width"})
    itemwise: ClassVar[bool] = True
    same_for_equals: ClassVar[bool] = True
    studied: ClassVar[bool] = True

    alpha: float = 0.25
    """Width of the exploration bonus, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and math.isfinite(self.alpha)):
            raise ParameterError("alpha", "must be >= 0", self.alpha)

    def kernel(self) -> Mapping[str, Any]:
        return {"alpha": float(self.alpha)}

    @property
    def width_factor(self) -> float:
        return self.alpha

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, request: SlateRequest) -> Scores:
        mean = request.beliefs.mean()
        return mean.plus(self.alpha, request.beliefs.width()) if self.alpha > 0 else mean
