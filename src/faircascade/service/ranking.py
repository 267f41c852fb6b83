"""Lists for those who asked, out of what is known of them, handed out and remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.policies import Policy
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.exposure import ExposureTracker
from faircascade.service.messages import Ask, Recommended, Refused, invalid
from faircascade.service.scoring import Job, rows_to_slots
from faircascade.service.stores.base import Impression, Store, UserStates
from faircascade.types import Ints, Lists, Pool

LARGE = 1_000_000
"""Pairs of user and item from which on scoring leaves the event loop to others."""


class Ranking:
    """A policy at work on a store."""

    def __init__(
        self,
        policy: Policy,
        store: Store,
        *,
        exposure: ExposureTracker,
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self._policy = policy
        self._store = store
        self._exposure = exposure
        self._seed = seed
        self._clock = clock

    async def serve(self, asks: Sequence[Ask], catalogue: Catalogue) -> list[Recommended | Refused]:
        """Rank lists for asks that can be answered, and hand them out."""
        known = await self._store.begin_round(
            [ask.user for ask in asks], accounts=self._keeps_accounts
        )
        alike: dict[object, list[int]] = {}  # asks that one scoring can answer
        for place, ask in enumerate(asks):
            alike.setdefault(_choice(ask), []).append(place)
        ranked: dict[int, _Ranked | Refused] = {}
        for places in alike.values():  # one pool at a time: each may be as large as the catalogue
            job = self._job([asks[place] for place in places], known, places, catalogue)
            try:
                lists = await self._run(job)
            except ValueError as error:  # lists of this length cannot be learned from
                refused = invalid("k", f"cannot be {asks[places[0]].k}: {error}")
                ranked.update(dict.fromkeys(places, refused))
            else:
                ranked.update(zip(places, self._ranked(job, lists), strict=True))
            if len(alike) > 1:
                await asyncio.sleep(0)  # others have a turn
        return await self._hand_out([ranked[place] for place in range(len(asks))], catalogue)

    async def _hand_out(
        self, ranked: Sequence[_Ranked | Refused], catalogue: Catalogue
    ) -> list[Recommended | Refused]:
        """Keep lists in the store, where they count as shown, and give them their ids."""
        shown = [r.impression for r in ranked if isinstance(r, _Ranked)]
        longest = max((len(i.slots) for i in shown), default=0)
        units = exposure_units(longest) if self._keeps_accounts else None
        ids = iter(await self._store.record(shown, units=units) if shown else ())
        return [
            r
            if isinstance(r, Refused)
            else Recommended(
                impression_id=next(ids),
                user=r.impression.user,
                items=catalogue.names(r.impression.slots),
                scores=r.scores,
            )
            for r in ranked
        ]

    @property
    def _keeps_accounts(self) -> bool:
        return self._policy.scope == "user"

    def _job(
        self, asks: Sequence[Ask], known: UserStates, places: Sequence[int], catalogue: Catalogue
    ) -> Job:
        """Return the scoring of asks for lists of one length out of one pool."""
        pool = catalogue.pool(asks[0].candidates, asks[0].exclude)
        shared = self._policy.scope == "global"
        return Job(
            policy=self._policy,
            pool=pool,
            k=min(asks[0].k, len(pool)),
            users=[ask.user for ask in asks],
            sums=known.sums[places],
            rounds=known.rounds[places],
            accounts=[known.accounts[place] for place in places] if known.accounts else (),
            everybody=self._everybody(pool) if shared else np.empty(0, np.int64),
            seed=self._seed,
        )

    async def _run(self, job: Job) -> Lists:
        """Score, in a thread if it takes long."""
        return await asyncio.to_thread(job.run) if job.size > LARGE else job.run()

    def _everybody(self, pool: Pool) -> Ints:
        return self._exposure.units_of(np.asarray(pool.items.ids))

    def _ranked(self, job: Job, lists: Lists) -> list[_Ranked]:
        now, items = self._clock(), job.pool.items
        slots = rows_to_slots(lists, items)  # (n, k)
        features = items.features[lists.items]  # (n, k, d)
        rounds, scores = job.rounds.tolist(), lists.scores.tolist()
        return [
            _Ranked(Impression(id="", user=user, slots=s, features=f, round=r, time=now), values)
            for user, s, f, r, values in zip(
                job.users, slots, features, rounds, scores, strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A list that can be handed out."""

    impression: Impression
    scores: list[float]


def _choice(ask: Ask) -> object:
    """Return what two asks have in common that one scoring can answer."""
    among = None if ask.candidates is None else tuple(ask.candidates)
    return ask.k, among, tuple(ask.exclude)
