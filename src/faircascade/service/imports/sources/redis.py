"""A stream of Redis, read as a consumer of a group."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlunsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import TimeoutError as TimedOut

from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.refusals import event_text
from faircascade.service.imports.sources.address import StreamAddress
from faircascade.service.imports.sources.base import EventSource, SourceDown, SourceOptions
from faircascade.service.imports.sources.registry import register_source

WAIT_MILLISECONDS = 500
ANSWER_SECONDS = 10.0
CONNECT_SECONDS = 5.0
IDLE_SECONDS = 60.0
"""Seconds after which entries of a consumer that does not acknowledge them are taken over."""
# An entry that another consumer has taken over and acknowledged was written by that one.
_REFUSE = """
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
end
"""
_DELETED = "it was deleted from the stream before it was imported"

Entries = list[tuple[bytes, dict[bytes, bytes] | None]]


@register_source("redis", "rediss")
class RedisSource(EventSource):
    """Entries in the order of their ids. Redis itself keeps which of them are done.

    After a start come the entries that this consumer, by its name, was given before; then those
    of consumers that have been idle for too long; then new ones.
    """

    address_form = "redis://HOST:6379/0?stream=NAME&group=NAME"

    def __init__(
        self,
        url: str,
        *,
        stream: str,
        group: str,
        consumer: str,
        field: str = "event",
        idle: float = IDLE_SECONDS,
        endless: bool = True,
    ) -> None:
        self.stream, self.group, self.consumer = stream, group, consumer
        self.name = f"stream {stream!r}"
        self.endless = endless
        self.refused_place = f"{stream}.refused"
        self._field = field.encode()
        self._idle = idle
        self._redis = Redis.from_url(
            url,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._own: bytes | None = b"0"  # the last entry that was given before; None after all
        self._claimed = -idle  # when entries of others were last looked for
        self._given: set[bytes] = set()  # read and not committed

    @classmethod
    def from_address(cls, address: str, options: SourceOptions) -> RedisSource:
        given = StreamAddress(address, cls.address_form)
        if options.state is not None:
            raise ValueError("--state is for files; Redis keeps the position of a group itself")
        known = {
            "stream": given.take("stream"),
            "group": given.take("group"),
            "consumer": given.take("consumer", socket.gethostname()),
            "field": given.take("field", "event"),
        }
        idle = given.seconds("idle", IDLE_SECONDS)
        parts = given.parts._replace(query=urlencode(given.rest))
        if not parts.hostname:
            raise given.wrong(f"must be {cls.address_form}")
        try:
            return cls(urlunsplit(parts), **known, idle=idle, endless=options.follow is not False)
        except (ValueError, TypeError) as error:
            raise given.wrong(f"must be {cls.address_form}: {error}") from None

    async def open(self) -> None:
        with _errors():
            try:
                await self._redis.xgroup_create(self.stream, self.group, id="0", mkstream=True)
            except ResponseError as error:
                if "BUSYGROUP" not in str(error):  # it is there
                    raise

    async def read(self, most: int) -> Sequence[Record] | None:
        try:
            with _errors():
                entries = await self._unfinished(most)
                if not entries:
                    wait = WAIT_MILLISECONDS if self.endless else None
                    entries = await self._group(">", most, wait)
        except SourceDown:
            self._own = b"0"  # there may be entries that were given and did not arrive
            raise
        if not entries and not self.endless:
            return None
        self._given.update(id for id, _ in entries)
        return [self._record(*entry) for entry in entries]

    async def _unfinished(self, most: int) -> Entries:
        """Return entries that were given to this consumer before, or to one that has gone."""
        while self._own is not None:
            entries = await self._group(self._own, most, None)
            self._own = entries[-1][0] if entries else None
            lost = [entry for entry in entries if entry[0] not in self._given]
            if lost:
                return lost
        if time.monotonic() < self._claimed + self._idle / 2:
            return []
        answer: Any = await self._redis.xautoclaim(
            self.stream, self.group, self.consumer, int(1000 * self._idle), "0", count=most
        )
        found: Entries = [entry for entry in answer[1] if entry[0] not in self._given]
        if not found:
            self._claimed = time.monotonic()
        return found

    async def _group(self, after: bytes | str, most: int, wait: int | None) -> Entries:
        answer: Any = await self._redis.xreadgroup(
            self.group, self.consumer, {self.stream: after}, count=most, block=wait
        )
        if isinstance(answer, dict):  # by the newer protocol
            return [entry for pages in answer.values() for page in pages for entry in page]
        return [entry for _, entries in answer for entry in entries]

    def _record(self, id: bytes, fields: dict[bytes, bytes] | None) -> Record:
        at = id.decode()
        if not fields:
            return Record(b"", at, id, _DELETED)
        text = fields.get(self._field)
        if text is None:
            names = ", ".join(repr(name.decode(errors="replace")) for name in fields)
            fault = f"it must have the field {self._field.decode()!r}, got {names}"
            return Record(_as_object(fields), at, id, fault)
        return Record(text, at, id)

    async def commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        ids = [record.position for record in records]
        with _errors():
            async with self._redis.pipeline(transaction=True) as commands:
                for refusal in refusals:
                    keys = (self.stream, self.refused_place)
                    commands.eval(_REFUSE, 2, *keys, self.group, *_refused(refusal))
                if ids:
                    commands.xack(self.stream, self.group, *ids)
                await commands.execute()
        self._given.difference_update(ids)

    async def close(self) -> None:
        await self._redis.aclose()


def _as_object(fields: dict[bytes, bytes]) -> bytes:
    """Return all that an entry has, for people: the refusal is what is left of it."""
    text = {
        name.decode(errors="replace"): value.decode(errors="replace")
        for name, value in fields.items()
    }
    return json.dumps(text, ensure_ascii=False).encode()


def _refused(refusal: Refusal) -> Iterator[bytes | str]:
    """Return an id, and the fields of the entry about it."""
    record = refusal.record
    status = "" if refusal.status is None else str(refusal.status)
    yield record.position
    yield from ("at", record.at, "status", status, "reason", refusal.reason)
    yield from ("event", event_text(record))


@contextmanager
def _errors() -> Iterator[None]:
    """Say of an error whether it may pass."""
    try:
        yield
    except (Disconnected, TimedOut, OSError, BusyLoadingError, ReadOnlyError) as error:
        if "AUTH" in str(error) or "WRONGPASS" in str(error):
            raise ValueError(f"Redis refuses: {error}") from None
        raise SourceDown(str(error)) from None
    except RedisError as error:
        if "NOGROUP" in str(error):
            raise ValueError(
                "the stream or its group was removed while it was imported; start the import again "
                "to make the group anew, which begins with the first entry"
            ) from None
        raise ValueError(f"Redis refuses: {error}") from None
