"""The embedded store: one SQLite file, one service."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from faircascade.service.stores.base import (
    Event,
    Impression,
    Known,
    Learned,
    Lesson,
    Person,
    Shape,
    Store,
    StoredItem,
)
from faircascade.service.stores.sqlite_file import SQLiteFile
from faircascade.types import Floats, Ints

VERSION = 1
_MARK = 0x66616972
"""Tells our files from those of other programs (application_id)."""
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (
    slot INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, features BLOB NOT NULL,
    merit REAL NOT NULL, popularity REAL NOT NULL, labels TEXT NOT NULL,
    removed INTEGER NOT NULL, version INTEGER NOT NULL
);
CREATE INDEX items_version ON items (version);
CREATE TABLE users (
    key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rounds INTEGER NOT NULL,
    sums BLOB NOT NULL
);
CREATE TABLE accounts (
    user INTEGER NOT NULL, slot INTEGER NOT NULL, units INTEGER NOT NULL,
    PRIMARY KEY (user, slot)
) WITHOUT ROWID;
CREATE TABLE impressions (
    number INTEGER PRIMARY KEY, token TEXT NOT NULL, user INTEGER NOT NULL,
    round INTEGER NOT NULL, time REAL NOT NULL, slots BLOB NOT NULL, features BLOB NOT NULL,
    clicked INTEGER, examined INTEGER
);
CREATE INDEX impressions_user ON impressions (user, number);
CREATE TABLE events (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, clicked INTEGER,
    slots BLOB NOT NULL
);
CREATE TABLE counts (
    one INTEGER PRIMARY KEY CHECK (one = 1), cursor INTEGER NOT NULL, body BLOB NOT NULL
);
"""
_IMPRESSION = """
SELECT number, token, name, slots, features, round, time, clicked, examined
FROM impressions JOIN users ON users.key = impressions.user
"""
_ALLOTTED = 65_536
"""Users whose last round is remembered until the database knows it."""
_EXPIRE_AT_ONCE = 1_000
_NOBODY = (None, 0, b"")
"""Key, rounds and sums of a user who was never seen."""


class SQLiteStore(Store):
    """One file beside the service."""

    shared: ClassVar[bool] = False

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._shape = Shape(dim=0, sums=0)
        self._allotted: OrderedDict[str, int] = OrderedDict()

    async def kept_shape(self) -> Shape | None:
        if not self.path.exists():
            return None
        try:
            with closing(sqlite3.connect(self.path)) as database:
                row = database.execute("SELECT value FROM meta WHERE name = 'shape'").fetchone()
        except sqlite3.Error:
            return None  # whatever is the matter with it, opening it says so
        return None if row is None else Shape(**json.loads(row[0]))

    async def open(self, shape: Shape) -> None:
        self._shape = shape
        self._file = SQLiteFile(self.path, self._prepare)

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables of a new file; check those of an old one."""
        version = _one(db, "PRAGMA user_version")
        if _one(db, "SELECT count(*) FROM sqlite_schema") == 0:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA application_id = {_MARK}; "
                f"PRAGMA user_version = {VERSION}; COMMIT;"
            )
        elif _one(db, "PRAGMA application_id") != _MARK:
            raise ValueError(f"{self.path}: this database belongs to another program")
        elif version != VERSION:
            raise ValueError(
                f"{self.path}: a store of version {version}, this faircascade reads {VERSION}"
            )
        known = db.execute("SELECT value FROM meta WHERE name = 'shape'").fetchone()
        ours = asdict(self._shape)
        if known is None:
            db.execute("INSERT INTO meta (name, value) VALUES ('shape', ?)", [json.dumps(ours)])
        elif json.loads(known[0]) != ours:
            raise ValueError(f"{self.path}: holds {json.loads(known[0])}, asked for {ours}")

    async def close(self) -> None:
        await self._file.close()

    async def ping(self) -> None:
        await self.set_meta("ping", secrets.token_hex(4))

    # meta

    async def get_meta(self, name: str) -> Any:
        rows = self._file.read("SELECT value FROM meta WHERE name = ?", [name])
        return json.loads(rows[0][0]) if rows else None

    async def set_meta(self, name: str, value: Any) -> None:
        text = json.dumps(value)
        await self._file.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, text])
        )

    # catalogue

    async def catalogue_version(self) -> int:
        return int(self._file.read("SELECT coalesce(max(version), 0) FROM items")[0][0])

    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        rows = self._file.read(
            "SELECT slot, id, features, merit, popularity, labels, removed FROM items "
            "WHERE version > ? ORDER BY slot",
            [after],
        )
        found = [
            StoredItem(
                slot=slot,
                id=name,
                features=np.frombuffer(features),
                merit=merit,
                popularity=popularity,
                groups=json.loads(labels),
                removed=bool(removed),
            )
            for slot, name, features, merit, popularity, labels, removed in rows
        ]
        return await self.catalogue_version(), found

    async def put_items(self, items: Sequence[StoredItem]) -> None:
        def job(db: sqlite3.Connection) -> None:
            version = _next_version(db)
            slot = _one(db, "SELECT coalesce(max(slot), -1) + 1 FROM items")
            for item in items:
                row = [item.features.tobytes(), item.merit, item.popularity]
                row += [json.dumps(dict(item.groups)), version]
                there = db.execute(
                    "UPDATE items SET features = ?, merit = ?, popularity = ?, labels = ?, "
                    "version = ?, removed = 0 WHERE id = ?",
                    [*row, item.id],
                )
                if there.rowcount == 0:
                    db.execute(
                        "INSERT INTO items (features, merit, popularity, labels, version, removed, "
                        "id, slot) VALUES (?, ?, ?, ?, ?, 0, ?, ?)",
                        [*row, item.id, slot],
                    )
                    slot += 1

        await self._file.write(job)

    async def remove_items(self, ids: Sequence[str]) -> None:
        def job(db: sqlite3.Connection) -> None:
            version = _next_version(db)
            db.executemany(
                "UPDATE items SET removed = 1, version = ? WHERE id = ?",
                [(version, name) for name in ids],
            )

        await self._file.write(job)

    # recommending

    async def begin(self, users: Sequence[str], *, accounts: bool = False) -> Known:
        rows = self._file.read(
            "SELECT name, key, rounds, sums FROM users "
            f"WHERE name IN ({', '.join('?' * len(users))})",
            users,
        )
        known = {name: row for name, *row in rows}
        sums = np.zeros((len(users), self._shape.sums))
        rounds = np.empty(len(users), dtype=np.int64)
        owed: list[dict[int, int]] = []
        for place, name in enumerate(users):
            key, last, packed = known.get(name, _NOBODY)
            if packed:
                sums[place] = np.frombuffer(packed)
            rounds[place] = self._allot(name, last)
            if accounts:
                owed.append(dict(self._account(key)))
        return Known(sums=sums, rounds=rounds, accounts=owed)

    def _allot(self, name: str, last: int) -> int:
        """Number a user's next list; those numbered before may not be written yet."""
        number = max(self._allotted.pop(name, 0), last) + 1
        self._allotted[name] = number
        if len(self._allotted) > _ALLOTTED:
            self._allotted.popitem(last=False)
        return number

    def _account(self, key: int | None) -> list[tuple[int, int]]:
        if key is None:
            return []
        return self._file.read("SELECT slot, units FROM accounts WHERE user = ?", [key])

    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        def job(db: sqlite3.Connection) -> list[str]:
            ids = [_insert(db, impression, units) for impression in impressions]
            db.executemany(
                "INSERT INTO events (time, slots) VALUES (?, ?)",
                [(i.time, i.slots.tobytes()) for i in impressions],
            )
            return ids

        ids: list[str] = await self._file.write(job)
        return ids

    # learning

    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        numbers = [_parse_id(text)[0] for text in ids]
        rows = self._file.read(
            _IMPRESSION + "WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
        )
        found = {i.id: i for i in map(self._impression, rows)}
        return [found.get(text) for text in ids]

    def _impression(self, row: Any) -> Impression:
        number, token, user, slots, features, round_, time, clicked, examined = row
        return Impression(
            id=_make_id(number, token),
            user=user,
            slots=np.frombuffer(slots, dtype=np.int32),
            features=np.frombuffer(features).reshape(-1, self._shape.dim),
            round=round_,
            time=time,
            clicked=clicked,
            examined=examined,
        )

    async def learn(self, lessons: Sequence[Lesson]) -> list[Learned]:
        def job(db: sqlite3.Connection) -> list[Learned]:
            sums: dict[int, Floats] = {}
            outcomes = [_learn(db, lesson, sums) for lesson in lessons]
            db.executemany(
                "UPDATE users SET sums = ? WHERE key = ?",
                [(total.tobytes(), key) for key, total in sums.items()],
            )
            db.executemany(
                "INSERT INTO events (time, clicked, slots) VALUES (?, ?, ?)",
                [
                    (lesson.time, lesson.clicked, _hit(lesson))
                    for lesson, outcome in zip(lessons, outcomes, strict=True)
                    if outcome is Learned.NOW
                ],
            )
            return outcomes

        outcomes: list[Learned] = await self._file.write(job)
        return outcomes

    # users

    async def person(self, user: str, *, impressions: int) -> Person | None:
        rows = self._file.read("SELECT key, rounds, sums FROM users WHERE name = ?", [user])
        if not rows:
            return None
        key, rounds, packed = rows[0]
        newest = self._file.read(
            _IMPRESSION + "WHERE user = ? ORDER BY number DESC LIMIT ?", [key, impressions]
        )
        return Person(
            user=user,
            sums=np.frombuffer(packed) if packed else np.zeros(self._shape.sums),
            rounds=rounds,
            impressions=[self._impression(row) for row in newest],
            count=self._file.read("SELECT count(*) FROM impressions WHERE user = ?", [key])[0][0],
        )

    async def erase(self, user: str) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            row = db.execute("SELECT key FROM users WHERE name = ?", [user]).fetchone()
            if row is None:
                return False
            db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            for table in ("impressions", "accounts"):
                db.execute(f"DELETE FROM {table} WHERE user = ?", row)
            db.execute("DELETE FROM users WHERE key = ?", row)
            db.execute("PRAGMA secure_delete = OFF")
            self._allotted.pop(user, None)
            self._file.drop_log()
            return True

        known: bool = await self._file.write(job)
        return known

    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        rows = [
            (name, int(n), row.tobytes()) for name, n, row in zip(users, rounds, sums, strict=True)
        ]
        await self._file.write(
            lambda db: db.executemany(
                "INSERT INTO users (name, rounds, sums) VALUES (?, ?, ?) ON CONFLICT (name) "
                "DO UPDATE SET rounds = excluded.rounds, sums = excluded.sums",
                rows,
            )
        )

    # exposure

    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        rows = self._file.read(
            "SELECT number, time, clicked, slots FROM events WHERE number > ? "
            "ORDER BY number LIMIT ?",
            [int(after or 0), limit],
        )
        return [
            (str(number), Event(time=time, clicked=clicked, slots=np.frombuffer(slots, np.int32)))
            for number, time, clicked, slots in rows
        ]

    async def counts(self) -> tuple[str, bytes | None]:
        rows = self._file.read("SELECT cursor, body FROM counts")
        return (str(rows[0][0]), rows[0][1]) if rows else ("", None)

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO counts VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE "
                "SET cursor = excluded.cursor, body = excluded.body "
                "WHERE excluded.cursor > counts.cursor",
                [int(cursor or 0), counts],
            )
            # the last one stays, so that its number is not given again
            db.execute("DELETE FROM events WHERE number < ?", [int(cursor or 0)])

        await self._file.write(job)

    # time

    async def expire(self, before: float) -> int:
        def job(db: sqlite3.Connection) -> int:
            return db.execute(
                "DELETE FROM impressions WHERE time < ? AND number IN "
                "(SELECT number FROM impressions ORDER BY number LIMIT ?)",
                [before, _EXPIRE_AT_ONCE],
            ).rowcount

        return int(await self._file.write(job))


def _one(db: sqlite3.Connection, sql: str) -> Any:
    return db.execute(sql).fetchone()[0]


def _next_version(db: sqlite3.Connection) -> int:
    return int(_one(db, "SELECT coalesce(max(version), 0) + 1 FROM items"))


def _make_id(number: int, token: str) -> str:
    return f"{number:x}-{token}"


def _parse_id(text: str) -> tuple[int, str]:
    """Return the number and token of an id; those of no impression if it is not one of ours."""
    number, _, token = text.partition("-")
    try:
        known = int(number, 16)
    except ValueError:
        return -1, ""
    return (known, token) if known < 2**63 else (-1, "")


def _insert(db: sqlite3.Connection, impression: Impression, units: Ints | None) -> str:
    """Write one impression: the user's round, the list, the user's account; return its id."""
    (key,) = db.execute(
        "INSERT INTO users (name, rounds, sums) VALUES (?, ?, x'') ON CONFLICT (name) "
        "DO UPDATE SET rounds = max(rounds, excluded.rounds) RETURNING key",
        [impression.user, impression.round],
    ).fetchone()
    token = secrets.token_urlsafe(8)
    packed = [impression.slots.tobytes(), impression.features.tobytes()]
    number = db.execute(
        "INSERT INTO impressions (token, user, round, time, slots, features) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [token, key, impression.round, impression.time, *packed],
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
    return _make_id(number, token)


def _learn(db: sqlite3.Connection, lesson: Lesson, sums: dict[int, Floats]) -> Learned:
    """Learn one lesson; what it adds goes to `sums`, by user."""
    number, token = _parse_id(lesson.impression.id)
    answered = db.execute(
        "UPDATE impressions SET clicked = ?, examined = ? "
        "WHERE number = ? AND token = ? AND clicked IS NULL RETURNING user",
        [lesson.clicked, lesson.examined, number, token],
    ).fetchone()
    if answered is None:
        before = db.execute(
            "SELECT clicked, examined FROM impressions WHERE number = ? AND token = ?",
            [number, token],
        ).fetchone()
        if before is None:
            return Learned.UNKNOWN
        same = before == (lesson.clicked, lesson.examined)
        return Learned.BEFORE if same else Learned.OTHERWISE
    (key,) = answered
    if key not in sums:
        (packed,) = db.execute("SELECT sums FROM users WHERE key = ?", [key]).fetchone()
        sums[key] = np.frombuffer(packed) if packed else np.zeros_like(lesson.increments)
    sums[key] = sums[key] + lesson.increments
    return Learned.NOW


def _hit(lesson: Lesson) -> bytes:
    """Return the slot that was clicked, nothing without a click."""
    clicked = lesson.clicked
    return lesson.impression.slots[clicked - 1 : clicked].tobytes() if clicked else b""
