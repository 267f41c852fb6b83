"""Thompson sampling: act on one draw from the posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, Request
from faircascade.numerics import cholesky, mean_error, ordered_dot
from faircascade.random import normals
from faircascade.ranking import Scores
from faircascade.registry import register


@register("thompson")
@dataclass(frozen=True, slots=True, kw_only=True)
class Thompson(Exploration):
    """Score with theta ~ N(theta_hat, scale^2 M^-1), drawn afresh for every list."""

    scale: float = 0.25
    """Standard deviation v of the draw in units of M^-1, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ParameterError("scale", "must be >= 0", self.scale)

    @property
    def width_factor(self) -> float:
        return self.scale

    @property
    def is_random(self) -> bool:
        return self.scale > 0

    def scores(self, request: Request) -> Scores:
        theta = request.state.theta[:, request.rows]  # (d, n)
        L = cholesky(request.state.M_inv[:, :, request.rows])
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)
        z = normals(request.seed, "thompson", len(theta), request.users, rounds)  # (n, d)
        drawn = theta + self.scale * ordered_dot(L.transpose(1, 0, 2), z.T[:, None])
        x = request.pool.by_feature
        return Scores(
            drawn.T @ x,
            mean_error(drawn, request.pool.radius),
            lambda rows, columns: ordered_dot(drawn[:, rows], x[:, columns]),
        )
