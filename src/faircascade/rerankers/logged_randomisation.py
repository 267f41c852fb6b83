"""Logged randomisation: now and then a random item, so that the log can answer for other policies.

A policy that leaves nothing to chance logs propensities of 1, which say nothing about any other
slate. Here each position of a slate is, with a small probability, drawn from a shortlist; the other
positions go on with the best items that are left. Compared with drawing whole slates at random,
the same lost clicks pay for far more slates that differ in one place only, which are those that a
policy one would change to shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.exploration.epsilon import best_left, mingle, place_chances
from faircascade.propensities import Propensities, is_drawn, ranks_in
from faircascade.random import uniforms
from faircascade.registry import register
from faircascade.rerankers.base import Reranker, Shown
from faircascade.rerankers.ledger import Ledger
from faircascade.types import Slates


@register("logged-randomisation")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRandomisation(Reranker):
    """Draws a few positions at random, with propensities of all three kinds known exactly.

    A share of the slates has a random position. At least 1 - share of them are what they would be
    otherwise, so that no more than this share of the clicks is lost, whatever users do; about
    share / K where clicks depend on a position and its item alone.
    """

    needs_fixed_ranking: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True

    share: float = 0.01
    """Share of the slates that have a random position, in [0, 1)."""
    shortlist: int = 20
    """How many of the best items a random position is drawn from, >= 1; a slate's at least."""

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ParameterError("share", "must be at least 0 and below 1", self.share)
        if self.shortlist < 1:
            raise ParameterError("shortlist", "must be at least 1", self.shortlist)

    def considers(self, k: int, items: int) -> int:
        return min(max(self.shortlist, k), items)

    def rate(self, k: int) -> float:
        """Return the probability that a position of a slate of length k is random."""
        return float(-np.expm1(np.log1p(-self.share) / k))

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        n, k = len(slates.items), request.k
        rounds = np.broadcast_to(np.asarray(request.round), request.users.shape)[:, None]
        where = (request.users[:, None], rounds, np.arange(1, k + 1)[None])
        random = uniforms(request.seed, "logged/coin", *where) < self.rate(k)  # (n, k)
        lots = uniforms(request.seed, "logged/item", *where)
        best = np.broadcast_to(np.arange(k), (n, k))
        ranks = mingle(best, random, lots, np.arange(slates.items.shape[1]))
        return Slates(
            items=np.take_along_axis(slates.items, ranks, axis=1),
            scores=np.take_along_axis(slates.scores, ranks, axis=1),
            explored=np.asarray(random.any(axis=1)),
        )

    @property
    def is_random(self) -> bool:
        return self.share > 0

    def propensities(self, shown: Shown) -> Propensities | None:
        if is_drawn(shown.exploration) or not self.is_random:
            return None
        k, pool = shown.request.k, shown.request.pool
        size = self.considers(k, len(pool))
        ranking = shown.exploration.slates(replace(shown.request, k=size), shown.scores).items
        rank, places, rate = ranks_in(ranking, shown.slates), np.arange(k), self.rate(k)
        choices = rate / (size - places) + (1.0 - rate) * (rank == best_left(rank))
        table = place_chances(rate, k, size)
        listed = rank < size
        return Propensities.of_choices(
            np.where(listed, choices, 0.0),
            np.where(listed, table[np.minimum(rank, k), places], 0.0),
        )
