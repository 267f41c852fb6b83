"""Messages of a topic come once for a group, and what is refused goes to a topic of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.sources.base import SourceDown, SourceOptions
from faircascade.service.imports.sources.registry import source_at
from tests.service.imports.kafka_broker import KafkaBroker, needs_kafka
from tests.service.redis_server import free_port

pytestmark = needs_kafka


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> str:
    """A topic with nine messages, three in each partition by their keys."""
    name = request.node.name
    broker.make_topic(name, partitions=2)
    broker.make_topic(f"{name}.refused", partitions=1)
    broker.produce(name, ((str(n % 3), b"%d" % n) for n in range(9)))
    return str(name)


def with_source(address: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Do something with a source that ends where nothing is left."""

    async def run() -> Any:
        source = source_at(address, SourceOptions(follow=False))
        try:
            await source.open()
            return await work(source)
        finally:
            await source.close()

    return asyncio.run(run())


async def everything(source: Any, *, commit: bool = True) -> list[bytes]:
    found = []
    while (records := await source.read(2)) is not None:
        found += [record.text for record in records]
        if commit and records:
            await source.commit(records, [])
    return found


def test_messages_come_once_and_in_the_order_of_their_partition(
    broker: KafkaBroker, topic: str
) -> None:
    found = with_source(broker.source(topic), everything)
    assert sorted(found) == [b"%d" % n for n in range(9)]
    for key in range(3):
        of_key = [int(text) for text in found if int(text) % 3 == key]
        assert of_key == sorted(of_key)
    assert with_source(broker.source(topic), everything) == []


def test_what_was_not_committed_comes_again(broker: KafkaBroker, topic: str) -> None:
    async def forget(source: Any) -> list[bytes]:
        return await everything(source, commit=False)

    assert len(with_source(broker.source(topic), forget)) == 9
    assert len(with_source(broker.source(topic), everything)) == 9


def test_what_is_refused_goes_to_its_topic(broker: KafkaBroker, topic: str) -> None:
    async def refuse(source: Any) -> str:
        records: list[Any] = []
        while not records:
            records = await source.read(3)
        await source.commit(records, [Refusal(records[0], "it is wrong", 404)])
        return str(records[0].at)

    place = with_source(broker.source(topic), refuse)
    (text,) = broker.messages(f"{topic}.refused")
    found = json.loads(text)
    assert (found["at"], found["reason"], found["status"]) == (place, "it is wrong", 404)


def test_of_what_is_longer_than_a_message_may_be_the_beginning_is_kept(
    broker: KafkaBroker, topic: str
) -> None:
    async def refuse(source: Any) -> None:
        records: list[Any] = []
        while not records:
            records = await source.read(1)
        record = Record(b"x" * 1_000_000, records[0].at, records[0].position)
        await source.commit([record], [Refusal(record, "it is wrong")])

    with_source(broker.source(topic), refuse)
    (text,) = broker.messages(f"{topic}.refused")
    assert json.loads(text)["event"] == "x" * 1_000


def test_a_broker_that_is_away_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from faircascade.service.imports.sources import kafka

    monkeypatch.setattr(kafka, "FIND_SECONDS", 0.1)
    with pytest.raises(SourceDown, match="Kafka does not answer"):
        with_source(f"kafka://127.0.0.1:{free_port()}/clicks?group=g", everything)


def test_properties_of_the_client_are_checked() -> None:
    with pytest.raises(ValueError, match="No such configuration property"):
        with_source("kafka://127.0.0.1:9/clicks?group=g&foo.bar=1", everything)
    with pytest.raises(ValueError, match="has the parameter 'foo'"):
        with_source("kafka://127.0.0.1:9/clicks?group=g&foo=1", everything)
