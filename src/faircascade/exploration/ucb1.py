"""UCB1: the bonus shrinks with the count of an item and grows with the logarithm of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.exploration.indices import UNSEEN, log_time, ucb1_bonus
from faircascade.ranking import Scores
from faircascade.registry import register


@register("ucb1", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB1(Exploration):
    """m + sqrt(scale ln t / T): the mean, its count T, the time t. Items never seen come first.

    Kveton et al. (2015) have scale = 1.5. Where N positions were seen in part, T is N~^2 / N, N~
    the sum of `seen`: Lagree et al. (2016), whose scale is (1 + eps) / 2.
    """

    asks: ClassVar[frozenset[str]] = frozenset({"mean", "counts", "positions", "time"})

    scale: float = 1.5
    """Factor of ln t, >= 0; 0 is greedy."""

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ParameterError("scale", "must be >= 0", self.scale)

    def kernel(self) -> Mapping[str, Any]:
        return {"index": "ucb1", "strength": float(self.scale)}

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, request: SlateRequest) -> Scores:
        beliefs = request.beliefs
        mean, counts, positions = beliefs.mean().all(), beliefs.counts(), beliefs.positions()
        level = self.scale * log_time(beliefs.time())[:, None]
        seen = counts > 0
        bonus = ucb1_bonus(np.where(seen, counts, 1.0), np.where(seen, positions, 1.0), level)
        return Scores.final(np.where(seen, mean + bonus, UNSEEN))
