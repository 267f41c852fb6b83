"""What policies leave of users when they are removed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faircascade.service.administration import Administration
from faircascade.service.lineup import DEFAULT
from faircascade.service.lineup.vacancies import REST
from faircascade.service.maintenance import reclaim
from faircascade.service.service import Service
from faircascade.service.stores.base import Store
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.in_process import Clock, learn, recommend, serving
from tests.service.stores.memory_store import MemoryStore

USERS = [f"user-{n}" for n in range(8)]


async def visit(service: Service) -> list[Any]:
    """Let every user come and click; return what they saw."""
    slates = [await recommend(service, user, user_labels={"a": "1"}) for user in USERS]
    for n, slate in enumerate(slates):
        await learn(service, slate, clicked_position=1 + n % 3)
    return [(slate.items, np.round(slate.scores, 9).tolist()) for slate in slates]


async def settle(service: Service, clock: Clock) -> None:
    """Let some minutes pass, in which the service tidies up."""
    for _ in range(4):
        clock.now += 2 * REST
        await reclaim(service)


@pytest.mark.parametrize("knowledge", ["new", "branched"])
def test_a_service_whose_trials_come_and_go_shows_what_one_without_them_shows(
    tmp_path: Path, knowledge: Any
) -> None:
    """And its users take no more room than after the first trial."""

    async def story() -> None:
        clock, widths = Clock(), []
        async with (
            serving(tmp_path / "busy", clock=clock) as busy,
            serving(tmp_path / "calm", clock=clock) as calm,
        ):
            work = Administration(busy)
            for day in range(6):
                parameters = {"weight": "log", "gamma": 0.1 + day / 100}
                await work.put_policy("trial", "ealinucb", parameters, knowledge)
                assert await visit(busy) == await visit(calm)
                await work.remove("trial")
                await settle(busy, clock)
                assert await visit(busy) == await visit(calm)
                widths.append(busy.lineup.width)
                assert not busy.lineup.vacant.moves
        assert len(set(widths[1:])) == 1

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_a_policy_in_the_place_of_a_removed_one_knows_nobody(tmp_path: Path, kind: str) -> None:
    async def story() -> None:
        clock = Clock()
        store: Store = MemoryStore() if kind == "memory" else SQLiteStore(tmp_path / "store.db")
        async with serving(tmp_path, clock=clock, store=store) as service:
            work = Administration(service)
            await work.put_policy("trial", "linucb", {}, "new")
            await visit(service)
            place = service.lineup.models[1].first
            await work.remove("trial")
            await reclaim(service)
            assert (await store.begin_round(USERS)).sums[:, place:].any()  # too early
            await settle(service, clock)
            await work.put_policy("trial", "linucb", {"alpha": 0.5}, "new")
            model = service.lineup.models[1]
            assert model.first == place
            assert not model.of((await store.begin_round(USERS)).sums).any()
            assert not model.of((await store.cohorts(["a=1"])).sums).any()

    asyncio.run(story())


def test_numbers_wait_until_other_services_know_that_they_are_not_needed(tmp_path: Path) -> None:
    async def story() -> None:
        clock, store = Clock(), MemoryStore()
        async with (
            serving(tmp_path, clock=clock, store=store) as one,
            serving(tmp_path, clock=clock, store=store) as other,
        ):
            work = Administration(one)
            await work.put_policy("trial", "linucb", {}, "new")
            await other.follow_lineup()
            await work.remove("trial")
            await visit(other)  # which teaches the trial still
            await reclaim(one)
            clock.now += 2 * REST
            await other.follow_lineup()
            await reclaim(one)
            await work.put_policy("next", "linucb", {}, "new")
            assert one.lineup.width > one.lineup.vacant.free[0].end  # just freed: not yet taken
            await other.follow_lineup()
            assert other.lineup == one.lineup

    asyncio.run(story())


def test_versions_that_can_be_chosen_keep_what_they_know(tmp_path: Path) -> None:
    async def story() -> None:
        clock = Clock()
        async with serving(tmp_path, clock=clock) as service:
            work = Administration(service)
            await visit(service)
            first = service.version
            (before,) = (await service.store.begin_round(USERS[:1])).sums
            await work.put_policy(DEFAULT, "linucb", {}, "new")
            await visit(service)
            await settle(service, clock)
            await work.choose(DEFAULT, first)
            known = service.known((await service.store.begin_round(USERS[:1])).sums)
            assert (known == before).all()

    asyncio.run(story())
