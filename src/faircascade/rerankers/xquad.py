"""xquad: topics that the items above have not covered; about diversity, not about fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.exploration import SlateRequest
from faircascade.numerics import ordered_sum
from faircascade.registry import register
from faircascade.rerankers.greedy import GreedyReranker
from faircascade.types import Floats, Ints


@dataclass(eq=False)
class _Covered:
    topics: Floats
    """How far candidates cover each topic, (t, n, c)."""
    missed: Floats
    """How far the slate so far leaves each topic uncovered, (t, n)."""


@register("xquad")
@dataclass(frozen=True, slots=True, kw_only=True)
class XQuAD(GreedyReranker):
    """(1 - weight) * score + weight * mean over topics of coverage * (what the items above leave
    uncovered, the product of 1 - coverage). Santos, Macdonald and Ounis, WWW 2010.

    A control for fair rankers: it makes slates diverse and knows nothing of exposure. All topics
    are wanted alike. It needs items with topics.
    """

    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True
    needs_topics: ClassVar[bool] = True

    def start(self, request: SlateRequest, candidates: Ints) -> _Covered:
        topics = request.pool.items.topics
        if topics.shape[1] == 0:
            raise ValueError("re-ranker 'xquad' needs items with topics")
        return _Covered(
            topics=np.moveaxis(topics[candidates], 2, 0),
            missed=np.ones((topics.shape[1], len(candidates))),
        )

    def gains(self, state: _Covered, position: int) -> Floats:
        return ordered_sum(state.topics * state.missed[:, :, None]) / len(state.topics)

    def add(self, state: _Covered, position: int, chosen: Ints) -> None:
        state.missed *= 1.0 - state.topics[:, np.arange(len(chosen)), chosen]
