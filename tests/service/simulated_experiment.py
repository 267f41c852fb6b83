"""Experiments of a service with simulated users, from the notes of slates to the verdict.

Users come back to slates whose notes say the arm, the store keeps impressions, answers and events,
the service counts events by arm and block, looks after every batch, and keeps in the store where
sequences begin. Only ranking and HTTP are left out: slates are drawn at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.policies import Random
from faircascade.service import administration, experiment_reports
from faircascade.service.administration import Administration
from faircascade.service.lineup import DEFAULT
from faircascade.service.messages import ItemChange
from faircascade.service.service import Service
from faircascade.service.stores.base import COUNTED, Impression, ModelUpdate
from tests.service.in_process import Clock
from tests.service.stores.memory_store import MemoryStore

ITEMS, K = 12, 3
LOOKS, SLATES = 10, 150
"""Looks, and slates before each of them."""
USERS = 400
OTHER = "other"
# A click is worth one here, so that rewards say the same as clicks.
MEASURES = ("clicks_per_slate", "equality_b", "equality_p")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an experiment came to."""

    alarms: dict[str, bool]
    """Whether any look said that the arms differ, by measure."""
    ready: dict[str, bool]
    """Whether there was an interval at all."""
    found: str
    """The last answer on clicks."""
    mismatch: bool
    comparisons: Mapping[str, Any]
    """What the last look said of each measure."""


async def experiment(
    seed: int,
    *,
    lift: float = 0.0,
    slates: int = SLATES,
    users: int = USERS,
    even: bool = False,
    restarts: bool = False,
) -> Outcome:
    """Let users of one experiment come, half of them to another arm with `lift` more clicks.

    Some users come far more often than others, unless it is `even`. With `restarts`, the service is
    started anew before every look.
    """
    rng = np.random.default_rng([seed, 1])
    clock, store = Clock(), MemoryStore()
    service = await _started(store, clock)
    await service.put_items(
        [ItemChange(item=f"item-{n}", features=[float(n)]) for n in range(ITEMS)]
    )
    with salted(f"salt {seed}"):
        work = Administration(service)
        await work.put_policy(OTHER, "random", {})
        await work.begin("test", {DEFAULT: 0.5, OTHER: 0.5})
    activity = np.ones(users) if even else rng.pareto(1.5, users) + 0.2
    taste = rng.beta(2, 5, users)
    seen: Counter[str] = Counter()
    alarms, ready = dict.fromkeys(MEASURES, False), dict.fromkeys(MEASURES, False)
    for _ in range(LOOKS):
        come = rng.choice(users, size=slates, p=activity / activity.sum())
        await _visits(service, come, taste, lift, rng, seen)
        clock.now += 60.0
        if restarts:
            await service.stop()
            service = await _started(store, clock)
        await service.exposure.catch_up(store)
        await experiment_reports.look(service)
        kept = await store.get_meta("experiment/test")
        last = kept["periods"][-1]["last"]
        for measure in MEASURES:
            said = last["comparisons"][OTHER][measure]
            ready[measure] |= said["low"] is not None
            alarms[measure] |= said["answer"] in ("more", "less")
    answer = last["comparisons"][OTHER]["clicks_per_slate"]["answer"]
    mismatch = bool(last["sample_ratio"]["mismatch"])
    await service.stop()
    return Outcome(
        alarms=alarms,
        ready=ready,
        found=answer,
        mismatch=mismatch,
        comparisons=last["comparisons"][OTHER],
    )


async def _started(store: MemoryStore, clock: Clock) -> Service:
    service = Service(Random(), store, dim=1, clock=clock, elapsed=clock)
    await service.start()
    return service


async def _visits(
    service: Service,
    users: Any,
    taste: Any,
    lift: float,
    rng: np.random.Generator,
    seen: Counter[str],
) -> None:
    """Show a slate to each user, and let them answer."""
    lineup, store, now = service.lineup, service.store, service.clock()
    shown = []
    for number in users.tolist():
        user = f"user-{number}"
        seen[user] += 1
        shown.append(
            Impression(
                id="",
                user=user,
                slots=rng.permutation(ITEMS)[:K].astype(np.int32),
                features=np.zeros((K, 1)),
                round=seen[user],
                time=now,
                note={"policy": lineup.default.id, COUNTED: lineup.counted(user)},
            )
        )
    kept = await store.impressions(await store.record(shown, units=None))
    arms = [one.note[COUNTED]["experiment"]["arm"] for one in kept if one is not None]
    chance = taste[users] * np.where(np.array(arms) == OTHER, 1 + lift, 1.0)
    clicks = rng.random((len(users), K)) < chance[:, None] / K
    answers = [
        ModelUpdate(
            impression=one,
            clicked=tuple((np.flatnonzero(row) + 1).tolist()),
            examined=K,
            increments=np.zeros(0),
            time=now,
        )
        for one, row in zip(kept, clicks, strict=True)
        if one is not None
    ]
    await store.learn(answers)


@contextmanager
def salted(salt: str) -> Iterator[None]:
    """Divide users in the same way in every run."""
    before = administration.new_salt
    administration.new_salt = lambda: salt
    try:
        yield
    finally:
        administration.new_salt = before
