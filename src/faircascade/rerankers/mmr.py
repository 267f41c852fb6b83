"""mmr: items unlike those above; about diversity, not about fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.exploration import SlateRequest
from faircascade.numerics import ordered_dot
from faircascade.registry import register
from faircascade.rerankers.greedy import GreedyReranker
from faircascade.types import Floats, Ints


@dataclass(eq=False)
class _Alike:
    directions: Floats
    """Features of the candidates, divided by their norms, (d, n, c)."""
    nearest: Floats
    """Largest cosine with an item of the slate so far, (n, c)."""


@register("mmr")
@dataclass(frozen=True, slots=True, kw_only=True)
class MMR(GreedyReranker):
    """Maximal marginal relevance: (1 - weight) * score - weight * (largest cosine of features with
    an item above). Carbonell and Goldstein, SIGIR 1998, whose lambda is 1 - weight.

    A control for fair rankers: it makes slates diverse and knows nothing of exposure.
    """

    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True

    def start(self, request: SlateRequest, candidates: Ints) -> _Alike:
        x = request.pool.items.by_feature[:, candidates]  # (d, n, c)
        norms = np.sqrt(ordered_dot(x, x))
        return _Alike(x / np.where(norms > 0, norms, 1.0), np.zeros(candidates.shape))

    def gains(self, state: _Alike, position: int) -> Floats:
        return -state.nearest

    def add(self, state: _Alike, position: int, chosen: Ints) -> None:
        last = state.directions[:, np.arange(len(chosen)), chosen]  # (d, n)
        cosine = ordered_dot(state.directions, last[:, :, None])
        first = position == 1
        state.nearest = cosine if first else np.maximum(state.nearest, cosine)
