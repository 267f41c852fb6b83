"""Several services on one store follow each other's policies and experiments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from faircascade.service import experiment_reports
from faircascade.service.administration import Administration
from faircascade.service.experiment_reports import Reports
from faircascade.service.lineup import DEFAULT
from faircascade.service.maintenance import follow_policies
from faircascade.service.service import Service
from faircascade.service.stores.base import Store
from tests.service.in_process import Clock, learn, recommend, serving
from tests.service.stores.locations import StoreLocation
from tests.service.stores.memory_store import MemoryStore

NewLocation = Callable[[], StoreLocation]


def stores_at(place: Any) -> Callable[[], Store]:
    """Return what makes another store of one place, as another process would have it."""
    return getattr(place, "one", place.store)  # type: ignore[no-any-return]


@pytest.fixture(params=["memory", "shared-sqlite", "redis", "postgresql"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    if request.param == "memory":
        store = MemoryStore()
        return lambda: store
    if request.param == "shared-sqlite":
        from tests.service.stores.two_stores import SharedLocation

        return stores_at(SharedLocation(tmp_path))
    name = {"redis": "redis_location", "postgresql": "postgresql_location"}[request.param]
    return stores_at(request.getfixturevalue(name))


@asynccontextmanager
async def services(
    folder: Path, stores: Callable[[], Store], count: int = 2
) -> AsyncIterator[list[Service]]:
    """Start services on one store, with one clock."""
    clock = Clock()
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(count):
            started = serving(folder, store=stores(), clock=clock)
            found.append(await stack.enter_async_context(started))
        yield found


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> float:
    """Return after how many seconds something is true."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        await asyncio.sleep(0.005)
    return time.monotonic() - began


def test_a_change_is_followed_within_a_second_and_teaches_alike(
    tmp_path: Path, stores: Callable[[], Store]
) -> None:
    async def story() -> None:
        async with services(tmp_path, stores) as (here, there):
            follower = asyncio.create_task(follow_policies(there))
            try:
                # one after the other, as a slow machine takes its time once, not always
                times = []
                for policy in ("random", None, "most-popular", None, "random"):
                    await Administration(here).kill_switch(policy)
                    expected = here.lineup.number
                    times.append(await until(lambda n=expected: there.lineup.number == n))
                    assert (await recommend(there)).policy["name"] == (policy or "ealinucb")
                assert min(times) < 1.0
                await Administration(here).kill_switch(None)
                await Administration(here).put_policy("other", "linucb", {})
                await until(lambda: "other" in there.lineup.by_name)
                await Administration(here).choose(DEFAULT, here.lineup.named("other").current.id)
                await until(lambda: there.policy.name == "linucb")
                for service in (here, there):
                    slate = await recommend(service, "bob")
                    await learn(service, slate, clicked_position=1)
                record = await here.user("bob")
                assert here.known(record.sums[None])[0][0] == 2
            finally:
                follower.cancel()

    asyncio.run(story())


def test_changes_at_once_are_never_lost(tmp_path: Path, stores: Callable[[], Store]) -> None:
    async def story() -> None:
        async with services(tmp_path, stores) as found:

            async def add(service: Service, names: str) -> None:
                for name in names:
                    await Administration(service).put_policy(name, "linucb", {})
                    await learn(service, await recommend(service, name), clicked_position=1)

            await asyncio.gather(add(found[0], "abcde"), add(found[1], "fghij"))
            for service in found:
                await service.follow_lineup()
                assert set(service.lineup.by_name) == {DEFAULT, *"abcdefghij"}
                assert service.lineup.to_json() == found[0].lineup.to_json()
                for user in "abcdefghij":
                    record = await service.user(user)
                    assert service.known(record.sums[None])[0][0] == 1

    asyncio.run(story())


def test_services_agree_on_where_sequences_begin_and_a_restart_begins_none_anew(
    tmp_path: Path, stores: Callable[[], Store]
) -> None:
    async def story() -> None:
        async with services(tmp_path, stores) as (here, there):
            await Administration(here).put_policy("other", "random", {})
            await Administration(here).begin("test", {DEFAULT: 0.5, "other": 0.5})
            await there.follow_lineup()
            await visits(here, 120)
            for service in (here, there):
                await service.exposure.catch_up(service.store)
            await asyncio.gather(*map(experiment_reports.look, (here, there)))
            reports = [await Reports(one).experiment("test") for one in (here, there)]
            assert reports[0] == reports[1]
            origins = await kept_origins(here)
            assert {name.partition("/")[0] for name in origins} == {"arm", "difference"}
            await visits(there, 120)
        async with services(tmp_path, stores, 1) as (again,):
            await again.exposure.catch_up(again.store)
            await experiment_reports.look(again)
            assert await kept_origins(again) == origins
            report = await Reports(again).experiment("test")
            assert sum(arm["slates"] for arm in report["arms"].values()) == 240

    asyncio.run(story())


async def visits(service: Service, users: int) -> None:
    for n in range(users):
        slate = await recommend(service, f"user-{n}")
        await learn(service, slate, clicked_position=1 + n % 3)


async def kept_origins(service: Service) -> dict[str, float]:
    kept = await service.store.get_meta("experiment/test")
    return dict(kept["periods"][-1]["origins"])
