"""The three places that events come from, as tests fill them and look at what was refused."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from tests.service.imports.kafka_broker import KafkaBroker
from tests.service.redis_server import RedisServer

Keyed = tuple[str, str]
"""What an event is about (events of one key keep their order), and its text."""


class Stream(ABC):
    """A source with events."""

    kind: ClassVar[str]
    copies: int = 0

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder

    @abstractmethod
    def fill(self, name: str, events: Sequence[Keyed]) -> None:
        """Put events into a source of this name."""

    @abstractmethod
    def address(self, name: str) -> list[str]:
        """Return the arguments of the command for that source."""

    @abstractmethod
    def refused(self, name: str) -> list[dict[str, Any]]:
        """Return what was refused: at, reason, and the event or its text."""


class FileStream(Stream):
    kind = "file"

    def fill(self, name: str, events: Sequence[Keyed]) -> None:
        text = "".join(f"{event}\n" for _, event in events)
        (self.folder / f"{name}.jsonl").write_text(text)

    def address(self, name: str) -> list[str]:
        return [f"{name}.jsonl"]

    def refused(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / f"{name}.jsonl.refused"
        return [json.loads(line) for line in path.read_text().splitlines()]


class RedisStream(Stream):
    kind = "redis"

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        import redis

        (folder / "redis").mkdir()
        self.server = stack.enter_context(RedisServer(folder / "redis"))
        self.client = stack.enter_context(redis.Redis.from_url(self.server.url))

    def fill(self, name: str, events: Sequence[Keyed]) -> None:
        with self.client.pipeline(transaction=False) as commands:
            for _, event in events:
                commands.xadd(name, {"event": event})
            commands.execute()

    def address(self, name: str) -> list[str]:
        return [f"{self.server.url}?stream={name}&group=import", "--no-follow"]

    def refused(self, name: str) -> list[dict[str, Any]]:
        return [
            {
                "at": fields[b"at"].decode(),
                "reason": fields[b"reason"].decode(),
                "event": json.loads(fields[b"event"]),
            }
            for _, fields in self.client.xrange(f"{name}.refused")
        ]


class KafkaStream(Stream):
    kind = "kafka"

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.broker = stack.enter_context(KafkaBroker())

    def fill(self, name: str, events: Sequence[Keyed]) -> None:
        self.broker.make_topic(name, partitions=8)
        self.broker.make_topic(f"{name}.refused", partitions=1)
        self.broker.produce(name, ((key, event.encode()) for key, event in events))

    def address(self, name: str) -> list[str]:
        return [self.broker.source(name), "--no-follow"]

    def refused(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.broker.messages(f"{name}.refused")]


STREAMS: dict[str, type[Stream]] = {
    stream.kind: stream for stream in (FileStream, RedisStream, KafkaStream)
}
