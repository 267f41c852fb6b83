"""Thompson sampling for tables of items: by Beta posteriors, or by one Gaussian for all items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.exploration.indices import gamma_trial, gaussian_spread, log_time
from faircascade.random import Words, absorb, draws, normals
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats

GAUSSIAN = "gaussian-thompson"
"""Purpose of the draws."""
GAMMAS = ("beta-thompson/clicked", "beta-thompson/ignored")
"""Purposes of the draws of the two gammas that a beta is made of."""
TRIALS = ("/radius", "/angle", "/luck")
"""Purposes within each."""


@register("gaussian-thompson", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianThompson(Exploration):
    """m + Z max(sqrt(v ln(t+1) / (T+1)), ln(t+1) / (T+1)) with one Z ~ N(0, 1) for all items.

    v = m (1 - m). Cheung, Tan and Zhong (2019). Means are cut to [0, 1].
    """

    asks: ClassVar[frozenset[str]] = frozenset({"mean", "counts", "time"})
    needs_all_scores: ClassVar[bool] = True

    def kernel(self) -> Mapping[str, Any]:
        return {"index": "gaussian"}

    def scores(self, request: SlateRequest) -> Scores:
        mean, counts = request.beliefs.mean().all(), request.beliefs.counts()
        level = log_time(request.beliefs.time() + 1.0)[:, None]
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)
        z = normals(request.seed, GAUSSIAN, 1, request.users, rounds)  # (n, 1)
        mean = np.clip(mean, 0.0, 1.0)
        return Scores.final(mean + z * gaussian_spread(mean, counts, level))


@register("beta-thompson", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class BetaThompson(Exploration):
    """A draw from Beta(1 + m T, 1 + (1 - m) T) for each item: from the posterior of a coin.

    With the standard reward model m T are the clicks. Means are cut to [0, 1].
    """

    asks: ClassVar[frozenset[str]] = frozenset({"mean", "counts"})
    needs_all_scores: ClassVar[bool] = True

    def kernel(self) -> Mapping[str, Any]:
        return {"index": "beta"}

    def scores(self, request: SlateRequest) -> Scores:
        mean, counts = request.beliefs.mean().all(), request.beliefs.counts()
        clicked = np.clip(mean, 0.0, 1.0) * counts  # (n, p)
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)
        where = (request.users[:, None], rounds[:, None], request.pool.keys[None])
        first, second = (
            _gammas(1.0 + shape, [draws(request.seed, gamma + trial, *where) for trial in TRIALS])
            for gamma, shape in zip(GAMMAS, (clicked, counts - clicked), strict=True)
        )
        return Scores.final(first / (first + second))


def _gammas(shapes: Floats, words: list[Words]) -> Floats:
    """Return draws from Gamma distributions (n, p), trial by trial until all are kept."""
    flat, drawn = shapes.reshape(-1), np.empty(shapes.size)
    bases = [word.reshape(-1) for word in words]
    left = np.arange(len(flat))
    trial = 0
    while len(left):
        number = np.array([trial], dtype=np.uint64)
        value, kept = gamma_trial(flat[left], *(absorb(base[left], number) for base in bases))
        drawn[left[kept]] = value[kept]
        left = left[~kept]
        trial += 1
    return drawn.reshape(shapes.shape)
