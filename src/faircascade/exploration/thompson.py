"""Thompson sampling: act on one draw from the posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faircascade.exploration.base import Exploration, Request
from faircascade.random import normals
from faircascade.registry import register
from faircascade.types import Floats


@register("thompson")
@dataclass(frozen=True, slots=True, kw_only=True)
class Thompson(Exploration):
    """Score with theta ~ N(theta_hat, scale^2 M^-1), drawn afresh for every list."""

    scale: float = 0.25
    """Standard deviation v of the draw in units of M^-1, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ValueError(f"scale must be >= 0, got {self.scale}")

    @property
    def width_factor(self) -> float:
        return self.scale

    def scores(self, request: Request) -> Floats:
        theta = request.state.theta[:, request.rows].T  # (n, d)
        M_inv = request.state.M_inv[:, :, request.rows].transpose(2, 0, 1)
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)
        z = normals(request.seed, "thompson", theta.shape[1], request.users, rounds)  # (n, d)
        noise = np.linalg.cholesky(M_inv) @ z[:, :, None]
        drawn = theta + self.scale * noise[:, :, 0]
        return np.asarray(drawn @ request.pool.by_feature)
