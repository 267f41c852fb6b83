"""Thompson sampling: act on one draw from the posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.ranking import Scores
from faircascade.registry import register


@register("thompson", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Thompson(Exploration):
    """Score with a draw from the posterior, drawn afresh for every slate."""

    asks: ClassVar[frozenset[str]] = frozenset({"sample"})
    needs_all_scores: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True

    scale: float = 0.25
    """Factor of the posterior's standard deviation, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ParameterError("scale", "must be >= 0", self.scale)

    def kernel(self) -> Mapping[str, Any]:
        return {"noise": float(self.scale)}

    @property
    def width_factor(self) -> float:
        return self.scale

    @property
    def is_random(self) -> bool:
        return self.scale > 0

    def scores(self, request: SlateRequest) -> Scores:
        return request.beliefs.sample(
            self.scale, seed=request.seed, users=request.users, round=request.round
        )
