"""Rank slates for users, record them as impressions and return them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue, Choice
from faircascade.service.cold_start import ColdStart, Labels
from faircascade.service.event_log.notes import LOGGED, slate_note
from faircascade.service.experiments import block_of
from faircascade.service.experiments.hashing import bucket_of
from faircascade.service.exposure import ExposureTracker
from faircascade.service.learning import OBSERVER
from faircascade.service.lineup import Lineup
from faircascade.service.messages import (
    Reason,
    Recommendation,
    RecommendationRequest,
    Refused,
    invalid,
)
from faircascade.service.scoring import RankedSlate, ScoringJob
from faircascade.service.served import Asked, ServedPolicy, served_policies
from faircascade.service.shadow_budget import ShadowBudget
from faircascade.service.stores.base import (
    CHARGED,
    COUNTED,
    LABELS,
    Impression,
    Store,
    UserStates,
)

log = logging.getLogger(__name__)

LARGE = 1_000_000
"""Pairs of user and item above which scoring runs in a thread."""
_SHARES = 10_000
"""Shares of shadows are multiples of one of these."""

Served = dict[str, ServedPolicy]
"""What is served, by name."""
Slates = dict[int, RankedSlate | Refused]
"""Slates, or refusals, by the places of their requests."""

Scoring = Callable[[ScoringJob], Awaitable[list[RankedSlate]]]


async def score(job: ScoringJob) -> list[RankedSlate]:
    """Score, in a thread if it takes long."""
    return await asyncio.to_thread(job.run) if job.size > LARGE else job.run()


class Ranking:
    """Ranks with the policies of a lineup and records in a store."""

    def __init__(
        self,
        lineup: Lineup,
        store: Store,
        *,
        exposure: ExposureTracker,
        clock: Callable[[], float],
        logged: bool = False,
        cold_start: ColdStart | None = None,
        shadows: ShadowBudget | None = None,
    ) -> None:
        """Rank; slates that are `logged` say in their notes how they came about."""
        self._cold_start = cold_start
        self._shadows = shadows or ShadowBudget()
        self._store = store
        self.logged = logged
        self._exposure = exposure
        self._clock = clock
        self.lineup, self._served = lineup, served_policies(lineup, {})
        self._failed: set[str] = set()  # keys of shadows
        self._score: Scoring = score

    def watch(self, store: Store, scoring: Callable[[Scoring], Scoring]) -> None:
        """Use another store, and put something around the scoring."""
        self._store, self._score = store, scoring(self._score)

    async def prepared(self, lineup: Lineup, catalogue: Catalogue) -> Served:
        """Return what another lineup serves, ready to rank."""
        served = served_policies(lineup, self._served)
        await asyncio.to_thread(_prepare, served.values(), catalogue)
        return served

    async def check(self, lineup: Lineup, served: ServedPolicy, catalogue: Catalogue) -> None:
        """Refuse a policy that cannot rank for somebody of whom nothing is known."""
        nobody = UserStates(
            sums=np.zeros((1, lineup.width)), rounds=np.ones(1, np.int64), accounts=[{}]
        )
        request = RecommendationRequest(user="nobody", k=min(10, len(catalogue)))
        choices = [catalogue.choice(None, ())]
        units_of = self._exposure.units_of
        asked = Asked([request], choices, nobody, catalogue, [served], units_of)
        try:
            await asyncio.to_thread(lambda: asked.job([0]).run())
        except ValueError:  # weights for other lengths; those can be asked for
            return
        except Exception as error:
            log.exception("a policy was refused: it fails", extra={"policy": served.policy.label})
            why = f"fails to rank a slate ({type(error).__name__}: {error}); nothing was changed"
            raise Refused(Reason.CONFLICT, "policy", why) from error

    def change(self, lineup: Lineup, served: Served) -> None:
        """Rank by another lineup from now on; who is being served goes on with the one before."""
        self.lineup, self._served = lineup, served

    def prepare(self, catalogue: Catalogue) -> None:
        """Compute what requests need of a changed catalogue, so that none of them waits for it."""
        catalogue.item_names.settle()
        _prepare(self._served.values(), catalogue)

    async def serve(
        self,
        requests: Sequence[RecommendationRequest],
        choices: Sequence[Choice],
        catalogue: Catalogue,
    ) -> list[Recommendation | Refused]:
        """Rank slates for valid requests and what they may choose from, and hand them out."""
        lineup, served = self.lineup, self._served
        users = [request.user for request in requests]
        states = await self._store.begin_round(users, accounts=lineup.keeps_accounts)
        labels: Sequence[Labels] = [()] * len(users)
        if self._cold_start is not None:
            states, labels = await self._cold_start.begin(self._store, requests, states)
        names = [lineup.serves(user)[0] for user in users]
        policies = [served[name] for name in names]
        units_of = self._exposure.units_of
        asked = Asked(requests, choices, states, catalogue, policies, units_of, self.logged)
        found = await self._slates(asked, range(len(requests)))
        ranked = {n: slate for n, slate in found.items() if isinstance(slate, RankedSlate)}
        results: dict[int, Any] = {n: one for n, one in found.items() if n not in ranked}
        if ranked:
            counted = [lineup.counted(user) for user in users]
            for name, share in lineup.shadows.items():
                places = [n for n in ranked if names[n] != name and _casts(users[n], name, share)]
                if not places or lineup.stopped is not None:
                    continue
                if self._shadows.is_spent:
                    self._shadows.dropped(len(places))
                    continue
                beside = replace(asked, policies=[served[name]] * len(users), rates=False)
                with self._shadows.spending():
                    await self._cast(name, beside, places, counted)
            results |= await self._hand_out(asked, ranked, counted, labels, lineup)
        return [results[place] for place in range(len(requests))]

    async def _cast(
        self, name: str, beside: Asked, places: Sequence[int], counted: Sequence[dict[str, Any]]
    ) -> None:
        """Rank with a policy in the shadow, and note the slates that it would have shown."""
        key = shadow_key(name, beside.policies[0].id)
        try:
            found = await self._slates(beside, places)
        except Exception:  # whatever is wrong with it: users get what they asked for
            if key not in self._failed:  # once, not at every slate
                self._failed.add(key)
                log.exception("a policy in the shadow fails", extra={"policy": name})
            return
        for n, slate in found.items():
            if isinstance(slate, RankedSlate):
                block = block_of(beside.requests[n].user, name)
                shadow = {"block": block, "slots": slate.slots.tolist()}
                counted[n].setdefault("shadows", {})[key] = shadow

    async def _slates(self, asked: Asked, places: Sequence[int]) -> Slates:
        """Rank for some of the requests."""
        found: Slates = {}
        groups = asked.groups(place for place in places if asked.is_ranked(place))
        for group in groups:  # one pool at a time: each may be as large as the catalogue
            try:
                slates = await self._score(asked.job(group))
            except ValueError as error:  # slates of this length cannot be learned from
                refused = invalid("k", f"cannot be {asked.requests[group[0]].k}: {error}")
                found.update(dict.fromkeys(group, refused))
            else:
                found.update(zip(group, slates, strict=True))
            if len(groups) > 1:
                await asyncio.sleep(0)  # others have a turn
        for place in places:
            slate = found.get(place)
            if asked.choices[place].pins and not isinstance(slate, Refused):
                try:
                    found[place] = asked.pinned(place, slate)
                except ValueError as error:
                    rule = f"cannot be {asked.requests[place].k}: {error}"
                    found[place] = invalid("k", rule)
        return found

    async def _hand_out(
        self,
        asked: Asked,
        ranked: dict[int, RankedSlate],
        counted: Sequence[dict[str, Any]],
        labels: Sequence[Labels],
        lineup: Lineup,
    ) -> dict[int, Recommendation]:
        """Keep slates in the store, where they count as shown, and give them their ids."""
        now = self._clock()
        shown = [
            Impression(
                id="",
                user=asked.requests[place].user,
                slots=slate.slots,
                features=slate.features,
                round=int(asked.states.rounds[place]),
                time=now,
                note=self._note(
                    asked.policies[place], counted[place], labels[place], slate, lineup
                ),
            )
            for place, slate in ranked.items()
        ]
        longest = max(len(impression.slots) for impression in shown)
        units = exposure_units(longest) if lineup.keeps_accounts else None
        ids = await self._store.record(shown, units=units)
        return {
            place: Recommendation(
                impression_id=name,
                user=asked.requests[place].user,
                items=asked.catalogue.names(slate.slots),
                scores=slate.scores,
                policy=asked.policies[place].version,
            )
            for name, (place, slate) in zip(ids, ranked.items(), strict=True)
        }

    def _note(
        self,
        served: ServedPolicy,
        counted: dict[str, Any],
        labels: Labels,
        slate: RankedSlate,
        lineup: Lineup,
    ) -> dict[str, Any]:
        """Return what is kept with a slate of a policy."""
        note: dict[str, Any] = {"policy": served.version["version"]}
        if labels:
            note[LABELS] = list(labels)
        if slate.pinned:
            note["pinned"] = list(slate.pinned)
        if lineup.observer is not None and not served.policy.learns:
            note[OBSERVER] = lineup.observer.id
        if lineup.keeps_accounts:
            note[CHARGED] = True
        if counted:
            note[COUNTED] = counted
        if self.logged:
            note[LOGGED] = slate_note(served.policy.label, slate)
        return note


def shadow_key(name: str, version: str) -> str:
    """Return what the slates of a policy in the shadow are counted under."""
    return f"shadow/{name}/{version}"


def _prepare(served: Iterable[ServedPolicy], catalogue: Catalogue) -> None:
    for one in set(served):
        one.prepare(catalogue)


def _casts(user: str, name: str, share: float) -> bool:
    """Say whether a policy in the shadow ranks for a user."""
    return bucket_of(user, name, "shadow", _SHARES) < round(share * _SHARES)
