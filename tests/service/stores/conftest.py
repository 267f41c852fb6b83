from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.servers import REDIS, WITHOUT_REDIS, RedisServer
from tests.service.stores.places import Place, RedisPlace, SQLitePlace


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


@pytest.fixture(params=["sqlite", "redis"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    """Makes empty places, for each kind of store."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return lambda: RedisPlace(server.url)
    if importlib.util.find_spec("faircascade.service.stores.sqlite") is None:
        pytest.skip("there is no SQLite store yet")
    return lambda: SQLitePlace(tmp_path)


@pytest.fixture
def place(new_place: Callable[[], Place]) -> Place:
    return new_place()


@pytest.fixture
def redis_place(redis_server: RedisServer) -> RedisPlace:
    return RedisPlace(redis_server.url)
