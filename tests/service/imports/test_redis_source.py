"""Entries of a stream come once, also those that a consumer took with it when it died."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from faircascade.service.imports.events import Refusal
from faircascade.service.imports.sources.base import SourceDown, SourceOptions
from faircascade.service.imports.sources.redis import RedisSource
from faircascade.service.imports.sources.registry import source_at
from tests.service.redis_server import REDIS, WITHOUT_REDIS, RedisServer

Work = Callable[[RedisSource], Awaitable[Any]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def stream(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        for n in range(3):
            client.xadd("clicks", {"event": f"{n}"})
        yield client


def with_source(server: RedisServer, work: Work, more: str = "") -> Any:
    """Do something with a source that begins anew and ends when nothing is left."""

    async def run() -> Any:
        address = f"{server.url}?stream=clicks&group=g&{more}"
        source = source_at(address, SourceOptions(follow=False))
        assert isinstance(source, RedisSource)
        try:
            await source.open()
            return await work(source)
        finally:
            await source.close()

    return asyncio.run(run())


async def everything(source: RedisSource, *, commit: bool = True) -> list[bytes]:
    found = []
    while (records := await source.read(2)) is not None:
        found += [record.text for record in records]
        if commit:
            await source.commit(records, [])
    return found


async def one_lost(source: RedisSource) -> None:
    """Take two entries, and die."""
    assert len(await source.read(2) or ()) == 2


def test_entries_come_in_order_and_once(server: RedisServer, stream: redis.Redis) -> None:
    assert with_source(server, everything) == [b"0", b"1", b"2"]
    assert with_source(server, everything) == []
    assert stream.xpending("clicks", "g")["pending"] == 0


def test_what_a_consumer_was_given_before_its_death_comes_first_to_its_successor(
    server: RedisServer, stream: redis.Redis
) -> None:
    with_source(server, one_lost)
    assert with_source(server, everything) == [b"0", b"1", b"2"]


def test_what_another_consumer_left_is_taken_over_once_it_is_idle(
    server: RedisServer, stream: redis.Redis
) -> None:
    with_source(server, one_lost, "consumer=dead")
    assert with_source(server, everything, "consumer=next&idle=3600") == [b"2"]
    assert with_source(server, everything, "consumer=next&idle=0.001") == [b"0", b"1"]


def test_what_is_under_way_is_not_taken_over_from_oneself(
    server: RedisServer, stream: redis.Redis
) -> None:
    async def slowly(source: RedisSource) -> list[bytes]:
        return await everything(source, commit=False)

    assert with_source(server, slowly, "idle=0.001") == [b"0", b"1", b"2"]


def test_entries_whose_reply_was_lost_come_before_newer_ones(
    server: RedisServer, stream: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose_a_reply(source: RedisSource) -> list[bytes]:
        first = await source.read(1) or ()
        group = source._redis.xreadgroup

        async def lost(*args: Any, **options: Any) -> Any:
            await group(*args, **options)
            raise redis.exceptions.ConnectionError("reset by peer")

        with monkeypatch.context() as patch:
            patch.setattr(source._redis, "xreadgroup", lost)
            with pytest.raises(SourceDown):
                await source.read(1)
        return [record.text for record in first] + await everything(source)

    assert with_source(server, lose_a_reply) == [b"0", b"1", b"2"]


def test_what_is_refused_goes_to_a_stream_in_the_same_step(
    server: RedisServer, stream: redis.Redis
) -> None:
    async def refuse(source: RedisSource) -> None:
        records = await source.read(3) or ()
        refusals = [Refusal(records[1], "it is wrong", 404)]
        await source.commit(records, refusals)
        await source.commit(records, refusals)  # as if the first answer had been lost

    with_source(server, refuse)
    ((_, fields),) = stream.xrange("clicks.refused")
    assert fields[b"reason"] == b"it is wrong"
    assert (fields[b"status"], fields[b"event"]) == (b"404", b'"1"')


def test_entries_without_an_event_are_told(server: RedisServer, stream: redis.Redis) -> None:
    stream.xadd("clicks", {"clicked": "2", "user": "ada"})

    async def faults(source: RedisSource) -> list[str]:
        return [record.fault for record in await source.read(9) or ()]

    assert with_source(server, faults)[3] == "it must have the field 'event', got 'clicked', 'user'"


def test_the_refusal_of_an_entry_without_an_event_keeps_its_fields(
    server: RedisServer, stream: redis.Redis
) -> None:
    stream.xadd("clicks", {"clicked": "2", "user": b"ad\xff"})

    async def refuse(source: RedisSource) -> None:
        record = (await source.read(9) or ())[3]
        await source.commit([record], [Refusal(record, record.fault)])

    with_source(server, refuse)
    ((_, fields),) = stream.xrange("clicks.refused")
    assert json.loads(fields[b"event"]) == {"clicked": "2", "user": "ad\ufffd"}
    stream.delete("clicks")
    stream.xadd("clicks", {"json": "7"})
    assert with_source(server, everything, "field=json") == [b"7"]


def test_entries_that_were_deleted_while_under_way_are_told(
    server: RedisServer, stream: redis.Redis
) -> None:
    with_source(server, one_lost)
    stream.xdel("clicks", stream.xrange("clicks")[0][0])

    async def faults(source: RedisSource) -> list[str]:
        return [record.fault for record in await source.read(9) or ()]

    assert "was deleted" in with_source(server, faults)[0]


def test_a_group_that_was_removed_ends_the_import(server: RedisServer, stream: redis.Redis) -> None:
    async def lose(source: RedisSource) -> None:
        stream.xgroup_destroy("clicks", "g")
        await source.read(1)

    with pytest.raises(ValueError, match="its group was removed"):
        with_source(server, lose)


def test_a_server_that_is_away_may_come_back(tmp_path: Path) -> None:
    if REDIS is None:
        pytest.skip(WITHOUT_REDIS)
    server = RedisServer(tmp_path)  # not started
    with pytest.raises(SourceDown):
        with_source(server, everything)
    with server:
        assert with_source(server, everything) == []
