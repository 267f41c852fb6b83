"""Optimism: add the width of the confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from faircascade.exploration.base import Exploration, Request
from faircascade.registry import register
from faircascade.types import Floats


@register("ucb")
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB(Exploration):
    """Upper confidence bound: theta . x + alpha sqrt(x^T M^-1 x), not clipped. Eq. (10)."""

    alpha: float = 0.25
    """Width of the confidence bonus, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and math.isfinite(self.alpha)):
            raise ValueError(f"alpha must be >= 0, got {self.alpha}")

    @property
    def width_factor(self) -> float:
        return self.alpha

    def scores(self, request: Request) -> Floats:
        scores = request.estimator.means(request.state, request.rows, request.pool)
        if self.alpha > 0:
            widths = request.estimator.widths(request.state, request.rows, request.pool)
            widths *= self.alpha
            scores += widths
        return scores
