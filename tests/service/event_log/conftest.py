from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import redis

from tests.cli.conftest import run as run  # a fixture
from tests.service.postgresql_server import BINARIES, WITHOUT_POSTGRESQL, PostgreSQLServer
from tests.service.redis_server import REDIS, WITHOUT_REDIS, RedisServer

_NUMBERS = count()


@pytest.fixture(scope="session")
def log_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that the tests of event logs share."""
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def log_postgresql() -> Iterator[PostgreSQLServer]:
    """A server that the tests of event logs share."""
    if BINARIES is None:
        pytest.skip(WITHOUT_POSTGRESQL)
    with PostgreSQLServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Makes addresses of empty places, by the kind of store."""

    def make(kind: str) -> str:
        number = next(_NUMBERS)
        if kind == "sqlite":
            return f"sqlite:{tmp_path / f'{number}.db'}"
        if kind == "redis":
            server: RedisServer = request.getfixturevalue("log_redis")
            address = server.url.removesuffix("/0") + f"/{number % 16}"
            redis.Redis.from_url(address).flushdb()
            return address
        postgresql: PostgreSQLServer = request.getfixturevalue("log_postgresql")
        return postgresql.database(f"place_{number}")

    return make
