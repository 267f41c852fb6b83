"""What a Redis holds under a prefix, in pieces."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from faircascade.service.stores import packing
from faircascade.service.stores.base import Event, Impression, StoreShape
from faircascade.service.stores.contents import (
    ContentCounts,
    ItemVersion,
    StoreContents,
    StoredCohort,
    StoredUser,
)
from faircascade.service.stores.redis_connection import Command, chunks

_PIECE = 500
LOOKED_AT = 1_000
"""Keys that Redis looks at in one step."""
_SHORTEST = 3600_000
"""Milliseconds that a copied impression lives at least."""


def pattern_of(stem: bytes) -> bytes:
    """Return the pattern of all keys that begin like this."""
    return re.sub(rb"([*?\[\]\\])", rb"\\\1", stem) + b"*"


Key = Callable[..., bytes]
Send = Callable[[Sequence[Command]], Any]


class RedisContents(StoreContents):
    """Everything under a prefix."""

    def __init__(self, key: Key, send: Send, shape: StoreShape, life: int) -> None:
        """Take how keys are made and commands sent; impressions live for `life` milliseconds."""
        self._key = key
        self._send = send
        self._shape = shape
        self._life = life

    async def count(self) -> ContentCounts:
        found = dict.fromkeys(("user", "impression", "cohort"), 0)
        for kind in found:
            async for keys in self._keys(kind):
                found[kind] += len(set(keys))
        items, events = await self._send(
            [("HLEN", self._key("items")), ("XLEN", self._key("events"))]
        )
        return ContentCounts(
            items=items,
            users=found["user"],
            impressions=found["impression"],
            events=events,
            cohorts=found["cohort"],
        )

    async def _keys(self, kind: str) -> AsyncIterator[list[bytes]]:
        """Yield the keys of a kind; Redis may return one twice when it tidies its table."""
        stem = self._key(kind, "")
        pattern = pattern_of(stem)
        cursor = b"0"
        while True:
            ((cursor, keys),) = await self._send(
                [("SCAN", cursor, "MATCH", pattern, "COUNT", LOOKED_AT)]
            )
            if keys:
                yield keys
            if int(cursor) == 0:
                return

    def _name(self, key: bytes, kind: str) -> str:
        return packing.read_text(key.removeprefix(self._key(kind, "")))

    async def meta(self) -> AsyncIterator[Mapping[str, Any]]:
        (found,) = await self._send([("HGETALL", self._key("meta"))])
        yield {name.decode(): json.loads(value) for name, value in found.items()}

    async def items(self) -> AsyncIterator[Sequence[ItemVersion]]:
        (found,) = await self._send([("ZRANGE", self._key("changed"), 0, -1, "WITHSCORES")])
        pairs = list(zip(found[::2], found[1::2], strict=True))
        for some in chunks(pairs, _PIECE):
            names = [name for name, _ in some]
            (values,) = await self._send([("HMGET", self._key("items"), *names)])
            yield [
                ItemVersion(
                    item=packing.read_item(packing.read_text(name), value, self._shape.dim),
                    version=int(version),
                )
                for (name, version), value in zip(some, values, strict=True)
            ]

    async def users(self) -> AsyncIterator[Sequence[StoredUser]]:
        async for keys in self._keys("user"):
            for some in chunks(keys, _PIECE):
                names = [self._name(key, "user") for key in some]
                commands: list[Command] = []
                for key, name in zip(some, names, strict=True):
                    commands += [
                        ("HMGET", key, "rounds", "sums"),
                        ("HGETALL", self._key("account", name)),
                    ]
                replies = await self._send(commands)
                yield [
                    StoredUser(
                        user=name,
                        rounds=int(rounds or 0),
                        sums=packing.widened(packing.read_floats(sums or b""), self._shape.sums),
                        account={int(slot): int(units) for slot, units in account.items()},
                    )
                    for name, ((rounds, sums), account) in zip(
                        names, chunks(replies, 2), strict=True
                    )
                ]

    async def cohorts(self) -> AsyncIterator[Sequence[StoredCohort]]:
        async for keys in self._keys("cohort"):
            for some in chunks(keys, _PIECE):
                replies = await self._send([("HMGET", key, "slates", "sums") for key in some])
                yield [
                    StoredCohort(
                        name=self._name(key, "cohort"),
                        slates=int(slates),
                        sums=packing.widened(packing.read_floats(sums), self._shape.sums),
                    )
                    for key, (slates, sums) in zip(some, replies, strict=True)
                ]

    async def impressions(self) -> AsyncIterator[Sequence[Impression]]:
        async for keys in self._keys("impression"):
            for some in chunks(keys, _PIECE):
                (bodies,) = await self._send([("MGET", *some)])
                yield [
                    packing.read_impression(self._name(key, "impression"), body, self._shape.dim)
                    for key, body in zip(some, bodies, strict=True)
                    if body is not None  # it has just expired
                ]

    async def add_items(self, items: Sequence[ItemVersion]) -> None:
        commands: list[Command] = []
        for one in items:
            name = packing.pack_text(one.item.id)
            packed = packing.pack_item(one.item, self._shape.dim)
            commands += [
                ("HSET", self._key("items"), name, packed),
                ("ZADD", self._key("changed"), one.version, name),
            ]
        (kept,) = await self._send([("GET", self._key("version"))])
        version = max([int(kept or 0), *(one.version for one in items)])
        commands += [
            ("INCRBY", self._key("live"), sum(not one.item.removed for one in items)),
            ("SET", self._key("version"), version),
        ]
        await self._send(commands)

    async def add_users(self, users: Sequence[StoredUser]) -> Sequence[bool]:
        commands: list[Command] = []
        for user in users:
            key = self._key("user", user.user)
            packed = packing.pack_floats(user.sums, self._shape.sums)
            account = [part for pair in user.account.items() for part in pair]
            commands += [
                ("HSETNX", key, "rounds", user.rounds),
                ("HSET", key, "sums", packed),
                ("HSET", self._key("account", user.user), *account) if account else ("PING",),
            ]
        return [bool(new) for new in (await self._send(commands))[::3]]

    async def add_cohorts(self, cohorts: Sequence[StoredCohort]) -> Sequence[bool]:
        commands: list[Command] = []
        for one in cohorts:
            key = self._key("cohort", one.name)
            packed = packing.pack_floats(one.sums, self._shape.sums)
            commands += [("HSETNX", key, "slates", one.slates), ("HSET", key, "sums", packed)]
        return [bool(new) for new in (await self._send(commands))[::2]]

    async def add_impressions(self, impressions: Sequence[Impression]) -> int:
        now = time.time()
        commands: list[Command] = []
        for one in impressions:
            life = max(self._life - round(1000 * (now - one.time)), _SHORTEST)
            shown = self._key("shown", one.user)
            packed = packing.pack_answered_impression(one, self._shape.dim)
            commands += [
                ("SET", self._key("impression", one.id), packed, "PX", life, "NX"),
                ("ZADD", shown, one.round, one.id),
                ("PEXPIRE", shown, self._life),
                ("ZADD", self._key("open"), one.time, one.id) if one.clicked is None else ("PING",),
            ]
        return sum(reply is not None for reply in (await self._send(commands))[::4])

    async def add_events(self, events: Sequence[Event]) -> None:
        key = self._key("events")
        await self._send([("XADD", key, "*", "e", packing.pack_event(one)) for one in events])

    async def clear(self) -> None:
        for kind in ("user", "account", "shown", "impression", "cohort"):
            async for keys in self._keys(kind):
                await self._send([("UNLINK", *keys)])
        rest = ["items", "changed", "version", "live", "events", "counts", "meta", "ping", "shape"]
        rest += ["changes", "open"]
        await self._send([("UNLINK", *(self._key(kind) for kind in rest))])
