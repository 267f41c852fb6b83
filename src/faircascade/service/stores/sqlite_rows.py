"""Statements of the embedded store: its tables, and what is read and written one by one."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from faircascade.service.stores.attributes import (
    Attributes,
    changed_attributes,
    read_attributes,
    write_attributes,
)
from faircascade.service.stores.base import (
    Impression,
    ItemPatch,
    ModelUpdate,
    StoredItem,
    UpdateOutcome,
)
from faircascade.service.stores.item_columns import ItemColumns
from faircascade.service.stores.packing import pack_note, widened
from faircascade.types import Floats, Ints

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (
    slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, features BLOB NOT NULL,
    merit REAL NOT NULL, popularity REAL NOT NULL, labels TEXT NOT NULL,
    attributes TEXT NOT NULL, removed INTEGER NOT NULL, version INTEGER NOT NULL
);
CREATE INDEX items_version ON items (version);
CREATE TABLE users (
    key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rounds INTEGER NOT NULL,
    sums BLOB NOT NULL
);
CREATE TABLE cohorts (name TEXT PRIMARY KEY, slates INTEGER NOT NULL, sums BLOB NOT NULL);
CREATE TABLE accounts (
    user INTEGER NOT NULL, slot INTEGER NOT NULL, units INTEGER NOT NULL,
    PRIMARY KEY (user, slot)
) WITHOUT ROWID;
CREATE TABLE impressions (
    number INTEGER PRIMARY KEY, token TEXT NOT NULL, user INTEGER NOT NULL,
    round INTEGER NOT NULL, time REAL NOT NULL, slots BLOB NOT NULL, features BLOB NOT NULL,
    note BLOB NOT NULL, clicked INTEGER, examined INTEGER,
    details BLOB
);
CREATE INDEX impressions_user ON impressions (user, number);
CREATE INDEX impressions_time ON impressions (time);
CREATE INDEX impressions_open ON impressions (time) WHERE clicked IS NULL;
CREATE TABLE events (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, clicked INTEGER,
    slots BLOB NOT NULL, note BLOB NOT NULL
);
CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
CREATE TABLE counts (
    one INTEGER PRIMARY KEY CHECK (one = 1), cursor INTEGER NOT NULL, body BLOB NOT NULL
);
"""
_PLACE = "(number = ? AND token = ? OR number = ? AND token = ?)"
"""Where an impression is: by a number of its own, or by that of a copied id."""
MOVED_AT_ONCE = 500
"""Users whose sums change together."""
_KEYS = {"users": "key", "cohorts": "name"}
"""By which column rows with sums are ordered."""
CATALOGUE_VERSION = "SELECT coalesce(max(version), 0) FROM items"


def value(db: sqlite3.Connection, sql: str) -> Any:
    """Return the one value that a statement gives."""
    return db.execute(sql).fetchone()[0]


def make_id(number: int, token: str) -> str:
    """Return the id of an impression: a number to find it by, a token that cannot be guessed."""
    return token if number < 0 else f"{number:x}-{token}"


def foreign_number(text: str) -> int:
    """Return the number of an impression that was copied from another store, with its id."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "little") >> 1)


def parse_id(text: str) -> tuple[int, str]:
    """Return the number and token of an id; those of no impression if it is not one of ours."""
    number, _, token = text.partition("-")
    try:
        known = int(number, 16)
    except ValueError:
        return -1, ""
    return (known, token) if 0 <= known < 2**63 else (-1, "")


def read_item(row: Sequence[Any]) -> StoredItem:
    """Return the item of a row: slot, id, features, merit, popularity, labels, attributes, removed,
    version."""
    slot, name, features, merit, popularity, labels, attributes, removed, version = row
    return StoredItem(
        slot=slot,
        id=name,
        features=np.frombuffer(features),
        merit=merit,
        popularity=popularity,
        groups=json.loads(labels),
        attributes=read_attributes(attributes),
        removed=bool(removed),
        version=version,
    )


def patch_item(db: sqlite3.Connection, change: ItemPatch, version: int) -> None:
    """Add or change one item; a removed one comes back empty in its slot."""
    row = db.execute(
        "SELECT merit, popularity, labels, attributes, removed FROM items WHERE id = ?", [change.id]
    ).fetchone()
    new = row is None or row[-1]
    merit, popularity, labels, attributes = (1.0, 0.0, "{}", "{}") if new else row[:-1]
    patched = {**json.loads(labels), **change.groups}
    values = [
        change.features.tobytes(),
        merit if change.merit is None else change.merit,
        popularity if change.popularity is None else change.popularity,
        json.dumps({column: label for column, label in patched.items() if label}),
        write_attributes(changed_attributes(read_attributes(attributes), change.attributes)),
        version,
        change.id,
    ]
    if row is None:
        sql = (
            "INSERT INTO items (features, merit, popularity, labels, attributes, version, id, "
            "removed, slot) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 0, (SELECT coalesce(max(slot), -1) + 1 FROM items))"
        )
    else:
        sql = (
            "UPDATE items SET features = ?, merit = ?, popularity = ?, labels = ?, attributes = ?, "
            "version = ?, removed = 0 WHERE id = ?"
        )
    db.execute(sql, values)


def item_columns(rows: Sequence[Any], dim: int) -> ItemColumns:
    """Return rows of the catalogue side by side."""
    slots, ids, features, merit, popularity, labels, attributes, removed = zip(*rows, strict=True)
    known = [_group_and_supplier(text) for text in labels]
    return ItemColumns(
        slots=np.array(slots, dtype=np.int32),
        ids=ids,
        features=np.frombuffer(b"".join(features)).reshape(len(rows), dim),
        merit=np.array(merit, dtype=np.float64),
        popularity=np.array(popularity, dtype=np.float64),
        groups=[group for group, _ in known],
        suppliers=[supplier for _, supplier in known],
        attributes=_attributes(attributes),
        removed=np.array(removed, dtype=bool),
    )


def _attributes(texts: Sequence[str]) -> list[Attributes]:
    if set(texts) == {"{}"}:
        return [_NO_ATTRIBUTES] * len(texts)
    joined = f"[{','.join(texts)}]"
    found: list[Attributes]
    try:
        found = orjson.loads(joined)
    except ValueError:  # halves of surrogate pairs, which JSON may name
        found = json.loads(joined)
    return found


_NO_ATTRIBUTES: Attributes = {}


@lru_cache(maxsize=4_096)
def _group_and_supplier(labels: str) -> tuple[str | None, str | None]:
    read = json.loads(labels)
    return read.get("group"), read.get("supplier")


_TOKEN_BYTES = 9
"""Of chance in a token: twelve letters, so that those of several can be drawn together."""


def make_tokens(n: int) -> list[str]:
    """Return what makes the ids of n impressions hard to guess."""
    size, letters = _TOKEN_BYTES * 4 // 3, secrets.token_urlsafe(_TOKEN_BYTES * n)
    return [letters[first : first + size] for first in range(0, n * size, size)]


def insert_impression(
    db: sqlite3.Connection, impression: Impression, token: str, units: Ints | None
) -> str:
    """Write one impression: the user's round, the slate, the user's account; return its id."""
    (key,) = db.execute(
        "INSERT INTO users (name, rounds, sums) VALUES (?, ?, x'') ON CONFLICT (name) "
        "DO UPDATE SET rounds = max(rounds, excluded.rounds) RETURNING key",
        [impression.user, impression.round],
    ).fetchone()
    packed = [impression.slots.tobytes(), impression.features.tobytes()]
    number = db.execute(
        "INSERT INTO impressions (number, token, user, round, time, slots, features, note) VALUES "
        "((SELECT max(coalesce(max(number), 0), 0) + 1 FROM impressions), ?, ?, ?, ?, ?, ?, ?)",
        [token, key, impression.round, impression.time, *packed, pack_note(impression.note)],
    ).lastrowid
    assert number is not None
    if units is not None:
        db.executemany(
            "INSERT INTO accounts VALUES (?, ?, ?) ON CONFLICT (user, slot) "
            "DO UPDATE SET units = units + excluded.units",
            [
                (key, slot, gained)
                for slot, gained in zip(impression.slots.tolist(), units.tolist(), strict=False)
            ],
        )
    return make_id(number, token)


class GrownSums:
    """What updates add up to in a transaction, to be written at its end: hot rows once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._users: dict[int, Floats] = {}
        self._cohorts: dict[str, tuple[int, Floats]] = {}

    def add(self, user: int, update: ModelUpdate) -> None:
        """Add an update to the sums of its user, by key, and of its cohorts."""
        if user not in self._users:
            sql = "SELECT sums FROM users WHERE key = ?"
            self._users[user] = np.frombuffer(self._db.execute(sql, [user]).fetchone()[0])
        self._users[user] = added(self._users[user], update.increments)
        for name in update.cohorts:
            slates, sums = self._cohorts.get(name) or read_cohort(self._db, name)
            self._cohorts[name] = slates + 1, added(sums, update.increments)

    def write(self) -> None:
        """Write all of them."""
        self._db.executemany(
            "UPDATE users SET sums = ? WHERE key = ?",
            [(total.tobytes(), key) for key, total in self._users.items()],
        )
        self._db.executemany(
            "INSERT INTO cohorts VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET slates = excluded.slates, sums = excluded.sums",
            [(name, slates, sums.tobytes()) for name, (slates, sums) in self._cohorts.items()],
        )


def page_of_sums(db: sqlite3.Connection, table: str, after: str, least: int) -> list[Any]:
    """Return some rows of users or cohorts with more than so many sums, in the order of their keys:
    key, name, sums."""
    key = _KEYS[table]
    least_key: Any = {"users": int(after or -(2**63)), "cohorts": after}[table]
    return db.execute(
        f"SELECT {key}, name, sums FROM {table} WHERE {key} > ? AND length(sums) > ? "
        f"ORDER BY {key} LIMIT ?",
        [least_key, 8 * least, MOVED_AT_ONCE],
    ).fetchall()


def replace_sums(db: sqlite3.Connection, table: str, key: Any, sums: Floats) -> None:
    """Put other sums in the place of those of a row."""
    db.execute(f"UPDATE {table} SET sums = ? WHERE {_KEYS[table]} = ?", [sums.tobytes(), key])


def read_cohort(db: sqlite3.Connection, name: str) -> tuple[int, Floats]:
    """Return how many slates taught a cohort, and its sums."""
    row = db.execute("SELECT slates, sums FROM cohorts WHERE name = ?", [name]).fetchone()
    return (0, np.zeros(0)) if row is None else (row[0], np.frombuffer(row[1]))


def learn_one(db: sqlite3.Connection, update: ModelUpdate, sums: GrownSums) -> UpdateOutcome:
    """Learn one update; what it adds goes to `sums`."""
    name = update.impression.id
    place = [*parse_id(name), foreign_number(name), name]
    answer = (clicked_value(update.clicked), update.examined, pack_note(update.details))
    answered = db.execute(
        "UPDATE impressions SET clicked = ?, examined = ?, details = ? "
        f"WHERE {_PLACE} AND clicked IS NULL RETURNING user",
        [*answer, *place],
    ).fetchone()
    if answered is None:
        before = db.execute(
            f"SELECT clicked, examined, details FROM impressions WHERE {_PLACE}", place
        ).fetchone()
        if before is None:
            return UpdateOutcome.UNKNOWN
        return UpdateOutcome.REPEATED if before == answer else UpdateOutcome.CONFLICT
    (key,) = answered
    db.executemany(
        "UPDATE accounts SET units = units - ? WHERE user = ? AND slot = ?",
        [(units, key, slot) for slot, units in update.refunds.items()],
    )
    sums.add(key, update)
    return UpdateOutcome.LEARNED


def added(sums: Floats, increments: Floats) -> Floats:
    """Return sums with increments for the first of them, or for more than there are."""
    total = widened(sums, max(len(sums), len(increments))).copy()
    total[: len(increments)] += increments
    return total


def clicked_value(clicked: tuple[int, ...]) -> int | bytes:
    """Return clicked positions as they are stored: 0 for none, a number, or all of several."""
    return np.array(clicked, dtype=np.int32).tobytes() if len(clicked) > 1 else sum(clicked)


def clicked_positions(stored: int | bytes | None) -> tuple[int, ...] | None:
    """Return what `clicked_value` stored; None while there is no answer."""
    if isinstance(stored, bytes):
        return tuple(np.frombuffer(stored, dtype=np.int32).tolist())
    return stored if stored is None else (stored,) if stored else ()
