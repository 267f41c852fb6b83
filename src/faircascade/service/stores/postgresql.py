"""The shared store on disk: one PostgreSQL database, several services.

The driver is asyncpg: it speaks the binary protocol without threads, keeps prepared statements by
itself, and has wheels for all platforms.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.service.stores import postgresql_schema as schema_of
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
    Expired,
    Imported,
    Moved,
    Shown,
    read_change,
)
from faircascade.service.stores.packing import moved, pack_floats, pack_text, read_text
from faircascade.service.stores.postgresql_catalogue import change_items, read_items, take_out
from faircascade.service.stores.postgresql_connection import (
    Connection,
    PostgreSQLConnection,
    Unanswered,
    checked_url,
    driver,
)
from faircascade.service.stores.postgresql_contents import PostgreSQLContents
from faircascade.service.stores.postgresql_rows import (
    EXPIRED,
    IMPRESSION,
    SUMS,
    USER,
    at_once,
    chunks,
    read_event,
    read_impression,
    read_sums,
    read_user,
    slate_values,
    update_values,
)
from faircascade.service.stores.postgresql_schema import function
from faircascade.service.stores.registry import register_store
from faircascade.types import Floats, Ints

READING_TIME = 600.0
"""Seconds that other services have to read an event before it may go."""
_EXPIRE_AT_ONCE = 1_000
_EVENTS_AT_ONCE = 5_000
_PACE = 4 * 2**20
"""Bytes that the server reads or writes in a second where it is slow; patience grows with them."""
_LONG = 60.0
"""Seconds more for what may be as large as the catalogue."""


_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = $1 AND relkind = 'r'
"""


@register_store("postgresql", "postgres")
class PostgreSQLStore(Store):
    """One primary, 14 or newer; all tables are in the schema `schema`."""

    address_form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"

    def __init__(self, url: str, *, schema: str = "faircascade", patience: float = 1.5) -> None:
        """Wait for the server for `patience` seconds at most."""
        if not patience > 0:
            raise ParameterError("patience", "must be positive", patience)
        if not schema.isidentifier():
            raise ParameterError("schema", "must be a name", schema)
        self._url = checked_url(url)
        self._schema = schema
        self._patience = patience
        self._id = ""
        self._logged = False

    @classmethod
    def from_address(cls, address: str, *, ttl: float) -> PostgreSQLStore:
        driver()
        return cls(address)

    def _connect(self) -> PostgreSQLConnection:
        return PostgreSQLConnection(self._url, schema=self._schema, patience=self._patience)

    async def stored_shape(self) -> StoreShape | None:
        connection = self._connect()
        try:
            return await connection.run(schema_of.stored_shape)
        except ValueError as error:
            raise _named(error, connection) from None
        finally:
            await connection.close()

    async def open(self, shape: StoreShape) -> None:
        self._shape = shape
        self._db = self._connect()
        try:
            self._id = await self._db.transaction(
                lambda db: schema_of.prepare(db, self._schema, shape), extra=_LONG
            )
            self.durability = await self._db.run(schema_of.durability)
        except ValueError as error:
            await self.close()
            raise _named(error, self._db) from None
        except BaseException:
            await self.close()
            raise
        self._db.opened = True

    async def widen(self, sums: int) -> None:
        await self._guarded("SELECT 1 WHERE {guard}")
        await self._db.transaction(lambda db: schema_of.widen(db, self._id, sums))
        self._shape = replace(self._shape, sums=sums)

    async def move_sums(self, first: int, size: int, into: int | None, after: str) -> str | None:
        table, _, last = (after or "users:").partition(":")
        count = at_once(8 * self._shape.sums)

        async def job(db: Connection) -> list[Any]:
            await db.execute(
                f"SELECT {function('guard')}($1), {function('announce_events')}()", self._id
            )
            rows = await db.fetch(SUMS.format(table=table), bytes.fromhex(last), first, count)
            pairs = []
            for name, length, packed in rows:
                sums = moved(read_sums(packed, length), first, size, into)
                if sums is not None:
                    pairs.append((name, sums.tolist()))
            await db.executemany(f"UPDATE {table} SET sums = $2 WHERE name = $1", pairs)
            changes = self._packed(
                Moved(
                    name=read_text(name),
                    cohort=table == "cohorts",
                    first=first,
                    size=size,
                    into=into,
                )
                for name, _ in pairs
            )
            await db.execute("INSERT INTO changes (body) SELECT unnest($1::bytea[])", changes)
            return list(rows)

        rows = await self._db.transaction(job)
        if len(rows) == count:
            return f"{table}:{rows[-1][0].hex()}"
        return "cohorts:" if table == "users" else None

    async def close(self) -> None:
        await self._db.close()

    async def ping(self) -> None:
        await self.set_meta("ping", secrets.token_hex(4))

    async def _call(self, name: str, *values: Any, extra: float = 0.0) -> list[Any]:
        """Call a function of the store; all of it happens or nothing."""
        marks = ", ".join(f"${n}" for n in range(1, len(values) + 2))
        sql = f"SELECT * FROM {function(name)}({marks})"
        return await self._db.fetch(sql, self._id, *values, extra=extra)

    async def _guarded(self, sql: str, *values: Any, extra: float = 0.0) -> list[Any]:
        """Return the rows of a statement with a place for the guard."""
        guard = f"(SELECT {function('guard')}($1))"
        return await self._db.fetch(sql.format(guard=guard), self._id, *values, extra=extra)

    # meta

    async def get_meta(self, name: str) -> Any:
        rows = await self._guarded("SELECT value FROM meta WHERE {guard} AND name = $2", name)
        return json.loads(rows[0][0]) if rows else None

    async def set_meta(self, name: str, value: Any) -> None:
        await self._guarded(
            "INSERT INTO meta (name, value) SELECT $2, $3 WHERE {guard} "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            json.dumps(value),
        )

    async def replace_meta(self, name: str, before: Any, value: Any) -> bool:
        old, new = json.dumps(before), json.dumps(value)
        rows = await self._guarded(
            "INSERT INTO meta (name, value) SELECT $2, $3 WHERE {guard} "
            "AND coalesce((SELECT value FROM meta WHERE name = $2), 'null') IN ($3, $4) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value IN ($3, $4) "
            "RETURNING 1",
            name,
            new,
            old,
        )
        return bool(rows)

    # catalogue

    async def catalogue_version(self) -> int:
        rows = await self._guarded("SELECT version FROM store WHERE {guard}")
        return int(rows[0][0])

    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        version, found = await self._db.run(lambda db: read_items(db, self._id, after), extra=_LONG)
        return version, found

    async def put_items(self, changes: Sequence[ItemPatch]) -> None:
        if not changes:
            return
        for change in changes:
            pack_floats(change.features, self._shape.dim)  # refused before anything is sent
        await self._db.transaction(
            lambda db: change_items(db, self._id, changes), extra=len(changes) * 512 / _PACE
        )

    async def remove_items(self, ids: Sequence[str]) -> bool:
        return await self._db.transaction(lambda db: take_out(db, self._id, ids))

    # recommending

    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        n, s = len(users), self._shape.sums
        sums = np.zeros((n, s))
        rounds = np.empty(n, dtype=np.int64)
        owed: list[dict[int, int]] = [{} for _ in users] if accounts else []
        places: dict[bytes, list[int]] = defaultdict(list)
        for place, user in enumerate(users):
            places[pack_text(user)].append(place)
        for names in chunks(sorted(places), at_once(8 * s)):
            slates = [len(places[name]) for name in names]
            for name, last, packed, slots, units in await self._call(
                "begin_round", names, slates, accounts
            ):
                here = places[name]
                rounds[here] = np.arange(last - len(here) + 1, last + 1)
                sums[here] = read_sums(packed, s)
                if slots is not None:
                    account = dict(zip(slots, units, strict=True))
                    for place in here:
                        owed[place] = dict(account)
        return UserStates(sums=sums, rounds=rounds, accounts=owed)

    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        # They begin with the time, so that new ones are near each other in the index.
        ids = [f"{time.time_ns() >> 20:x}.{secrets.token_urlsafe(16)}" for _ in impressions]
        gains = [] if units is None else units.tolist()
        size = max((impression.features.nbytes for impression in impressions), default=0)
        counted = 0
        try:
            for some in chunks(range(len(ids)), at_once(size)):
                shown = [impressions[n] for n in some]
                names = [ids[n] for n in some]
                values = slate_values(names, shown, gains, self._shape.dim)
                pairs = zip(shown, names, strict=True)
                changes = self._packed(Shown.of(one, name, units) for one, name in pairs)
                await self._call("record", *values, changes)
                counted += len(some)
        except StoreDown as error:
            if counted or isinstance(error, Unanswered):
                raise StoreUnsure(f"{error}; the slates may have been counted") from error
            raise
        return ids

    # learning

    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        rows = await self._guarded(
            f"SELECT {IMPRESSION} FROM impressions WHERE {{guard}} AND id = ANY ($2)",
            [pack_text(name) for name in ids],
        )
        found = {i.id: i for i in (read_impression(row, self._shape.dim) for row in rows)}
        return [found.get(name) for name in ids]

    async def unanswered(self, before: float, limit: int) -> list[Impression]:
        rows = await self._guarded(
            f"SELECT {IMPRESSION} FROM impressions WHERE {{guard}} AND clicked IS NULL "
            "AND time < $2 ORDER BY time LIMIT $3",
            before,
            limit,
        )
        return [read_impression(row, self._shape.dim) for row in rows]

    async def learn(self, updates: Sequence[ModelUpdate]) -> list[UpdateOutcome]:
        """Learn each update; one whose reply was lost is `REPEATED` when it is sent again."""
        s = self._shape.sums
        outcomes: list[UpdateOutcome] = []
        for some in chunks(updates, at_once(8 * s)):
            extra = len(some) * 8 * s / _PACE
            changes = self._packed(map(Answered.of, some))
            ((found,),) = await self._call("learn", *update_values(some, s), changes, extra=extra)
            outcomes += map(UpdateOutcome, found)
        return outcomes

    async def cohorts(self, names: Sequence[str]) -> CohortStates:
        rows = await self._guarded(
            "SELECT name, slates, array_send(sums) FROM cohorts WHERE {guard} AND name = ANY ($2)",
            [pack_text(name) for name in names],
        )
        s = self._shape.sums
        known = {name: (slates, read_sums(packed, s)) for name, slates, packed in rows}
        nothing = 0, np.zeros(s)
        found = [known.get(pack_text(name), nothing) for name in names]
        return CohortStates(
            sums=np.array([sums for _, sums in found]).reshape(len(names), s),
            slates=np.array([slates for slates, _ in found], dtype=np.int64),
        )

    # users

    async def user(self, user: str, *, impressions: int) -> UserRecord | None:
        rows = await self._guarded(USER, pack_text(user), impressions)
        return read_user(user, rows, self._shape) if rows else None

    async def erase(self, user: str) -> bool:
        name = pack_text(user)
        # Asked first: if the reply to the second is lost, sending it again finds nothing.
        known = await self._guarded("SELECT 1 FROM users WHERE {guard} AND name = $2", name)
        change = next(iter(self._packed([Erased(user=user)])), None)
        ((erased,),) = await self._call("erase", name, change)
        return bool(known) or bool(erased)

    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        s = self._shape.sums
        order = sorted(range(len(users)), key=lambda n: pack_text(users[n]))
        for some in chunks(order, at_once(8 * s)):
            values = [
                [pack_text(users[n]) for n in some],
                [int(rounds[n]) for n in some],
                np.concatenate([sums[n] for n in some]).tolist(),
                s,
                self._packed(
                    Imported(user=users[n], sums=sums[n], rounds=int(rounds[n])) for n in some
                ),
            ]
            await self._call("put_users", *values)

    # exposure

    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        return [read_event(row) for row in await self._call("events", int(after or 0), limit)]

    async def counts(self) -> tuple[str, bytes | None]:
        rows = await self._guarded("SELECT cursor, body FROM counts WHERE {guard}", extra=_LONG)
        return (str(rows[0][0] or ""), rows[0][1]) if rows else ("", None)

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        extra = len(counts) / _PACE
        await self._call("keep_counts", int(cursor or 0), counts, extra=extra)
        dropped = _EVENTS_AT_ONCE
        while dropped == _EVENTS_AT_ONCE:
            ((dropped,),) = await self._call("drop_events", READING_TIME, _EVENTS_AT_ONCE)

    # event log

    def log_changes(self, on: bool) -> None:
        self._logged = on

    def _packed(self, changes: Iterable[Change]) -> list[bytes]:
        """Return changes as bytes, none if they are not logged."""
        return [change.pack(self._shape.dim) for change in changes] if self._logged else []

    async def changes(self, after: str, limit: int) -> list[tuple[str, Change]]:
        rows = await self._call("changes", int(after or 0), limit)
        return [(str(number), read_change(body, self._shape.dim)) for number, body in rows]

    async def drop_changes(self, until: str) -> None:
        sql = "DELETE FROM changes WHERE {guard} AND number <= $2"
        await self._guarded(sql, int(until or 0))

    # time

    async def expire(self, before: float) -> int:
        if self._logged:
            return await self._db.transaction(lambda db: self._expire_logged(db, before))
        ((dropped,),) = await self._call("expire", before, _EXPIRE_AT_ONCE)
        return int(dropped)

    async def _expire_logged(self, db: Connection, before: float) -> int:
        """Drop some impressions, and keep a change for each that has no answer."""
        await db.execute(
            f"SELECT {function('guard')}($1), {function('announce_events')}()", self._id
        )
        rows = await db.fetch(EXPIRED, before, _EXPIRE_AT_ONCE)
        dropped = [read_impression(row, self._shape.dim) for row in rows]
        changes = self._packed(Expired(impression=one) for one in dropped if one.clicked is None)
        await db.execute("INSERT INTO changes (body) SELECT unnest($1::bytea[])", changes)
        return len(dropped)

    # operation

    async def size(self) -> StoreSize:
        return StoreSize(data=int(await self._db.value(_SIZE, self._schema)))

    # copies

    def contents(self) -> PostgreSQLContents:
        return PostgreSQLContents(self._db, self._shape)


def _named(error: ValueError, connection: PostgreSQLConnection) -> ValueError:
    """Return an error that says which store it is about."""
    text = str(error)
    if isinstance(error, ParameterError) or text.startswith((connection.name, "a store on")):
        return error
    return ValueError(f"{connection.name}: {text}")
