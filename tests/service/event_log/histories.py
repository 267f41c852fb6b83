"""Services with an event log that live through anything, and what their stores hold then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.policies import Bandit, EALinUCB, FRMLinUCB, MostPopular, Policy
from faircascade.rerankers import LoggedRandomisation
from faircascade.service.event_log.folder import LogFolder
from faircascade.service.event_log.initial_state import NOT_LOGGED
from faircascade.service.event_log.rotation import Rotation
from faircascade.service.event_log.writer import LogWriter
from faircascade.service.experiments import Assignment
from faircascade.service.graded_rewards import GradedRewards
from faircascade.service.lineup import Experiment
from faircascade.service.lineup.experiment_changes import ended, paused, ramped, with_experiment
from faircascade.service.lineup.policy_changes import (
    with_chosen,
    with_kill_switch,
    with_policy,
    with_shadow,
    without,
)
from faircascade.service.maintenance import reclaim
from faircascade.service.messages import (
    FeedbackRequest,
    ItemChange,
    Recommendation,
    RecommendationRequest,
    Refused,
)
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Impression, Store
from faircascade.service.stores.copy import opened
from faircascade.service.stores.registry import store_at

DIM = 3
TTL = 1_000.0
START = 1_700_000_000.0
USERS = ["ada", "bob", "日本 \U0001f3b5*?[a]", "user:x", "eve", "fay"]
POLICIES: list[Policy] = [
    FRMLinUCB(variant="exposure-charge"),
    EALinUCB(weight="log", gamma=0.1),
    EALinUCB(weight="log", alpha=0.5),
    Bandit(reranker=LoggedRandomisation(share=0.5, shortlist=5)),
]
SETTINGS = ServiceSettings(
    ttl=TTL,
    no_click_after=TTL / 4,
    rewards=GradedRewards(click=0.5, values={"bought": 1.0}),
    cold_start=4,
)


class History:
    """A service that does things by chance, writes its log, and is killed now and then."""

    def __init__(self, address: str, folder: Path, seed: int) -> None:
        self.address = address
        self.folder = folder
        self.rng = np.random.default_rng(seed)
        self.now = START
        self.slates: list[Recommendation] = []
        self.writer: LogWriter | None = None

    def service(self, store: Store | None = None) -> Service:
        return Service(
            POLICIES[0],
            store or store_at(self.address, ttl=TTL),
            dim=DIM,
            settings=SETTINGS,
            clock=lambda: self.now,
            elapsed=lambda: self.now,
        )

    async def begin(self, *, logged: bool = True) -> None:
        """Start the service, and its log."""
        self.one = self.service()
        await self.one.start()
        if not len(self.one.catalogue):
            await self.put_items(12)
        if logged:
            await self.log()

    async def log(self) -> None:
        folder = LogFolder(self.folder, format="jsonl" if self.rng.random() < 0.3 else "parquet")
        self.writer = LogWriter(self.one, folder, Rotation(size=30_000), followed=0.0)
        assert await self.writer.start()

    async def end(self, *, kill: bool = False) -> None:
        """Stop it; one that is killed leaves everything as it is."""
        if self.writer is not None:
            if kill:
                self.writer._folder.unlock()
            else:
                await self.writer.stop()
            self.writer = None
        await (self.one.store.close() if kill else self.one.stop())

    async def live(self, steps: int) -> None:
        """Do some of the things that a service does."""
        for _ in range(steps):
            self.now += float(self.rng.uniform(0, 20))
            name = str(self.rng.choice([*_ACTIONS], p=_CHANCES))
            await getattr(self, name)()

    # what happens

    async def recommend(self) -> None:
        some = self.rng.choice(USERS, size=int(self.rng.integers(1, 6))).tolist()
        k = int(self.rng.integers(1, 5))
        labels = [{}, {"device": "phone"}, {"device": "\u65e5", "country": "de"}]
        found = await self.one.recommend(
            [
                RecommendationRequest(user=user, k=k, user_labels=labels[USERS.index(user) % 3])
                for user in some
            ]
        )
        self.slates += [one for one in found if isinstance(one, Recommendation)]

    async def answer(self) -> None:
        count = min(len(self.slates), int(self.rng.integers(1, 8)))
        if not count:
            return
        places = self.rng.choice(len(self.slates), size=count, replace=False).tolist()
        requests = []
        for slate in (self.slates[place] for place in places):
            size = len(slate.items)
            shown = int(self.rng.integers(1, size + 1))
            clicked = (np.flatnonzero(self.rng.random(shown) < 0.3) + 1).tolist()
            values = [{"position": shown, "bought": 1}] if self.rng.random() < 0.3 else None
            requests.append(
                FeedbackRequest(
                    impression_id=slate.impression_id,
                    clicked_positions=clicked,
                    shown=shown,
                    values=values,
                )
            )
        await self.one.learn(requests)

    async def no_clicks(self) -> None:
        await self.one.learn_no_clicks()

    async def put_items(self, count: int = 2) -> None:
        numbers = self.rng.integers(0, 20, size=count).tolist()
        await self.one.put_items(
            [
                ItemChange(
                    item=f"item {n}",
                    features=self.rng.normal(size=DIM).tolist(),
                    group=f"g\0{n % 2}",
                    merit=float(self.rng.uniform(0.5, 2)),
                    attributes={"price": float(n), "tags": ["new", f"t\0{n}"], "sold": n % 2 == 0},
                )
                for n in dict.fromkeys(numbers)
            ]
        )

    async def remove_item(self) -> None:
        with suppress(Refused):
            await self.one.remove_item(f"item {self.rng.integers(20)}")

    async def erase(self) -> None:
        await self.one.store.erase(str(self.rng.choice(USERS)))

    async def import_users(self) -> None:
        names = [f"from a log {self.rng.integers(5)}", str(self.rng.choice(USERS))]
        sums = self.rng.normal(size=(2, self.one.width))
        await self.one.store.put_users(names, sums, self.rng.integers(1, 50, size=2))

    async def change_policies(self) -> None:
        policy = POLICIES[int(self.rng.integers(len(POLICIES)))]
        name = str(self.rng.choice(["default", "a", "b"]))
        knowledge: Any = self.rng.choice(np.array([None, "new", "branched"], dtype=object))
        size = self.one.size_of(policy)
        changes = [
            lambda line: with_policy(
                line, name, policy, size=size, now=self.now, knowledge=knowledge
            ),
            lambda line: with_chosen(line, name, line.named(name).versions[0].id, self.now),
            lambda line: without(line, name, self.now),
            lambda line: with_shadow(line, name, 0.5, self.now),
            lambda line: with_kill_switch(line, None if line.stopped else MostPopular(), self.now),
        ]
        await self._change(changes[int(self.rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1]))])

    async def experiment(self) -> None:
        shares = {"default": 0.5, "a": 0.5}
        assignment = Assignment.of("test", shares, fallback="default")
        changes = [
            lambda line: with_experiment(line, Experiment(assignment=assignment), self.now),
            lambda line: ramped(line, "test", {"default": 0.4, "a": 0.6}, self.now),
            lambda line: paused(
                line, "test", stopped=line.experiment_named("test").running, now=self.now
            ),
            lambda line: ended(line, "test", self.now),
        ]
        await self._change(changes[int(self.rng.choice(4, p=[0.7, 0.1, 0.1, 0.1]))])

    async def _change(self, change: Any) -> None:
        with suppress(Refused):
            await self.one.change(change)

    async def expire(self) -> None:
        while await self.one.drop_expired():
            pass

    async def count(self) -> None:
        await self.one.exposure.catch_up(self.one.store)
        await self.one.exposure.keep(self.one.store)

    async def reclaim(self) -> None:
        await reclaim(self.one)

    async def write(self) -> None:
        if self.writer is not None:
            await self.writer.step()

    async def die(self) -> None:
        logged = self.writer is not None
        await self.end(kill=bool(self.rng.random() < 0.7))
        await self.begin(logged=logged)


_ACTIONS = {
    "recommend": 0.26,
    "reclaim": 0.04,
    "answer": 0.22,
    "no_clicks": 0.03,
    "put_items": 0.05,
    "remove_item": 0.03,
    "erase": 0.04,
    "import_users": 0.03,
    "change_policies": 0.06,
    "experiment": 0.04,
    "expire": 0.03,
    "count": 0.04,
    "write": 0.1,
    "die": 0.03,
}
_CHANCES = list(_ACTIONS.values())


# what a store holds


async def held(address: str) -> dict[str, Any]:
    """Return everything that a store holds, in plain data that can be compared.

    Slates whose time is over are left out: stores drop them sooner or later.
    """
    store = store_at(address, ttl=TTL)
    shape = await store.stored_shape()
    assert shape is not None
    async with opened(store, shape) as contents:
        found: dict[str, Any] = {"shape": shape.plain(), "items": {}, "users": {}, "slates": {}}
        found["cohorts"] = {}
        async for items in contents.items():
            for one in items:
                item = one.item
                found["items"][item.id] = (
                    item.slot, item.features.tobytes(), item.merit, item.popularity,
                    dict(item.groups), dict(item.attributes), item.removed, one.version,
                )  # fmt: skip
        async for users in contents.users():
            for user in users:
                known = (user.sums.tobytes(), user.rounds, dict(user.account))
                found["users"][user.user] = known
        async for cohorts in contents.cohorts():
            for cohort in cohorts:
                found["cohorts"][cohort.name] = (cohort.slates, cohort.sums.tobytes())
        clock = await store.get_meta("expiry")
        oldest = 0.0 if clock is None else clock["now"] - TTL
        async for impressions in contents.impressions():
            for one in impressions:
                if one.time >= oldest:
                    found["slates"][one.id] = plain(one)
        found["meta"] = {}
        async for values in contents.meta():
            kept = {name: value for name, value in values.items() if value is not None}
            found["meta"] |= kept
        for name in NOT_LOGGED:
            found["meta"].pop(name, None)
        return found


def plain(impression: Impression) -> tuple[Any, ...]:
    """Return an impression as plain data."""
    return (
        impression.user, impression.slots.tolist(), impression.features.tobytes(),
        impression.round, impression.time, dict(impression.note), impression.clicked,
        impression.examined, dict(impression.details),
    )  # fmt: skip


@asynccontextmanager
async def going_on(history: History, address: str) -> AsyncIterator[Service]:
    """Serve a store, which may be another one, at the time at which a history ended."""
    service = history.service(store_at(address, ttl=TTL))
    await service.start()
    try:
        yield service
    finally:
        await service.stop()
