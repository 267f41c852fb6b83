"""What a database holds, in pieces."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import numpy as np

from faircascade.service.stores.attributes import read_attributes, write_attributes
from faircascade.service.stores.base import Event, Impression, StoredItem, StoreShape
from faircascade.service.stores.contents import (
    ContentCounts,
    ItemVersion,
    StoreContents,
    StoredCohort,
    StoredUser,
)
from faircascade.service.stores.packing import (
    pack_floats,
    pack_note,
    pack_text,
    read_floats,
    read_text,
)
from faircascade.service.stores.postgresql_catalogue import COLUMNS, UPSERT
from faircascade.service.stores.postgresql_connection import Connection, PostgreSQLConnection
from faircascade.service.stores.postgresql_rows import (
    IMPRESSION,
    at_once,
    clicked_bytes,
    read_impression,
    read_sums,
    slot_bytes,
)

_LONG = 60.0
"""Seconds more: a copy is not in a hurry."""
_COUNT = """
SELECT (SELECT count(*) FROM items) AS items, (SELECT count(*) FROM users) AS users,
(SELECT count(*) FROM cohorts WHERE slates > 0) AS cohorts,
(SELECT count(*) FROM impressions) AS impressions, (SELECT count(*) FROM events) AS events
"""
_USERS = """
SELECT u.name, u.rounds, array_send(u.sums), a.slots, a.units FROM users u LEFT JOIN LATERAL (
  SELECT array_agg(o.slot) AS slots, array_agg(o.units) AS units FROM accounts o
  WHERE o.name = u.name
) a ON true WHERE u.name > $1 ORDER BY u.name LIMIT $2
"""
_ADD_USERS = """
INSERT INTO users (name, rounds, sums)
SELECT g.name, g.rounds, ($3::float8[])[(g.place - 1) * $4::int + 1 : g.place * $4::int]
FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS g (name, rounds, place)
ON CONFLICT (name) DO NOTHING RETURNING name
"""
_COHORTS = """
SELECT name, slates, array_send(sums) FROM cohorts WHERE name > $1 AND slates > 0
ORDER BY name LIMIT $2
"""
_ADD_COHORTS = """
INSERT INTO cohorts (name, slates, sums)
SELECT g.name, g.slates, ($3::float8[])[(g.place - 1) * $4::int + 1 : g.place * $4::int]
FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS g (name, slates, place)
ON CONFLICT (name) DO NOTHING RETURNING name
"""
_ADD_ACCOUNTS = """
INSERT INTO accounts (name, slot, units)
SELECT * FROM unnest($1::bytea[], $2::int[], $3::bigint[]) ON CONFLICT (name, slot) DO NOTHING
"""
_ADD_IMPRESSIONS = f"""
INSERT INTO impressions ({IMPRESSION})
SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::float8[], $5::bytea[],
  $6::bytea[], $7::bytea[], $8::bytea[], $9::int[], $10::bytea[])
ON CONFLICT (id) DO NOTHING RETURNING 1
"""
_ADD_EVENTS = """
INSERT INTO events (time, answered, slots, note) SELECT g.time, g.answered, g.slots, g.note
FROM unnest($1::float8[], $2::boolean[], $3::bytea[], $4::bytea[])
  WITH ORDINALITY AS g (time, answered, slots, note, place) ORDER BY g.place
"""
_CLEAR = """
DROP TABLE store, meta, items, users, cohorts, accounts, impressions, events, counts, changes;
DROP SEQUENCE event_numbers
"""


def _item(row: Any) -> ItemVersion:
    name, slot, features, merit, popularity, labels, attributes, removed, version = row
    item = StoredItem(
        id=read_text(name),
        slot=slot,
        features=read_floats(features),
        merit=merit,
        popularity=popularity,
        groups=json.loads(labels),
        attributes=read_attributes(attributes),
        removed=removed,
    )
    return ItemVersion(item=item, version=version)


class PostgreSQLContents(StoreContents):
    """Everything in a schema."""

    def __init__(self, db: PostgreSQLConnection, shape: StoreShape) -> None:
        self._db = db
        self._shape = shape

    async def _fetch(self, sql: str, *values: Any) -> list[Any]:
        return await self._db.fetch(sql, *values, extra=_LONG)

    async def count(self) -> ContentCounts:
        (row,) = await self._fetch(_COUNT)
        return ContentCounts(**dict(row))

    async def meta(self) -> AsyncIterator[Mapping[str, Any]]:
        rows = await self._fetch("SELECT name, value FROM meta")
        yield {name: json.loads(value) for name, value in rows}

    async def items(self) -> AsyncIterator[Sequence[ItemVersion]]:
        last, most = -1, at_once(8 * self._shape.dim)
        sql = f"SELECT {', '.join(COLUMNS)} FROM items WHERE slot > $1 ORDER BY slot LIMIT $2"
        while rows := await self._fetch(sql, last, most):
            last = rows[-1]["slot"]
            yield [_item(row) for row in rows]

    async def users(self) -> AsyncIterator[Sequence[StoredUser]]:
        last, most = b"", at_once(8 * self._shape.sums)
        while rows := await self._fetch(_USERS, last, most):
            last = rows[-1]["name"]
            yield [
                StoredUser(
                    user=read_text(name),
                    rounds=rounds,
                    sums=read_sums(packed, self._shape.sums),
                    account=dict(zip(slots or (), units or (), strict=True)),
                )
                for name, rounds, packed, slots, units in rows
            ]

    async def cohorts(self) -> AsyncIterator[Sequence[StoredCohort]]:
        last, s = b"", self._shape.sums
        while rows := await self._fetch(_COHORTS, last, at_once(8 * s)):
            last = rows[-1]["name"]
            yield [
                StoredCohort(name=read_text(name), slates=slates, sums=read_sums(packed, s))
                for name, slates, packed in rows
            ]

    async def impressions(self) -> AsyncIterator[Sequence[Impression]]:
        last, most = b"", at_once(80 * self._shape.dim)
        sql = f"SELECT {IMPRESSION} FROM impressions WHERE id > $1 ORDER BY id LIMIT $2"
        while rows := await self._fetch(sql, last, most):
            last = rows[-1]["id"]
            yield [read_impression(row, self._shape.dim) for row in rows]

    async def add_items(self, items: Sequence[ItemVersion]) -> None:
        rows = [
            (
                pack_text(one.item.id),
                one.item.slot,
                pack_floats(one.item.features, self._shape.dim),
                one.item.merit,
                one.item.popularity,
                json.dumps(dict(one.item.groups)),
                write_attributes(one.item.attributes),
                one.item.removed,
                one.version,
            )
            for one in items
        ]

        async def job(db: Connection) -> None:
            await db.execute(UPSERT, *map(list, zip(*rows, strict=True)))
            await db.execute(
                "UPDATE store SET version = greatest(version, (SELECT max(version) FROM items))"
            )

        await self._db.transaction(job, extra=_LONG)

    async def add_users(self, users: Sequence[StoredUser]) -> Sequence[bool]:
        s = self._shape.sums
        names = [pack_text(user.user) for user in users]
        values = [pack_floats(user.sums, s) and user.sums for user in users]

        async def job(db: Connection) -> set[bytes]:
            rounds = [user.rounds for user in users]
            rows = await db.fetch(_ADD_USERS, names, rounds, np.concatenate(values).tolist(), s)
            accounts = [
                (name, slot, units)
                for name, user in zip(names, users, strict=True)
                for slot, units in user.account.items()
            ]
            if accounts:
                await db.execute(_ADD_ACCOUNTS, *map(list, zip(*accounts, strict=True)))
            return {row[0] for row in rows}

        new = await self._db.transaction(job, extra=_LONG)
        return [name in new for name in names]

    async def add_cohorts(self, cohorts: Sequence[StoredCohort]) -> Sequence[bool]:
        s = self._shape.sums
        names = [pack_text(one.name) for one in cohorts]
        sums = np.concatenate([one.sums for one in cohorts]).tolist()
        rows = await self._fetch(_ADD_COHORTS, names, [one.slates for one in cohorts], sums, s)
        new = {row[0] for row in rows}
        return [name in new for name in names]

    async def add_impressions(self, impressions: Sequence[Impression]) -> int:
        rows = await self._fetch(
            _ADD_IMPRESSIONS,
            [pack_text(one.id) for one in impressions],
            [pack_text(one.user) for one in impressions],
            [one.round for one in impressions],
            [one.time for one in impressions],
            [slot_bytes(one.slots) for one in impressions],
            [pack_floats(one.features, len(one.slots), self._shape.dim) for one in impressions],
            [pack_note(one.note) for one in impressions],
            [None if one.clicked is None else clicked_bytes(one.clicked) for one in impressions],
            [one.examined for one in impressions],
            [None if one.clicked is None else pack_note(one.details) for one in impressions],
        )
        return len(rows)

    async def add_events(self, events: Sequence[Event]) -> None:
        await self._fetch(
            _ADD_EVENTS,
            [event.time for event in events],
            [event.answered for event in events],
            [slot_bytes(event.slots) for event in events],
            [pack_note(event.note) for event in events],
        )

    async def clear(self) -> None:
        await self._db.transaction(lambda db: db.execute(_CLEAR), extra=_LONG)
