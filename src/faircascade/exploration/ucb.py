"""Optimism: add the width of the confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from faircascade.errors import ParameterError
from faircascade.estimators.ridge import width_error, widths_of
from faircascade.exploration.base import Exploration, Request
from faircascade.numerics import mean_error, ordered_dot
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Rows


@register("ucb")
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB(Exploration):
    """Upper confidence bound: theta . x + alpha sqrt(x^T M^-1 x), not clipped. Eq. (10)."""

    alpha: float = 0.25
    """Width of the confidence bonus, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and math.isfinite(self.alpha)):
            raise ParameterError("alpha", "must be >= 0", self.alpha)

    @property
    def width_factor(self) -> float:
        return self.alpha

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, request: Request) -> Scores:
        estimator, state, pool = request.estimator, request.state, request.pool
        theta, M_inv = state.theta[:, request.rows], state.M_inv[:, :, request.rows]
        rough = estimator.means(state, request.rows, pool)
        error = mean_error(theta, pool.radius)
        if self.alpha > 0:
            rough += self.alpha * estimator.widths(state, request.rows, pool)
            error += self.alpha * width_error(M_inv, pool.radius)

        width = widths_of(M_inv)

        def exact(rows: Rows, columns: Rows) -> Floats:
            x = pool.by_feature[:, columns]  # (d, pairs)
            whose = slice(None) if theta.shape[1] == 1 else rows  # one user's need no copies
            mean = ordered_dot(theta[:, whose], x)
            return mean + self.alpha * width(whose, x) if self.alpha > 0 else mean

        return Scores(rough, error, exact)
