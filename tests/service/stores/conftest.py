from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.postgresql_server import BINARIES, WITHOUT_POSTGRESQL, PostgreSQLServer
from tests.service.redis_server import REDIS, WITHOUT_REDIS, RedisServer
from tests.service.stores.locations import (
    PostgreSQLLocation,
    RedisLocation,
    SQLiteLocation,
    StoreLocation,
)
from tests.service.stores.two_stores import SharedLocation


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that all tests share; each has a prefix of its own."""
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that a test may kill."""
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    with RedisServer(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    """A server that all tests share; each has a schema of its own."""
    if BINARIES is None:
        pytest.skip(WITHOUT_POSTGRESQL)
    with PostgreSQLServer() as server:
        yield server


@pytest.fixture
def own_postgresql() -> Iterator[PostgreSQLServer]:
    """A server that a test may kill."""
    if BINARIES is None:
        pytest.skip(WITHOUT_POSTGRESQL)
    with PostgreSQLServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "shared-sqlite", "redis", "postgresql"])
def new_location(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], StoreLocation]:
    """Makes empty places, for each kind of store."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return lambda: RedisLocation(server.url)
    if request.param == "postgresql":
        postgresql: PostgreSQLServer = request.getfixturevalue("postgresql_server")
        return lambda: PostgreSQLLocation(postgresql.url)
    if request.param == "shared-sqlite":
        return lambda: SharedLocation(tmp_path)
    return lambda: SQLiteLocation(tmp_path)


@pytest.fixture
def place(new_location: Callable[[], StoreLocation]) -> StoreLocation:
    return new_location()


@pytest.fixture
def redis_location(redis_server: RedisServer) -> RedisLocation:
    return RedisLocation(redis_server.url)


@pytest.fixture
def postgresql_location(postgresql_server: PostgreSQLServer) -> PostgreSQLLocation:
    return PostgreSQLLocation(postgresql_server.url)
