"""Epsilon-greedy: now and then, any item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.propensities import Propensities, ranks_in
from faircascade.random import uniforms
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints, Slates


@register("epsilon", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Epsilon(Exploration):
    """Each position is uniform over the items left with probability epsilon, else greedy."""

    epsilon: float = 0.1
    """Probability of a random item at a position, in [0, 1]."""

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ParameterError("epsilon", "must be between 0 and 1", self.epsilon)

    def kernel(self) -> Mapping[str, Any]:
        return {"epsilon": float(self.epsilon)}

    def scores(self, request: SlateRequest) -> Scores:
        return request.beliefs.mean()

    def slates(self, request: SlateRequest, scores: Scores) -> Slates:
        greedy = super(Epsilon, self).slates(request, scores)
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)[:, None]
        where = (request.users[:, None], rounds, np.arange(1, request.k + 1)[None])
        explore = uniforms(request.seed, "epsilon/coin", *where) < self.epsilon  # (n, k)
        lots = uniforms(request.seed, "epsilon/item", *where)
        items = mingle(greedy.items, explore, lots, request.pool.by_key)
        return Slates(items=items, scores=scores.of(items, request.pool))

    @property
    def is_random(self) -> bool:
        return self.epsilon > 0

    def propensities(
        self, request: SlateRequest, scores: Scores, slates: Ints
    ) -> Propensities | None:
        if not self.is_random:
            return None
        greedy = super(Epsilon, self).slates(request, scores).items
        rank, places = ranks_in(greedy, slates), np.arange(request.k)
        left = len(request.pool) - places  # items to choose from, (k,)
        choices = self.epsilon / left + (1.0 - self.epsilon) * (rank == best_left(rank))
        table = place_chances(self.epsilon, request.k, len(request.pool))
        return Propensities.of_choices(choices, table[rank, places])


def mingle(greedy: Ints, explore: Bools, lots: Floats, pool: Ints) -> Ints:
    """Fill slates from the top: where `explore`, with a random item of the pool that is left.

    A lot u in [0, 1) stands for the floor(u r)-th of the r items left, in the order of `pool`.
    """
    n, k = greedy.shape
    rank = np.empty(pool.max() + 1, dtype=np.int64)
    rank[pool] = np.arange(len(pool))
    greedy = rank[greedy]
    listed = np.empty((n, 0), dtype=np.int64)  # ranks, in the order of the slate
    used = np.zeros((n, k), dtype=bool)  # which of the greedy items are listed
    for position in range(k):
        drawn = (lots[:, position] * (len(pool) - position)).astype(np.int64)
        for taken in np.sort(listed, axis=1).T:
            drawn += drawn >= taken
        best = greedy[np.arange(n), used.argmin(axis=1)]
        pick = np.where(explore[:, position], drawn, best)
        listed = np.column_stack([listed, pick])
        used |= greedy == pick[:, None]
    return pool[listed]


def best_left(rank: Ints) -> Ints:
    """Return the lowest rank that no item above a position has, for slates of ranks (n, K)."""
    taken = rank[:, :, None] == np.arange(rank.shape[1])  # (n, position, rank)
    above = np.cumsum(taken, axis=1) - taken
    return np.asarray(above.argmin(axis=2))


@lru_cache(maxsize=64)
def place_chances(epsilon: float, k: int, pool: int) -> Floats:
    """Return the probability of an item of each greedy rank at each position, (k + 1, k).

    The last row is that of every item beyond the first k. What is chosen at a position depends on
    how many of the items ranked above this one were chosen before, and on nothing else.
    """
    rank, above = np.indices((k + 1, k + 1))
    behind = above < rank  # some that are ranked above it are left
    waiting = np.where(above == 0, 1.0, 0.0)  # P(not listed yet, and so many above it are)
    table = np.empty((k + 1, k))
    for position in range(k):
        left = pool - position
        chosen = epsilon / left + (1.0 - epsilon) * ~behind
        overtaken = epsilon * np.maximum(rank - above, 0) / left + (1.0 - epsilon) * behind
        table[:, position] = (waiting * chosen).sum(axis=1)
        passed = waiting * overtaken
        waiting = waiting * (epsilon * (left - 1 - (rank - above)) / left)
        waiting[:, 1:] += passed[:, :-1]
    return np.minimum(table, 1.0)  # a rounding error above 1 is none
