"""The contract of an exploration: from what is believed about users to the slates they see."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from faircascade.estimators import Beliefs
from faircascade.propensities import Propensities
from faircascade.random import Words
from faircascade.ranking import Scores, tie_keys, top_k
from faircascade.registry import Component
from faircascade.types import Ints, Pool, Rows, Slates


@dataclass(frozen=True, kw_only=True, eq=False)
class SlateRequest:
    """Slates wanted: for whom, of what, and where its random draws belong."""

    beliefs: Beliefs
    """What is believed of the pool's items for these users."""
    rows: Rows
    """The users' rows in the state."""
    users: Words
    """Their keys, (n,)."""
    pool: Pool
    k: int
    round: int | Ints
    """The round, one for all or one for each user."""
    seed: int


class Exploration(Component):
    """Chooses between what looks best and what is not known well."""

    kind: ClassVar[str] = "exploration"

    asks: ClassVar[frozenset[str]] = frozenset({"mean"})
    """The beliefs that it needs: the methods of `Beliefs`."""
    needs_all_scores: ClassVar[bool] = False
    """True if any item may come into any slate, so that all of them have to be scored."""

    itemwise: ClassVar[bool] = False
    """True if slates are the k largest scores, and the score of an item depends on nothing but what
    is believed of it and on draws keyed by user, round and item: then slates can be put together
    from those of parts of the pool. Not inherited, as a subclass may do something else."""
    same_for_equals: ClassVar[bool] = False
    """True if users of whom the same is believed have the same scores. Not inherited."""

    @property
    def width_factor(self) -> float:
        """How much of the width of a belief a score can gain: reported as the exploration."""
        return 0.0

    @abstractmethod
    def scores(self, request: SlateRequest) -> Scores:
        """Score every item in the pool for every user; `Scores.final(array)` will do."""

    def slates(self, request: SlateRequest, scores: Scores) -> Slates:
        """Return the slates to show: the k largest scores, best first.

        Where beliefs depend on the items above, they are filled from the top: the scores are those
        of the first position, and each of the others has its own.
        """
        ties = tie_keys(request.seed, request.users, request.round, request.pool)
        if not request.beliefs.conditional:
            return top_k(scores, request.k, request.pool, ties)
        best = top_k(scores, 1, request.pool, ties)
        items, values = best.items, best.scores
        while items.shape[1] < request.k:
            below = replace(request, beliefs=request.beliefs.given(items))
            best = top_k(self.scores(below).without(items, request.pool), 1, request.pool, ties)
            items = np.hstack([items, best.items])
            values = np.hstack([values, best.scores])
        return Slates(items=items, scores=values)

    @property
    def is_random(self) -> bool:
        """Whether chance has a say in its slates, beyond ties; it has unless a class denies it."""
        return True

    def propensities(
        self, request: SlateRequest, scores: Scores, slates: Ints
    ) -> Propensities | None:
        """Return how likely `slates` was to give these, catalogue rows (n, K); None if not known.

        Whether it is known is a matter of the parameters alone.
        """
        return None
