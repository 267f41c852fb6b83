"""Serves the policies that a store keeps, and lets them be changed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faircascade.policies import Policy
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.lineup import Lineup
from faircascade.service.lineup.models import read_policy, size_of, version_of
from faircascade.service.lineup.policy_changes import serving
from faircascade.service.messages import Reason, Refused, invalid
from faircascade.service.ranking import Ranking, Served
from faircascade.service.stores.base import Store, StoreDown

log = logging.getLogger(__name__)

LINEUP = "lineup"
"""Under which name the store keeps the policies."""
MOST_ATTEMPTS = 20
"""How often a change of the policies is tried while others change them."""


class LineupKeeper:
    """Keeps what is served, and what the store says is served, the same.

    Several services may work on one store: a change by any of them is taken in by the others.
    """

    def __init__(
        self,
        ranking: Ranking,
        store: Callable[[], Store],
        catalogue: Callable[[], Catalogue],
        *,
        graded: bool,
        clock: Callable[[], float],
    ) -> None:
        """Begin with what a ranking serves; policies have to learn from `graded` rewards."""
        self.lineup = ranking.lineup
        self._ranking = ranking
        self._store = store
        self._catalogue = catalogue
        self._graded = graded
        self._clock = clock
        self._changing = asyncio.Lock()
        self._followed: Any = None  # the policies as the store keeps them
        self._unread = ""  # why those of the store cannot be followed

    def size_of(self, policy: Policy) -> int:
        """Return how many numbers a policy keeps of a user."""
        return size_of(policy, self._catalogue().blank)

    async def start(self, policy: Policy, seed: int | None, *, sums: int | None) -> None:
        """Go on with the policies that the store knows, and with the one that is wanted.

        The store keeps so many `sums` of a user; None if it is new.
        """

        def wanted(lineup: Lineup) -> Lineup:
            size = self.size_of(policy)
            found = serving(lineup, policy, size=size, seed=seed, now=self._clock())
            if reason := self._ungraded(found):
                raise ValueError(reason)
            return found

        kept = await self._store().get_meta(LINEUP)
        if kept is None and sums not in (None, self.lineup.width):
            raise ValueError(
                f"keeps {sums} numbers per user, policy {policy.name!r} learns {self.lineup.width};"
                " use another --store or a policy that learns as many"
            )
        try:
            await self._follow(kept, policy)
        except Refused as error:
            raise ValueError(str(error)) from error
        before = self.lineup
        await self.change(wanted, always=True)
        if self.lineup is not before and kept is not None:
            log.warning("policy changed", extra={"change": self.lineup.changes[-1].text})
        served = self.lineup.default.policy
        if version_of(served) != version_of(policy):
            stays = {"stays": served.label, "given": policy.label}
            log.warning("the policy was changed since the last start; it stays", extra=stays)

    async def change(
        self, change: Callable[[Lineup], Lineup], *, always: bool = False, trial: str | None = None
    ) -> None:
        """Change the policies: of this service at once, of others on the same store within a
        second. Nobody's change is lost: what others change meanwhile is changed further.

        A `trial` is the name of a policy that has to rank a slate before anybody gets one.
        """
        async with self._changing:
            for _ in range(MOST_ATTEMPTS):
                kept = await self._store().get_meta(LINEUP)
                await self._follow(kept)
                lineup = change(self.lineup)
                if lineup is self.lineup and kept is not None and not always:
                    return
                if reason := self._ungraded(lineup):
                    raise invalid("policy", reason)
                catalogue = self._catalogue()
                served = await self._ranking.prepared(lineup, catalogue)
                if trial is not None and len(catalogue):
                    await self._ranking.check(lineup, served[trial], catalogue)
                plain = json.loads(json.dumps(lineup.to_json()))
                await self._make_room(lineup)
                if await self._store().replace_meta(LINEUP, kept, plain):
                    self._serve(lineup, served, plain)
                    return
        raise Refused(Reason.CONFLICT, "policies", "are changed by others all the time; try again")

    def _ungraded(self, lineup: Lineup) -> str:
        """Return why the policies cannot learn from graded rewards, if they should."""
        for _, learner in lineup.taught if self._graded else ():
            if learner.refuses_values:
                return f"{learner.name!r} cannot be used with rewards: {learner.refuses_values}"
        return ""

    async def follow(self) -> None:
        """Take in how another service changed the policies."""
        async with self._changing:
            try:
                await self._follow(await self._store().get_meta(LINEUP))
            except StoreDown:
                raise
            except Exception as error:
                if str(error) != self._unread:  # once, not five times a second
                    log.error("policies cannot be followed", extra={"reason": str(error)})
                self._unread = str(error)
            else:
                self._unread = ""

    async def _follow(self, kept: Any, missing: Policy | None = None) -> None:
        """Serve the policies that the store keeps, unless they are served."""
        if kept is None or kept == self._followed:
            return
        try:
            lineup = Lineup.from_json(kept, missing=missing or self.lineup.default.policy)
        except (ValueError, TypeError, KeyError) as error:  # a component that is not installed
            await self._follow_kill_switch(kept)
            why = f"of the store cannot be read here: {error}"
            raise Refused(Reason.CONFLICT, "policies", why) from error
        served = await self._ranking.prepared(lineup, self._catalogue())
        await self._make_room(lineup)
        self._serve(lineup, served, kept)

    async def _follow_kill_switch(self, kept: Any) -> None:
        """Follow the kill switch, whatever else of the policies cannot be read here."""
        stopped = kept.get("stopped")
        policy = None if stopped is None else read_policy(stopped)
        if policy != self.lineup.stopped:
            lineup = replace(self.lineup, stopped=policy)
            served = await self._ranking.prepared(lineup, self._catalogue())
            self._serve(lineup, served, self._followed)

    async def _make_room(self, lineup: Lineup) -> None:
        """Let the store keep as many numbers of a user as policies need."""
        if lineup.width > self.lineup.width:
            await self._store().widen(lineup.width)

    def _serve(self, lineup: Lineup, served: Served, kept: Any) -> None:
        self._ranking.change(lineup, served)
        self.lineup, self._followed = lineup, kept
