"""Whoever dies in the middle, the event log has each slate and each answer once."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.service.crashes import Fleet, Witness, live_through, write_items
from tests.service.event_log.journals import check_log
from tests.service.postgresql_server import PostgreSQLServer, needs_postgresql
from tests.service.redis_server import RedisServer, needs_redis
from tests.service.test_crashes import ARGUMENTS, answered

LOGGED = ("--event-log", "log", "--event-log-rotate", "3s")

pytestmark = pytest.mark.slow


def test_a_service_that_is_killed_writes_each_change_once(tmp_path: Path) -> None:
    live_through_kills(tmp_path, f"sqlite:{tmp_path / 'store.db'}", services=1)


@needs_redis
def test_of_two_services_on_one_redis_the_other_goes_on_writing(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as redis:
        live_through_kills(tmp_path, redis.url, services=2)


@needs_postgresql
def test_of_two_services_on_one_postgresql_the_other_goes_on_writing(tmp_path: Path) -> None:
    with PostgreSQLServer() as postgresql:
        live_through_kills(tmp_path, postgresql.url, services=2)


def live_through_kills(folder: Path, address: str, *, services: int, kills: int = 4) -> None:
    """Kill services under load, and compare the log with what visitors were told."""
    witness = Witness(write_items(folder / "items.parquet"))
    fleet = Fleet(folder, [*ARGUMENTS, *LOGGED, "--store", address], size=services)
    draw = random.Random(1)

    async def trouble() -> None:
        for turn in range(kills):
            await answered(witness, draw.randint(20, 100))
            await asyncio.sleep(draw.random() * 2)  # the log is written once a second
            await fleet.kill(turn % services)

    async def work() -> None:
        await live_through(fleet, witness, trouble)
        assert not witness.complaints
        found = await check_log(folder / "log", address, f"sqlite:{folder / 'again.db'}", witness)
        assert found["answers in the journal"] > 80

    asyncio.run(work())
