"""The shared store: one Redis, several services.

Every change is one script, so it happens as a whole or not at all, and sending it again changes
nothing.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from redis.exceptions import ResponseError

from faircascade.errors import ParameterError
from faircascade.service.stores import packing
from faircascade.service.stores.base import (
    CohortStates,
    Event,
    Impression,
    ItemPatch,
    ModelUpdate,
    Store,
    StoredItem,
    StoreDown,
    StoreShape,
    StoreSize,
    StoreUnsure,
    UpdateOutcome,
    UserRecord,
    UserStates,
)
from faircascade.service.stores.changes import (
    Answered,
    Change,
    Erased,
    Imported,
    Moved,
    Shown,
    read_change,
)
from faircascade.service.stores.redis_connection import (
    Command,
    RedisConnection,
    Script,
    Unanswered,
    chunks,
)
from faircascade.service.stores.redis_contents import (
    LOOKED_AT,
    RedisContents,
    pattern_of,
)
from faircascade.service.stores.registry import register_store
from faircascade.types import Floats, Ints

FORMAT = 5
"""Format of keys and values; a store in another one is refused."""
MARGIN = 3600.0
"""Seconds that an impression outlives its time to live: clocks differ."""
_LOGGED_LIFE = 7 * 24 * 3600_000
"""Milliseconds that one lives longer where changes are logged, until it is answered, so that none
goes before `expire`."""
READING_TIME = 600.0
"""Seconds that other services have to read an event before it may go."""

_MANY = 500
"""Commands sent together at most."""
_MUCH = 2**20
"""Bytes sent together, roughly: Redis serves others in between."""
_PACE = 4 * 2**20
"""Bytes of items that Redis changes in a second where it is slow; patience grows with them."""
_HEAD = 512
"""Bytes that an item without features counts as."""


@register_store("redis", "rediss", "unix")
class RedisStore(Store):
    """One primary, 6.2 or newer, without Cluster; all keys begin with `prefix` and a colon."""

    address_form = "redis://HOST:PORT/NUMBER"

    def __init__(
        self, url: str, *, ttl: float, prefix: str = "faircascade", patience: float = 1.5
    ) -> None:
        """Keep impressions for `ttl` seconds; wait for Redis for `patience` seconds at most."""
        for name, value in {"ttl": ttl, "patience": patience}.items():
            if not value > 0:
                raise ParameterError(name, "must be positive", value)
        self._url = url
        self._prefix = prefix
        self._patience = patience
        self._life = round((ttl + MARGIN) * 1000)  # milliseconds
        self._logged = False

    @classmethod
    def from_address(cls, address: str, *, ttl: float) -> RedisStore:
        return cls(address, ttl=ttl)

    async def stored_shape(self) -> StoreShape | None:
        connection = RedisConnection(self._url, patience=self._patience)
        try:
            (found,) = await connection.send([("GET", self._key("shape"))])
        finally:
            await connection.close()
        return None if found is None else _read_shape(found)

    async def open(self, shape: StoreShape) -> None:
        self._shape = shape
        self._connection = RedisConnection(self._url, patience=self._patience)
        try:
            await self._check_shape()
            self.durability = await self._connection.durability()
        except BaseException:
            await self.close()
            raise

    async def _check_shape(self) -> None:
        key = self._key("shape")
        ours = json.dumps({"format": FORMAT, **self._shape.plain()})
        _, found = await self._connection.send([("SETNX", key, ours), ("GET", key)])
        name = f"redis, prefix {self._prefix!r}"
        if (version := json.loads(found).get("format")) != FORMAT:
            raise ValueError(f"{name}: store version {version}; this release reads {FORMAT}")
        if reason := _read_shape(found).refuses(self._shape):
            raise ValueError(f"{name}: {reason}")

    async def widen(self, sums: int) -> None:
        await self._call("widen", [([], [sums])])
        self._shape = replace(self._shape, sums=sums)

    async def move_sums(self, first: int, size: int, into: int | None, after: str) -> str | None:
        kind, _, cursor = (after or "user:0").partition(":")
        ((cursor_now, keys),) = await self._send(
            [("SCAN", cursor, "MATCH", pattern_of(self._key(kind, "")), "COUNT", LOOKED_AT)]
        )
        for some in chunks(keys, _at_once(8 * self._shape.sums)):
            await self._move(kind, some, (first, size, into))
        if int(cursor_now):
            return f"{kind}:{int(cursor_now)}"
        return "cohort:0" if kind == "user" else None

    async def _move(
        self, kind: str, keys: Sequence[bytes], what: tuple[int, int, int | None]
    ) -> None:
        """Move numbers of some users or cohorts, until nobody learned anything meanwhile."""
        first, size, into = what
        stem = self._key(kind, "")
        while keys:
            calls: list[tuple[Command, Command]] = []
            keys_of: list[bytes] = []
            asked: list[Command] = [("HGET", key, "sums") for key in keys]
            for key, packed in zip(keys, await self._send(asked), strict=True):
                sums = packing.moved(packing.read_floats(packed or b""), first, size, into)
                if sums is None:
                    continue
                change = self._packed(
                    Moved,
                    name=packing.read_text(key.removeprefix(stem)),
                    cohort=kind == "cohort",
                    first=first,
                    size=size,
                    into=into,
                )
                given = [packed, packing.pack_floats(sums, len(sums)), change]
                calls.append(([key, self._key("changes")], given))
                keys_of.append(key)
            done = await self._call("replace_sums", calls)
            pairs = zip(keys_of, done, strict=True)
            keys = [key for key, was in pairs if not was]

    async def close(self) -> None:
        await self._connection.close()

    async def ping(self) -> None:
        await self._send([])
        await self._connection.send([("SET", self._key("ping"), b"", "PX", 60_000)])

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        """Return the replies to commands, unless Redis was emptied."""
        there, *replies = await self._connection.send([("EXISTS", self._key("shape")), *commands])
        if not there:
            raise self._connection.lost()
        return replies

    def _key(self, kind: str, name: str | None = None) -> bytes:
        return packing.pack_text(":".join([self._prefix, kind, *([] if name is None else [name])]))

    def _stem(self) -> bytes:
        """Return what the keys of all impressions begin with."""
        return self._key("impression", "")

    async def _call(
        self, script: str, calls: Sequence[tuple[Command, Command]], *, size: int = 0
    ) -> list[Any]:
        """Run a script with keys and arguments, in order; a call has `size` bytes, roughly."""
        replies: list[Any] = []
        for some in chunks(calls, _at_once(size)):
            replies += await self._connection.send(self._commands(script, some))
        return replies

    def _commands(self, script: str, calls: Sequence[tuple[Command, Command]]) -> list[Command]:
        shape = self._key("shape")
        return Script.named(script).calls([((*keys, shape), given) for keys, given in calls])

    # meta

    async def get_meta(self, name: str) -> Any:
        (value,) = await self._send([("HGET", self._key("meta"), name)])
        return None if value is None else json.loads(value)

    async def set_meta(self, name: str, value: Any) -> None:
        await self._send([])
        await self._connection.send([("HSET", self._key("meta"), name, json.dumps(value))])

    async def replace_meta(self, name: str, before: Any, value: Any) -> bool:
        given = [name, json.dumps(before), json.dumps(value)]
        (replaced,) = await self._call("replace_meta", [([self._key("meta")], given)])
        return bool(replaced)

    # catalogue

    def _catalogue(self) -> list[bytes]:
        return [self._key(kind) for kind in ("items", "changed", "version", "live")]

    async def catalogue_version(self) -> int:
        (version,) = await self._send([("GET", self._key("version"))])
        return int(version or 0)

    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        items, changed, version, _ = self._catalogue()
        # The version comes first: what changes in between is read twice rather than never.
        number, ids = await self._send(
            [("GET", version), ("ZRANGEBYSCORE", changed, f"({after}", "+inf", "WITHSCORES")]
        )
        dim = self._shape.dim
        found: list[StoredItem] = []
        for some in chunks(list(zip(ids[::2], ids[1::2], strict=True)), _at_once(8 * dim)):
            (values,) = await self._send([("HMGET", items, *(name for name, _ in some))])
            found += [
                replace(
                    packing.read_item(packing.read_text(name), value, dim),
                    version=int(changed_with),
                )
                for (name, changed_with), value in zip(some, values, strict=True)
            ]
        return int(number or 0), sorted(found, key=lambda item: item.slot)

    async def put_items(self, changes: Sequence[ItemPatch]) -> None:
        if not changes:
            return
        dim = self._shape.dim
        arguments: list[bytes | int] = [8 * dim]
        for change in changes:
            arguments += [packing.pack_text(change.id), packing.pack_patch(change, dim)]
        await self._change_catalogue("put_items", arguments, len(changes))

    async def remove_items(self, ids: Sequence[str]) -> bool:
        names = [packing.pack_text(name) for name in ids]
        return bool(await self._change_catalogue("remove_items", names, len(names)))

    async def _change_catalogue(self, script: str, arguments: Command, items: int) -> Any:
        """Run a script on items, all in one call: either all of them change or none."""
        call = self._commands(script, [(self._catalogue(), arguments)])
        size = items * (_HEAD + 8 * self._shape.dim)
        (reply,) = await self._connection.send(call, extra=size / _PACE)
        return reply

    # recommending

    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        n, s = len(users), self._shape.sums
        sums = np.zeros((n, s))
        rounds = np.empty(n, dtype=np.int64)
        owed: list[dict[int, int]] = []
        step = 3 if accounts else 2
        for some in chunks(range(n), _at_once(8 * s)):
            commands: list[Command] = []
            for place in some:
                key = self._key("user", users[place])
                commands += [("HINCRBY", key, "rounds", 1), ("HGET", key, "sums")]
                if accounts:
                    commands.append(("HGETALL", self._key("account", users[place])))
            replies = await self._send(commands)
            for place, (number, packed, *rest) in zip(some, chunks(replies, step), strict=True):
                rounds[place] = number
                if packed is not None:
                    sums[place] = packing.widened(packing.read_floats(packed), s)
                owed += [{int(slot): int(had) for slot, had in one.items()} for one in rest]
        return UserStates(sums=sums, rounds=rounds, accounts=owed)

    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        ids = [secrets.token_urlsafe(16) for _ in impressions]
        gains = [] if units is None else units.tolist()
        calls = [
            self._recording(
                name, impression, gains, self._packed(Shown.of, impression, name, units)
            )
            for name, impression in zip(ids, impressions, strict=True)
        ]
        size = max((impression.features.nbytes for impression in impressions), default=0)
        counted = 0
        try:
            for some in chunks(calls, _at_once(size)):
                await self._call("record", some)
                counted += len(some)
        except StoreDown as error:
            if counted or isinstance(error, Unanswered):
                raise StoreUnsure(f"{error}; the slates may have been counted") from error
            raise
        return ids

    def _recording(
        self, name: str, impression: Impression, gains: Sequence[int], change: bytes
    ) -> tuple[Command, Command]:
        user = impression.user
        keys = [
            self._key("impression", name),
            self._key("user", user),
            self._key("shown", user),
            self._key("account", user),
            self._key("events"),
            self._key("changes"),
            self._key("open"),
        ]
        arguments: list[bytes | str | int | float] = [
            packing.pack_impression(impression, self._shape.dim),
            name,
            impression.round,
            self._life + self._logged * _LOGGED_LIFE,
            packing.pack_shown(impression),
            self._stem(),
            change,
            impression.time,
        ]
        for pair in zip(impression.slots.tolist(), gains, strict=False):
            arguments += pair
        return keys, arguments

    # learning

    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        found: list[Impression | None] = []
        for some in chunks(ids, 100):
            keys = [self._key("impression", name) for name in some]
            (bodies,) = await self._send([("MGET", *keys)])
            found += [
                None if body is None else packing.read_impression(name, body, self._shape.dim)
                for name, body in zip(some, bodies, strict=True)
            ]
        return found

    async def unanswered(self, before: float, limit: int) -> list[Impression]:
        key, found = self._key("open"), list[Impression]()
        while not found:
            (ids,) = await self._send(
                [("ZRANGEBYSCORE", key, "-inf", f"({before!r}", "LIMIT", 0, limit)]
            )
            if not ids:
                break
            names = [name.decode() for name in ids]
            there = await self.impressions(names)
            found = [one for one in there if one is not None]
            if expired := [n for n, one in zip(names, there, strict=True) if one is None]:
                await self._send([("ZREM", key, *expired)])
        return found

    async def learn(self, updates: Sequence[ModelUpdate]) -> list[UpdateOutcome]:
        """Learn each update; one whose reply was lost is `REPEATED` when it is sent again."""
        calls = [self._learning(update) for update in updates]
        outcomes = await self._call("learn", calls, size=8 * self._shape.sums)
        return [UpdateOutcome(outcome.decode()) for outcome in outcomes]

    def _learning(self, update: ModelUpdate) -> tuple[Command, Command]:
        shown = update.impression
        keys = [
            self._key("impression", shown.id),
            self._key("user", shown.user),
            self._key("events"),
            self._key("changes"),
            self._key("open"),
            self._key("account", shown.user),
            *(self._key("cohort", name) for name in update.cohorts),
        ]
        # 0 in the place of -0, as if it were added to 0: the first increments are kept as they are
        given = packing.fitting(update.increments, self._shape.sums) + 0.0
        increments = packing.pack_floats(given, len(given))
        head, tail = packing.pack_feedback(update)
        event, change = packing.pack_answered(update), self._packed(Answered.of, update)
        refunds = [part for pair in update.refunds.items() for part in pair]
        dim = self._shape.dim
        return keys, [head, increments, event, tail, change, shown.id, dim, _LOGGED_LIFE, *refunds]

    async def cohorts(self, names: Sequence[str]) -> CohortStates:
        s = self._shape.sums
        sums, slates = np.zeros((len(names), s)), np.zeros(len(names), dtype=np.int64)
        for some in chunks(range(len(names)), _at_once(8 * s)):
            asked = [("HMGET", self._key("cohort", names[n]), "slates", "sums") for n in some]
            for place, (count, packed) in zip(some, await self._send(asked), strict=True):
                if packed is not None:
                    sums[place] = packing.widened(packing.read_floats(packed), s)
                    slates[place] = int(count)
        return CohortStates(sums=sums, slates=slates)

    # users

    async def user(self, user: str, *, impressions: int) -> UserRecord | None:
        keys = [self._key("user", user), self._key("shown", user)]
        ((rounds, sums, count, ids, bodies),) = await self._call(
            "user", [(keys, [impressions, self._stem()])]
        )
        if rounds is None and sums is None and not count:
            return None
        return UserRecord(
            user=user,
            sums=packing.widened(packing.read_floats(sums or b""), self._shape.sums),
            rounds=int(rounds or 0),
            impressions=[
                packing.read_impression(name.decode(), body, self._shape.dim)
                for name, body in zip(ids, bodies, strict=True)
                if body is not None
            ],
            count=count,
        )

    async def erase(self, user: str) -> bool:
        keys = [self._key(kind, user) for kind in ("user", "account", "shown")]
        # Asked first: if the reply to the second is lost, sending it again finds nothing.
        (known,) = await self._send([("EXISTS", *keys)])
        change = self._packed(Erased, user=user)
        log = [self._key("changes"), self._key("open")]
        await self._call("erase", [([*keys, *log], [self._stem(), change])])
        return bool(known)

    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        s = self._shape.sums
        calls: list[tuple[Command, Command]] = [
            (
                [self._key("user", user), self._key("changes")],
                [
                    n,
                    packing.pack_floats(row, s),
                    self._packed(Imported, user=user, sums=row, rounds=n),
                ],
            )
            for user, row, n in zip(users, sums, rounds.tolist(), strict=True)
        ]
        await self._call("put_user", calls, size=8 * s)

    # exposure

    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        start = f"({after}" if after else "-"
        (found,) = await self._send([("XRANGE", self._key("events"), start, "+", "COUNT", limit)])
        return [(cursor.decode(), packing.read_event(fields[b"e"])) for cursor, fields in found]

    async def counts(self) -> tuple[str, bytes | None]:
        ((cursor, counts),) = await self._send([("HMGET", self._key("counts"), "cursor", "counts")])
        return (cursor or b"").decode(), counts

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        keys = [self._key("counts"), self._key("events")]
        await self._call("keep_counts", [(keys, [cursor, counts, round(READING_TIME * 1000)])])

    # event log

    def log_changes(self, on: bool) -> None:
        self._logged = on

    def _packed(self, make: Callable[..., Change], *given: Any, **named: Any) -> bytes:
        """Return a change as bytes, none if changes are not logged."""
        return make(*given, **named).pack(self._shape.dim) if self._logged else b""

    async def changes(self, after: str, limit: int) -> list[tuple[str, Change]]:
        start = f"({after}" if after else "-"
        (found,) = await self._send([("XRANGE", self._key("changes"), start, "+", "COUNT", limit)])
        dim = self._shape.dim
        return [(cursor.decode(), read_change(fields[b"c"], dim)) for cursor, fields in found]

    async def drop_changes(self, until: str) -> None:
        if until:
            time, number = until.split("-")
            first = f"{time}-{int(number) + 1}"
            await self._send([("XTRIM", self._key("changes"), "MINID", first)])

    # time

    async def expire(self, before: float) -> int:
        """Drop impressions that are not answered, if changes are logged. Redis drops the others
        itself, `MARGIN` after the time to live."""
        if not self._logged:
            return 0
        keys = [self._key("open"), self._key("changes")]
        (dropped,) = await self._call("expire", [(keys, [before, _MANY, self._stem()])])
        return int(dropped)

    # operation

    async def size(self) -> StoreSize:
        try:
            told = await self._connection.send([("INFO", "memory"), ("INFO", "persistence")])
        except ResponseError:  # many a hosted server forbids it
            return StoreSize()
        memory, persistence = told  # the client has read them
        return StoreSize(data=memory["used_memory"], log=persistence.get("aof_current_size"))

    # copies

    def contents(self) -> RedisContents:
        return RedisContents(self._key, self._send, self._shape, self._life)


def _read_shape(packed: bytes) -> StoreShape:
    kept = json.loads(packed)
    return StoreShape(dim=kept["dim"], sums=kept["sums"], topics=kept.get("topics", 0))


def _at_once(size: int) -> int:
    """Return how many things of a size to send together."""
    return max(1, min(_MANY, _MUCH // max(1, size)))
