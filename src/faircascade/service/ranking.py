"""Rank slates for users, record them as impressions and return them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from faircascade.policies import Policy
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.exposure import ExposureTracker
from faircascade.service.messages import (
    Recommendation,
    RecommendationRequest,
    Refused,
    invalid,
)
from faircascade.service.scoring import ScoringJob, rows_to_slots
from faircascade.service.stores.base import Impression, Store, UserStates
from faircascade.types import Ints, Pool, Slates

Ranked = tuple[Impression, list[float]]
"""A slate that can be handed out, and its scores."""

LARGE = 1_000_000
"""Pairs of user and item above which scoring runs in a thread."""


class Ranking:
    """Ranks with a policy and records in a store."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        *,
        exposure: ExposureTracker,
        version: Mapping[str, str],
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self._policy = policy
        self._store = store
        self._exposure = exposure
        self._version = version
        self._seed = seed
        self._clock = clock

    async def serve(
        self, requests: Sequence[RecommendationRequest], catalogue: Catalogue
    ) -> list[Recommendation | Refused]:
        """Rank slates for valid requests, and hand them out."""
        states = await self._store.begin_round(
            [request.user for request in requests], accounts=self._keeps_accounts
        )
        alike: dict[object, list[int]] = {}  # requests that one scoring can answer
        for place, request in enumerate(requests):
            alike.setdefault(_choice(request), []).append(place)
        ranked: dict[int, Ranked] = {}
        results: dict[int, Recommendation | Refused] = {}
        for places in alike.values():  # one pool at a time: each may be as large as the catalogue
            job = self._job([requests[place] for place in places], states, places, catalogue)
            try:
                slates = await self._run(job)
            except ValueError as error:  # slates of this length cannot be learned from
                refused = invalid("k", f"cannot be {requests[places[0]].k}: {error}")
                results.update(dict.fromkeys(places, refused))
            else:
                ranked.update(zip(places, self._ranked(job, slates), strict=True))
            if len(alike) > 1:
                await asyncio.sleep(0)  # others have a turn
        if ranked:
            handed_out = await self._hand_out(list(ranked.values()), catalogue)
            results.update(zip(ranked, handed_out, strict=True))
        return [results[place] for place in range(len(requests))]

    async def _hand_out(
        self, ranked: Sequence[Ranked], catalogue: Catalogue
    ) -> list[Recommendation]:
        """Keep slates in the store, where they count as shown, and give them their ids."""
        shown = [impression for impression, _ in ranked]
        longest = max(len(impression.slots) for impression in shown)
        units = exposure_units(longest) if self._keeps_accounts else None
        ids = await self._store.record(shown, units=units)
        return [
            Recommendation(
                impression_id=name,
                user=impression.user,
                items=catalogue.names(impression.slots),
                scores=scores,
                policy=self._version,
            )
            for name, (impression, scores) in zip(ids, ranked, strict=True)
        ]

    @property
    def _keeps_accounts(self) -> bool:
        return self._policy.ledger_scope == "user"

    def _job(
        self,
        requests: Sequence[RecommendationRequest],
        states: UserStates,
        places: Sequence[int],
        catalogue: Catalogue,
    ) -> ScoringJob:
        """Return the scoring of requests for slates of one length out of one pool."""
        pool = catalogue.pool(requests[0].candidates, requests[0].exclude)
        shared = self._policy.ledger_scope == "global"
        return ScoringJob(
            policy=self._policy,
            pool=pool,
            k=min(requests[0].k, len(pool)),
            users=[request.user for request in requests],
            sums=states.sums[places],
            rounds=states.rounds[places],
            accounts=[states.accounts[place] for place in places] if states.accounts else (),
            everybody=self._everybody(pool) if shared else np.empty(0, np.int64),
            seed=self._seed,
        )

    async def _run(self, job: ScoringJob) -> Slates:
        """Score, in a thread if it takes long."""
        return await asyncio.to_thread(job.run) if job.size > LARGE else job.run()

    def _everybody(self, pool: Pool) -> Ints:
        return self._exposure.units_of(np.asarray(pool.items.ids))

    def _ranked(self, job: ScoringJob, slates: Slates) -> list[Ranked]:
        now, items = self._clock(), job.pool.items
        slots = rows_to_slots(slates, items)  # (n, k)
        shown = [items.features[slates.items], items.topics[slates.items]]
        features = np.concatenate(shown, axis=2)  # (n, k, d + t)
        rounds, scores = job.rounds.tolist(), slates.scores.tolist()
        return [
            (Impression(id="", user=user, slots=s, features=f, round=r, time=now), values)
            for user, s, f, r, values in zip(
                job.users, slots, features, rounds, scores, strict=True
            )
        ]


def _choice(request: RecommendationRequest) -> object:
    """Return what two requests have in common that one scoring can answer."""
    among = None if request.candidates is None else tuple(request.candidates)
    return request.k, among, tuple(request.exclude)
