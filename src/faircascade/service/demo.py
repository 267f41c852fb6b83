"""The demo: generated items and simulated users."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.service.catalogue.sources import Source, SourceContents, recommendable
from faircascade.service.messages import FeedbackRequest, Recommendation, RecommendationRequest
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown
from faircascade.types import Ids, Items

log = logging.getLogger(__name__)

USERS = 200
"""Few enough to be learned within minutes."""
TICK = 0.1
"""Seconds between visits, and between answers."""
_LONGEST_TICK = 0.5
"""Visits missed in longer waits than this are not made up for: requests come first."""
_REGULARS = 10
"""The larger, the less the busiest users stand out."""


class Demo(Source):
    """Items of the embedded data, under readable names."""

    kind = "items"
    label = "demo"

    @cached_property
    def environment(self) -> Environment:
        """What the simulated users like."""
        everybody = Environment.from_ratings(
            load_dataset("synthetic"), dim=10, k=10, seed=0, topics="genre"
        )
        some = np.linspace(0, len(everybody.users) - 1, USERS).astype(np.int64)
        env = everybody.take(some)
        users = np.array([f"user-{number}" for number in env.users.ids.tolist()])
        return replace(
            env,
            items=replace(env.items, ids=_names(env.items)),
            users=replace(env.users, ids=users),
        )

    @property
    def fingerprint(self) -> str:
        return self.environment.fingerprint

    def contents(self) -> SourceContents:
        items, _ = recommendable(self.environment.items)
        env = self.environment.items
        return SourceContents(items=items, dim=env.dim, topics=env.topics.shape[1])


def _names(items: Items) -> Ids:
    """Name items by their first genre and a number, as in `Harbour 12`, (m,)."""
    seen: Counter[str] = Counter()
    names = []
    for genres in items.groups["genre"].tolist():
        genre = genres.split("|")[0]
        seen[genre] += 1
        names.append(f"{genre} {seen[genre]}")
    return np.array(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How simulated users respond."""

    silent: float = 0.12
    """Share of slates that nobody answers."""
    partly: float = 0.08
    """Share of slates of which only the top is seen."""
    late: float = 0.05
    """Share of answers that take `latest` seconds at most instead of `soon` on average."""
    soon: float = 1.5
    latest: float = 90.0


class SimulatedUsers:
    """Simulated users who request slates and click on what attracts them."""

    def __init__(
        self,
        environment: Environment,
        *,
        rate: float = 50.0,
        seed: int = 0,
        behaviour: Behaviour | None = None,
    ) -> None:
        """Let about `rate` users per second ask for a slate, some more often than others."""
        if rate < 0:
            raise ParameterError("rate", "must be at least 0", rate)
        self.environment = environment
        self.rate = rate
        self.seed = seed
        self.behaviour = behaviour or Behaviour()
        self._rng = np.random.default_rng(seed)
        self._rows = {name: row for row, name in enumerate(environment.items.ids.tolist())}
        busyness = 1.0 / (np.arange(len(environment.users)) + _REGULARS)
        self._share = self._rng.permutation(busyness / busyness.sum())  # (n,)
        self._visits: Counter[int] = Counter()
        self._due: list[tuple[float, int, FeedbackRequest]] = []
        self._number = count()

    async def run(self, service: Service) -> None:
        """Visit a service for ever; wait while the store is down."""
        clock = asyncio.get_running_loop().time
        last = clock() - TICK
        while True:
            now = clock()
            try:
                await self.visit(service, now, min(now - last, _LONGEST_TICK))
                await self.answer(service, now)
            except StoreDown as error:
                log.debug("simulated users wait for the store", extra={"reason": str(error)})
            last = now
            await asyncio.sleep(TICK)

    async def visit(self, service: Service, now: float, seconds: float) -> None:
        """Ask for the slates of a few seconds or less, and make up the answers."""
        n = min(int(self._rng.poisson(self.rate * seconds)), len(self.environment.users))
        if n == 0:
            return
        rows = self._rng.choice(len(self.environment.users), size=n, replace=False, p=self._share)
        users = self.environment.users.ids[rows].tolist()
        k = min(self.environment.k, service.settings.max_k)
        slates = await service.recommend([RecommendationRequest(user=user, k=k) for user in users])
        for row, given in zip(rows.tolist(), slates, strict=True):
            if isinstance(given, Recommendation):
                self._visits[row] += 1
                self._react(row, given, now)

    async def answer(self, service: Service, now: float) -> None:
        """Give the answers that are due."""
        due = []
        while self._due and self._due[0][0] <= now:
            due.append(heapq.heappop(self._due)[2])
        if due:
            await service.learn(due)

    def _react(self, user: int, given: Recommendation, now: float) -> None:
        behaviour, chance = self.behaviour, self._rng.random
        if chance() < behaviour.silent:
            return
        shown = len(given.items)
        if chance() < behaviour.partly:
            shown = int(self._rng.integers(1, shown + 1))
        clicked = self._clicked(user, given.items[:shown])
        if chance() < behaviour.late:
            delay = behaviour.latest * chance()
        else:
            delay = self._rng.exponential(behaviour.soon)
        answer = FeedbackRequest(
            impression_id=given.impression_id, clicked_positions=clicked, shown=shown
        )
        heapq.heappush(self._due, (now + delay, next(self._number), answer))

    def _clicked(self, user: int, items: Sequence[str]) -> list[int]:
        """Return the positions that a user clicks; items from outside the demo attract nobody."""
        known = [
            (place, self._rows[name]) for place, name in enumerate(items, 1) if name in self._rows
        ]
        if not known:
            return []
        places, rows = zip(*known, strict=True)
        response = self.environment.respond(
            np.array([rows]), np.array([user]), round=self._visits[user], seed=self.seed
        )
        return [
            place for place, hit in zip(places, response.clicks[0].tolist(), strict=True) if hit
        ]
