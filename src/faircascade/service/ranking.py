"""Rank slates for users, record them as impressions and return them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.policies.composed import ComposedPolicy
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.catalogue_scoring import CatalogueJob
from faircascade.service.exposure import ExposureTracker
from faircascade.service.messages import (
    Recommendation,
    RecommendationRequest,
    Refused,
    invalid,
)
from faircascade.service.new_users import NewUsers
from faircascade.service.scoring import PoolJob, RankedSlate, ScoringJob
from faircascade.service.stores.base import Impression, Slots, Store, UserStates
from faircascade.types import Ints

Ranked = tuple[Impression, list[float]]
"""A slate that can be handed out, and its scores."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Requests that came together, and what is known of their users."""

    requests: Sequence[RecommendationRequest]
    choices: Sequence[Choice]
    states: UserStates
    catalogue: Catalogue


LARGE = 1_000_000
"""Pairs of user and item above which scoring runs in a thread."""


class Ranking:
    """Ranks with a policy and records in a store."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        *,
        keeps_accounts: bool,
        exposure: ExposureTracker,
        version: Mapping[str, str],
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self._policy = policy
        self._store = store
        self._keeps_accounts = keeps_accounts
        self._exposure = exposure
        self._version = version
        self._seed = seed
        self._clock = clock

    def prepare(self, catalogue: Catalogue) -> None:
        """Compute what requests need of a changed catalogue, so that none of them waits for it."""
        catalogue.item_names.settle()
        if not len(catalogue):
            return
        if not self._policy.itemwise:
            _ = catalogue.whole.by_key, catalogue.whole.radius
        elif len(catalogue.segments) > 1:
            for segment in catalogue.segments:
                _ = segment.rough_pool.single_by_feature, segment.rough_pool.radius
            if self._new_users.worthwhile:
                self._new_users.prepare(catalogue)

    async def serve(
        self,
        requests: Sequence[RecommendationRequest],
        choices: Sequence[Choice],
        catalogue: Catalogue,
    ) -> list[Recommendation | Refused]:
        """Rank slates for valid requests and what they may choose from, and hand them out."""
        states = await self._store.begin_round(
            [request.user for request in requests], accounts=self._keeps_accounts
        )
        asked = _Asked(requests, choices, states, catalogue)
        ranked: dict[int, Ranked] = {}
        results: dict[int, Recommendation | Refused] = {}
        groups = self._groups(asked)
        for places in groups:  # one pool at a time: each may be as large as the catalogue
            try:
                slates = await self._run(self._job(asked, places))
            except ValueError as error:  # slates of this length cannot be learned from
                refused = invalid("k", f"cannot be {requests[places[0]].k}: {error}")
                results.update(dict.fromkeys(places, refused))
            else:
                ranked.update(zip(places, self._ranked(asked, places, slates), strict=True))
            if len(groups) > 1:
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

    def _groups(self, asked: _Asked) -> list[list[int]]:
        """Return which requests one scoring can answer."""
        several = len(asked.catalogue.segments) > 1
        alike: dict[object, list[int]] = {}
        for place, (request, choice) in enumerate(zip(asked.requests, asked.choices, strict=True)):
            from_segments = choice.among is None and (several or len(choice.without) > 0)
            key: object = (request.k,)  # slates of some lengths cannot be learned from
            if not (from_segments and self._policy.itemwise):
                among = None if request.candidates is None else tuple(request.candidates)
                key = request.k, among, tuple(request.exclude)
            alike.setdefault(key, []).append(place)
        return list(alike.values())

    def _job(self, asked: _Asked, places: Sequence[int]) -> ScoringJob:
        """Return the scoring of a group of requests."""
        catalogue, choices = asked.catalogue, [asked.choices[place] for place in places]
        states, itemwise = asked.states, self._policy.itemwise
        what: dict[str, Any] = {
            "policy": self._policy,
            "users": [asked.requests[place].user for place in places],
            "sums": states.sums[places],
            "rounds": states.rounds[places],
            "accounts": [states.accounts[place] for place in places] if states.accounts else (),
            "seed": self._seed,
        }
        k, choice = asked.requests[places[0]].k, choices[0]
        several = len(catalogue.segments) > 1
        if itemwise and choice.among is None and (several or len(choice.without)):
            return CatalogueJob(
                **what,
                catalogue=catalogue,
                new_users=self._new_users,
                lengths=[min(k, choice.left) for choice in choices],
                without=[choice.without for choice in choices],
                units=self._everybody(catalogue.slots),
            )
        if choice.among is not None and itemwise:
            pool = catalogue.excerpt(choice.among)
        elif choice.among is None and not len(choice.without):
            pool = catalogue.whole
        else:
            rows = np.delete(catalogue.whole.rows, choice.without)
            pool = catalogue.whole.items.among(rows if choice.among is None else choice.among)
        return PoolJob(
            **what, pool=pool, k=min(k, len(pool)), units=self._everybody(pool.items.ids)
        )

    @cached_property
    def _new_users(self) -> NewUsers:
        assert isinstance(self._policy, ComposedPolicy)
        return NewUsers(self._policy, self._seed)

    async def _run(self, job: ScoringJob) -> list[RankedSlate]:
        """Score, in a thread if it takes long."""
        return await asyncio.to_thread(job.run) if job.size > LARGE else job.run()

    def _everybody(self, slots: Slots) -> Ints:
        """Return the exposure units of items, if they count."""
        counts = self._policy.ledger_scope == "global"
        return self._exposure.units_of(slots) if counts else np.empty(0, np.int64)

    def _ranked(
        self, asked: _Asked, places: Sequence[int], slates: Sequence[RankedSlate]
    ) -> list[Ranked]:
        now = self._clock()
        return [
            (
                Impression(
                    id="",
                    user=asked.requests[place].user,
                    slots=slate.slots,
                    features=slate.features,
                    round=int(asked.states.rounds[place]),
                    time=now,
                ),
                slate.scores,
            )
            for place, slate in zip(places, slates, strict=True)
        ]
