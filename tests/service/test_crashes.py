"""Nothing that was acknowledged is lost or learned twice, whoever dies in the middle."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from faircascade.policies import EALinUCB
from faircascade.service.stores.registry import store_at
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.crashes import Fleet, Witness, check, live_through, write_items
from tests.service.postgresql_server import PostgreSQLServer, needs_postgresql
from tests.service.redis_server import RedisServer, needs_redis

POLICY = EALinUCB(weight="log", gamma=0.01)
ARGUMENTS = ("--items", "items.parquet", "--weight", "log", "--gamma", "0.01")

pytestmark = pytest.mark.slow


async def answered(witness: Witness, more: int) -> None:
    """Return when so many more answers have been acknowledged."""
    goal = len(witness.answers) + more
    while len(witness.answers) < goal:
        await asyncio.sleep(0.001)


def test_a_service_that_is_killed_under_load_loses_nothing(tmp_path: Path) -> None:
    witness = Witness(write_items(tmp_path / "items.parquet"))
    fleet = Fleet(tmp_path, [*ARGUMENTS, "--store", "sqlite:store.db"])
    draw = random.Random(1)

    async def trouble() -> None:
        for _ in range(3):
            await answered(witness, draw.randint(20, 100))
            await fleet.kill(0)

    async def work() -> None:
        await live_through(fleet, witness, trouble)
        seen = await check(SQLiteStore(tmp_path / "store.db"), witness, POLICY)
        assert seen["answers"] > 50
        assert seen["requests that met a dead service"] > 0

    asyncio.run(work())


@needs_redis
def test_two_services_on_one_redis_lose_nothing_whichever_dies(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as redis:
        live_through_crashes(tmp_path, redis)


@needs_postgresql
def test_two_services_on_one_postgresql_lose_nothing_whichever_dies(tmp_path: Path) -> None:
    with PostgreSQLServer() as postgresql:
        live_through_crashes(tmp_path, postgresql)


def live_through_crashes(folder: Path, server: RedisServer | PostgreSQLServer) -> None:
    """Kill each of two services, and the server of their store in between."""
    witness = Witness(write_items(folder / "items.parquet"))
    fleet = Fleet(folder, [*ARGUMENTS, "--store", server.url], size=2)

    async def trouble() -> None:
        await answered(witness, 30)
        await fleet.kill(0)
        await answered(witness, 30)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await answered(witness, 30)
        await fleet.kill(1)

    async def work() -> None:
        await live_through(fleet, witness, trouble)
        seen = await check(store_at(server.url, ttl=7 * 86400.0), witness, POLICY)
        assert seen["answers"] > 50

    asyncio.run(work())
