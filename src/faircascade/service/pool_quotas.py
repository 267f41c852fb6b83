"""Slates out of one pool that keep quotas, whatever the policy.

The order that items are taken in is that of the policy's own slates, of more and more items, before
a re-ranker arranges them. A policy whose beliefs depend on the items above (`conditional`) fills
its slates from the top: there each position gets the best item for which there is room, given the
items above it, because what is passed over is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from faircascade.exploration import SlateRequest
from faircascade.policies.composed import BanditState, ComposedPolicy
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.rules.quotas import AHEAD, Quotas, Walk
from faircascade.service.scoring import PoolJob, RankedSlate, ranked_slates
from faircascade.types import Ints, Pool, Slates

Ranked = Callable[[int], Slates]
"""Returns the first so many items of one user's order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolQuotasJob(PoolJob):
    """Slates out of one pool, each of which keeps quotas."""

    catalogue: Catalogue
    quotas: Quotas
    pinned: Ints
    """Rows of the catalogue that stand in every slate already."""

    def run(self) -> list[RankedSlate]:
        return [self._slate(np.array([row])) for row in range(len(self.users))]

    def _slate(self, part: Ints) -> RankedSlate:
        """Return the slate of one user; how likely it was is not known."""
        policy, every = self.policy, slice(None)
        if (
            isinstance(policy, ComposedPolicy)
            and type(policy).recommend is ComposedPolicy.recommend
        ):
            slates = self._arranged(policy, part)
        else:
            rounds, seed = self.rounds[part], self.seed

            def ranked(n: int) -> Slates:
                state = self._state(part)
                return policy.recommend(state, every, self.pool, n, round=rounds, seed=seed)

            slates = self._along(ranked, self.k)
        return ranked_slates(slates, self.pool.items)[0] if slates.items.size else self.nothing

    def _arranged(self, policy: ComposedPolicy, part: Ints) -> Slates:
        """Return a slate that the re-ranker makes of the items that there is room for."""
        state: BanditState = self._state(part)
        depth = policy.considers(self.k, len(self.pool))

        def asked(pool: Pool, k: int) -> SlateRequest:
            every, rounds = slice(None), self.rounds[part]
            return policy.request(state, every, pool, k, round=rounds, seed=self.seed)

        request = asked(self.pool, self.k)
        if policy.conditional:
            best = self._filled(policy, asked, state, depth)
        else:
            scores = policy.ranked_by(request, state.ledger)
            explored = policy.parts.exploration.slates
            best = self._along(lambda n: explored(replace(request, k=n), scores), depth)
        k = min(self.k, best.items.shape[1])
        return policy.arranged(replace(request, k=k), best, state.ledger) if k else best

    def _along(self, ranked: Ranked, wanted: int) -> Slates:
        """Take items along the order of the policy, of which more and more is looked at."""
        size = min(AHEAD * wanted, len(self.pool))
        while True:
            walk = self._walk(wanted)
            slates = ranked(size)
            places = walk.along(self._rows(slates))
            if walk.done or size == len(self.pool):
                return Slates(items=slates.items[:, places], scores=slates.scores[:, places])
            size = min(AHEAD * size, len(self.pool))

    def _filled(
        self,
        policy: ComposedPolicy,
        asked: Callable[[Pool, int], SlateRequest],
        state: BanditState,
        wanted: int,
    ) -> Slates:
        """Fill a slate from the top, without the items for which there was no room.

        An item that is passed over has no room further down either, and without it the positions
        above get what they got. So the slate is made anew without such items until there are none.
        """
        pool = self.pool
        while True:
            k = min(wanted, len(pool))
            request = asked(pool, k)
            slates = policy.parts.exploration.slates(
                request, policy.ranked_by(asked(pool, 1), state.ledger)
            )
            walk = self._walk(k)
            places = walk.along(self._rows(slates))
            if len(places) == k:
                return slates
            rows = np.searchsorted(self.catalogue.slots, pool.items.ids[pool.rows])
            full = walk.has_no_room(rows)
            kept = np.isin(pool.rows, slates.items[0, places])
            pool = pool.items.among(pool.rows[kept | ~full])
            if len(pool) == len(places):
                return Slates(items=slates.items[:, places], scores=slates.scores[:, places])

    def _walk(self, wanted: int) -> Walk:
        return Walk(self.quotas, self.catalogue, wanted, self.pinned)

    def _rows(self, slates: Slates) -> Ints:
        """Return the rows of the catalogue of one user's slate."""
        slots = self.pool.items.ids[slates.items[0]]
        return np.asarray(np.searchsorted(self.catalogue.slots, slots))
