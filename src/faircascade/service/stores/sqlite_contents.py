"""What a file holds, in pieces."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from faircascade.service.stores.attributes import write_attributes
from faircascade.service.stores.base import Event, Impression, StoreShape
from faircascade.service.stores.contents import (
    ContentCounts,
    ItemVersion,
    StoreContents,
    StoredCohort,
    StoredUser,
)
from faircascade.service.stores.packing import pack_note, widened
from faircascade.service.stores.sqlite_file import SQLiteFile
from faircascade.service.stores.sqlite_rows import (
    clicked_value,
    foreign_number,
    read_item,
    value,
)

_PIECE = 500
_ITEMS = """
SELECT slot, id, features, merit, popularity, labels, attributes, removed, version FROM items
WHERE slot > ? ORDER BY slot LIMIT ?
"""
_USERS = "SELECT key, name, rounds, sums FROM users WHERE key > ? ORDER BY key LIMIT ?"
_ACCOUNTS = "SELECT user, slot, units FROM accounts WHERE user BETWEEN ? AND ?"
_LEAST = -(2**63)
_TABLES = (
    *("meta", "items", "users", "cohorts", "accounts", "impressions", "events", "counts"),
    "changes",
)


class SQLiteContents(StoreContents):
    """Everything in a file."""

    def __init__(
        self,
        file: SQLiteFile,
        shape: StoreShape,
        select: str,
        read: Callable[[Any], Impression],
    ) -> None:
        """Take an open file; `read` takes a row that `select` returns, the number first."""
        self._file = file
        self._shape = shape
        self._select = select
        self._read = read

    async def count(self) -> ContentCounts:
        tables = ("items", "users", "cohorts", "impressions", "events")
        return await self._file.snapshot(
            lambda db: ContentCounts(
                **{table: value(db, f"SELECT count(*) FROM {table}") for table in tables}
            )
        )

    async def meta(self) -> AsyncIterator[Mapping[str, Any]]:
        rows = await self._file.read("SELECT name, value FROM meta WHERE name != 'shape'")
        yield {name: json.loads(text) for name, text in rows}

    async def items(self) -> AsyncIterator[Sequence[ItemVersion]]:
        last = -1
        while rows := await self._file.read(_ITEMS, [last, _PIECE]):
            last = rows[-1][0]
            yield [ItemVersion(item=read_item(row), version=row[-1]) for row in rows]

    async def users(self) -> AsyncIterator[Sequence[StoredUser]]:
        last = _LEAST
        while rows := await self._file.read(_USERS, [last, _PIECE]):
            first, last = rows[0][0], rows[-1][0]
            accounts: dict[int, dict[int, int]] = defaultdict(dict)
            for key, slot, units in await self._file.read(_ACCOUNTS, [first, last]):
                accounts[key][slot] = units
            yield [
                StoredUser(
                    user=name,
                    sums=widened(np.frombuffer(packed), self._shape.sums),
                    rounds=rounds,
                    account=accounts[key],
                )
                for key, name, rounds, packed in rows
            ]

    async def cohorts(self) -> AsyncIterator[Sequence[StoredCohort]]:
        last, sql = (
            "",
            "SELECT name, slates, sums FROM cohorts WHERE name > ? ORDER BY name LIMIT ?",
        )
        while rows := await self._file.read(sql, [last, _PIECE]):
            last = rows[-1][0]
            yield [
                StoredCohort(
                    name=name,
                    slates=slates,
                    sums=widened(np.frombuffer(packed), self._shape.sums),
                )
                for name, slates, packed in rows
            ]

    async def impressions(self) -> AsyncIterator[Sequence[Impression]]:
        last = _LEAST
        sql = f"{self._select} WHERE number > ? ORDER BY number LIMIT ?"
        while rows := await self._file.read(sql, [last, _PIECE]):
            last = rows[-1][0]
            yield [self._read(row) for row in rows]

    async def add_items(self, items: Sequence[ItemVersion]) -> None:
        rows = [
            (
                one.item.slot,
                one.item.id,
                one.item.features.tobytes(),
                one.item.merit,
                one.item.popularity,
                json.dumps(dict(one.item.groups)),
                write_attributes(one.item.attributes),
                one.item.removed,
                one.version,
            )
            for one in items
        ]
        sql = (
            "INSERT OR IGNORE INTO items (slot, id, features, merit, popularity, labels, "
            "attributes, removed, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        await self._file.write(lambda db: db.executemany(sql, rows))

    async def add_users(self, users: Sequence[StoredUser]) -> Sequence[bool]:
        def job(db: sqlite3.Connection) -> list[bool]:
            return [_add_user(db, user) for user in users]

        added: list[bool] = await self._file.write(job)
        return added

    async def add_cohorts(self, cohorts: Sequence[StoredCohort]) -> Sequence[bool]:
        sql = "INSERT OR IGNORE INTO cohorts VALUES (?, ?, ?)"

        def job(db: sqlite3.Connection) -> list[bool]:
            rows = [(one.name, one.slates, one.sums.tobytes()) for one in cohorts]
            return [db.execute(sql, row).rowcount > 0 for row in rows]

        added: list[bool] = await self._file.write(job)
        return added

    async def add_impressions(self, impressions: Sequence[Impression]) -> int:
        def job(db: sqlite3.Connection) -> int:
            return sum(_add_impression(db, impression) for impression in impressions)

        return int(await self._file.write(job))

    async def add_events(self, events: Sequence[Event]) -> None:
        rows = [
            (
                event.time,
                len(event.slots) if event.answered else None,
                event.slots.tobytes(),
                pack_note(event.note),
            )
            for event in events
        ]
        sql = "INSERT INTO events (time, clicked, slots, note) VALUES (?, ?, ?, ?)"
        await self._file.write(lambda db: db.executemany(sql, rows))

    async def clear(self) -> None:
        def job(db: sqlite3.Connection) -> None:
            for table in _TABLES:
                db.execute(f"DELETE FROM {table}")

        await self._file.write(job)


def _add_user(db: sqlite3.Connection, user: StoredUser) -> bool:
    row = db.execute(
        "INSERT INTO users (name, rounds, sums) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING "
        "RETURNING key",
        [user.user, user.rounds, user.sums.tobytes()],
    ).fetchone()
    if row is None:
        return False
    db.executemany(
        "INSERT INTO accounts VALUES (?, ?, ?)",
        [(row[0], slot, units) for slot, units in user.account.items()],
    )
    return True


def _add_impression(db: sqlite3.Connection, shown: Impression) -> bool:
    added = db.execute(
        "INSERT OR IGNORE INTO impressions "
        "(number, token, user, round, time, slots, features, note, clicked, examined, "
        "details) SELECT ?, ?, key, ?, ?, ?, ?, ?, ?, ?, ? FROM users WHERE name = ?",
        [
            foreign_number(shown.id),
            shown.id,
            shown.round,
            shown.time,
            shown.slots.tobytes(),
            shown.features.tobytes(),
            pack_note(shown.note),
            None if shown.clicked is None else clicked_value(shown.clicked),
            shown.examined,
            None if shown.clicked is None else pack_note(shown.details),
            shown.user,
        ],
    )
    return added.rowcount > 0
