"""Propensities of the slates of a run: exact where the policy knows them, estimated on request."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.engine.job import Job
from faircascade.propensities import is_drawn, knows_chances
from faircascade.random import draws
from faircascade.types import Floats, Ints, Pool, Rows

_EVERY = slice(None)


class Rating(NamedTuple):
    """How likely the slates of one round were, as far as that is known, each (n, K)."""

    cascade: Floats | None = None
    item_position: Floats | None = None
    estimate: Floats | None = None
    """Of `item_position`, where that is not known."""


class Rater:
    """Asks a policy how likely its slates were, until it says that it does not know.

    It asks with a copy of the state from before the slates, since recommending leaves its mark on a
    ledger.
    """

    def __init__(self, job: Job) -> None:
        self.policy = job.policy
        self.seed = job.seed
        wanted = job.trace is not None and job.propensities
        self.exact = wanted and knows_chances(self.policy)
        self.draws = job.propensity_draws if wanted and is_drawn(self.policy) else 0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to ask."""
        return not (self.exact or self.draws)

    def before(self, state: Any, rows: Rows) -> Any:
        """Return what to keep of the state of some users before slates are recommended."""
        return None if self.idle else self.policy.take(state, rows)

    def rate(self, before: Any, pool: Pool, slates: Ints, round: int) -> Rating:
        """Return how likely the slates were that a state led to."""
        rating = Rating()
        if self.exact:
            known = self.policy.propensities(
                before, _EVERY, pool, slates, round=round, seed=self.seed
            )
            self.exact = known is not None
            if known is not None:
                rating = Rating(known.cascade, known.item_position)
        if self.draws and rating.item_position is None:
            rating = rating._replace(estimate=self._redraw(before, pool, slates, round))
        return rating

    def _redraw(self, before: Any, pool: Pool, slates: Ints, round: int) -> Floats:
        """Return the share of slates that have the same item in the same place, (n, K).

        The slates that were shown count among them, so that no share is 0.
        """
        hits = np.ones(slates.shape)
        for draw in range(self.draws):
            again = self.policy.recommend(
                self.policy.take(before, _EVERY),
                _EVERY,
                pool,
                slates.shape[1],
                round=round,
                seed=other_seed(self.seed, draw),
            )
            hits += again.items == slates
        return np.asarray(hits / (self.draws + 1))


def other_seed(seed: int, draw: int) -> int:
    """Return a seed for slates that are drawn again: larger than any seed of 64 bits."""
    return 2**64 + int(draws(seed, "propensity", [draw])[0])


def asked_of(job: Job) -> str:
    """Return the kind of propensities that a job has to compute, if any, by trying one slate."""
    rater, policy, env = Rater(job), job.policy, job.env
    if rater.idle:
        return ""
    before = policy.start(env.users[:1], policy.dim_of(env.items))
    state, pool = policy.take(before, _EVERY), env.items.pool
    slates = policy.recommend(state, _EVERY, pool, env.k, round=1, seed=job.seed).items
    rating = rater.rate(before, pool, slates, round=1)
    if rating.cascade is not None:
        return "exact propensities"
    return "" if rating.estimate is None else "estimated propensities"
