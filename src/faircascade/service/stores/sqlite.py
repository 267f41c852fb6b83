"""The embedded store: one SQLite file, one service."""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.service.stores.base import (
    CohortStates,
    Event,
    Impression,
    ItemPatch,
    ModelUpdate,
    Store,
    StoredItem,
    StoreShape,
    StoreSize,
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
from faircascade.service.stores.file_guard import IN_USE, lockable_file, mark, real_file
from faircascade.service.stores.item_columns import PAGE, ItemColumns
from faircascade.service.stores.packing import fitting, moved, pack_note, read_note, widened
from faircascade.service.stores.registry import register_store
from faircascade.service.stores.round_numbers import OwnRounds, RoundNumbers
from faircascade.service.stores.sqlite_contents import SQLiteContents
from faircascade.service.stores.sqlite_file import SQLiteFile
from faircascade.service.stores.sqlite_rows import (
    CATALOGUE_VERSION,
    MOVED_AT_ONCE,
    SCHEMA,
    GrownSums,
    clicked_positions,
    foreign_number,
    insert_impression,
    item_columns,
    learn_one,
    make_id,
    make_tokens,
    page_of_sums,
    parse_id,
    patch_item,
    read_cohort,
    read_item,
    replace_sums,
    value,
)
from faircascade.types import Floats, Ints

if TYPE_CHECKING:
    from faircascade.service.stores.file_share import FileShare

VERSION = 4
_MARK = 0x66616972
"""Tells our files from those of other programs (application_id)."""
_ITEMS = """
SELECT slot, id, features, merit, popularity, labels, attributes, removed, version
FROM items WHERE version > ? ORDER BY slot
"""
_KEEP_COUNTS = """
INSERT INTO counts VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE
SET cursor = excluded.cursor, body = excluded.body WHERE excluded.cursor > counts.cursor
"""
_ACCOUNT = "SELECT slot, units FROM accounts WHERE user = ?"
_IMPRESSION = """
SELECT number, token, name, slots, features, round, time, note, clicked, examined, details
FROM impressions JOIN users ON users.key = impressions.user
"""
_NEWEST = f"""
{_IMPRESSION} WHERE number IN (
    SELECT number FROM impressions WHERE user = ? ORDER BY round DESC, number DESC LIMIT ?
) ORDER BY round DESC, number DESC
"""
_AMONG_UNANSWERED = f"""
{_IMPRESSION} WHERE number IN (SELECT value FROM json_each(?)) AND clicked IS NULL
ORDER BY time, number
"""
_PUT_USER = """
INSERT INTO users (name, rounds, sums) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING
"""
_UNANSWERED = f"{_IMPRESSION} WHERE clicked IS NULL AND time < ? ORDER BY time LIMIT ?"
_COUNT = "SELECT count(*) FROM impressions WHERE user = ?"
READING_TIME = 120.0
"""Seconds for which events stay after they were counted, if other processes read them too."""
_EVENTS_AT_ONCE = 2_000
_EXPIRE_AT_ONCE = 1_000
_NOBODY = (None, 0, b"")
"""Key, rounds and sums of an unknown user."""


@register_store("sqlite")
class SQLiteStore(Store):
    """One file beside the service."""

    address_form = "sqlite:PATH"

    @classmethod
    def from_address(cls, address: str, *, ttl: float) -> SQLiteStore:
        path = address.removeprefix("sqlite:")
        if path in ("", ":memory:"):
            raise ParameterError("store", "must name a file, sqlite:PATH", address)
        return cls(Path(path).expanduser())

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._shape = StoreShape(dim=0, sums=0)
        self._share: FileShare | None = None
        self._logged = False
        self._rounds: RoundNumbers = OwnRounds()
        self._counted: deque[tuple[float, int]] = deque()
        """When counts were kept, and up to which event."""

    def share(self) -> Sequence[int]:
        from faircascade.service.stores.file_share import FileShare

        self._share = FileShare.make(lockable_file(self.path))
        if self._share is None:
            raise ValueError(f"{self.path}: {IN_USE}")
        return self._share.files

    def join(self, files: Sequence[int]) -> None:
        from faircascade.service.stores.file_share import FileShare

        if files:
            self._share = FileShare(files)
            self._rounds = self._share.rounds

    @property
    def removal(self) -> str:
        return shlex.join(["rm", "-f", *(f"{self.path}{end}" for end in ("", "-wal", "-shm"))])

    async def stored_shape(self) -> StoreShape | None:
        return await asyncio.to_thread(self._stored_shape)

    def _stored_shape(self) -> StoreShape | None:
        if not self.path.exists():
            return None
        try:
            with closing(sqlite3.connect(real_file(self.path))) as db:
                if value(db, "SELECT count(*) FROM sqlite_schema") == 0:
                    return None
                self._check_kind(db)
                row = db.execute("SELECT value FROM meta WHERE name = 'shape'").fetchone()
        except sqlite3.Error as error:
            raise ValueError(f"{self.path}: cannot be opened as a store ({error})") from error
        return None if row is None else StoreShape(**json.loads(row[0]))

    def _check_kind(self, db: sqlite3.Connection) -> None:
        """Refuse a file that is not ours, or of another version."""
        version = value(db, "PRAGMA user_version")
        if value(db, "PRAGMA application_id") != _MARK:
            raise ValueError(f"{self.path}: this database belongs to another program")
        if version != VERSION:
            raise ValueError(
                f"{self.path}: store version {version}; this release reads version {VERSION}"
            )

    async def open(self, shape: StoreShape) -> None:
        self._shape = shape
        self._file = await SQLiteFile.open(self.path, self._prepare, self._share)

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Make the tables of a new file; check those of an old one."""
        if value(db, "SELECT count(*) FROM sqlite_schema") == 0:
            db.executescript(
                f"BEGIN; {SCHEMA} PRAGMA application_id = {_MARK}; "
                f"PRAGMA user_version = {VERSION}; COMMIT;"
            )
        self._check_kind(db)
        db.execute("PRAGMA journal_mode = WAL")  # also of a backup, which may have none
        known = db.execute("SELECT value FROM meta WHERE name = 'shape'").fetchone()
        if known is None:
            self._keep_shape(db, self._shape)
        elif reason := StoreShape(**json.loads(known[0])).refuses(self._shape):
            raise ValueError(f"{self.path}: {reason}")
        mark(db, self.path)

    def _keep_shape(self, db: sqlite3.Connection, shape: StoreShape) -> None:
        plain = json.dumps(shape.plain())
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('shape', ?)", [plain])

    async def widen(self, sums: int) -> None:
        def job(db: sqlite3.Connection) -> None:
            kept = json.loads(value(db, "SELECT value FROM meta WHERE name = 'shape'"))
            self._keep_shape(db, StoreShape(**kept).widened(sums))

        await self._file.write(job)
        self._shape = replace(self._shape, sums=sums)

    async def move_sums(self, first: int, size: int, into: int | None, after: str) -> str | None:
        table, _, last = (after or "users:").partition(":")

        def job(db: sqlite3.Connection) -> list[Any]:
            rows = page_of_sums(db, table, last, first)
            for key, name, packed in rows:
                sums = moved(np.frombuffer(packed), first, size, into)
                if sums is not None:
                    replace_sums(db, table, key, sums)
                    change = Moved(
                        name=name, cohort=table == "cohorts", first=first, size=size, into=into
                    )
                    self._log(db, [change])
            return rows

        rows = await self._file.write(job)
        if len(rows) == MOVED_AT_ONCE:
            return f"{table}:{rows[-1][0]}"
        return "cohorts:" if table == "users" else None

    async def close(self) -> None:
        await self._file.close()

    async def ping(self) -> None:
        await self.set_meta("ping", secrets.token_hex(4))

    # meta

    async def get_meta(self, name: str) -> Any:
        rows = await self._file.read("SELECT value FROM meta WHERE name = ?", [name])
        return json.loads(rows[0][0]) if rows else None

    async def set_meta(self, name: str, value: Any) -> None:
        text = json.dumps(value)
        await self._file.write(
            lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, text])
        )

    async def replace_meta(self, name: str, before: Any, value: Any) -> bool:
        text = json.dumps(value)

        def job(db: sqlite3.Connection) -> bool:
            found = db.execute("SELECT value FROM meta WHERE name = ?", [name]).fetchone()
            if (None if found is None else json.loads(found[0])) not in (before, value):
                return False
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, text])
            return True

        return bool(await self._file.write(job))

    # catalogue

    async def catalogue_version(self) -> int:
        return int((await self._file.read(CATALOGUE_VERSION))[0][0])

    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        def job(db: sqlite3.Connection) -> tuple[int, list[Any]]:
            return value(db, CATALOGUE_VERSION), db.execute(_ITEMS, [after]).fetchall()

        version, rows = await self._file.snapshot(job)
        return version, [read_item(row) for row in rows]

    async def item_columns(self, after: int, dim: int) -> AsyncIterator[ItemColumns]:
        # a plus keeps SQLite from using an index: all items are read in the order of the table, a
        # few changes by their versions
        version, slot = ("version", "+slot") if after else ("+version", "slot")
        last = -1
        while rows := await self._file.read(
            "SELECT slot, id, features, merit, popularity, labels, attributes, removed FROM items "
            f"WHERE {version} > ? AND {slot} > ? ORDER BY {slot} LIMIT ?",
            [after, last, PAGE],
        ):
            yield item_columns(rows, dim)
            last = rows[-1][0]

    async def put_items(self, changes: Sequence[ItemPatch]) -> None:
        def job(db: sqlite3.Connection) -> None:
            version = value(db, CATALOGUE_VERSION) + 1
            for change in changes:
                patch_item(db, change, version)

        await self._file.write(job)

    async def remove_items(self, ids: Sequence[str]) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            version = value(db, CATALOGUE_VERSION) + 1
            db.execute("SAVEPOINT removing")
            gone = db.executemany(
                "UPDATE items SET removed = 1, version = ? WHERE id = ? AND NOT removed",
                [(version, name) for name in ids],
            ).rowcount
            left = db.execute("SELECT 1 FROM items WHERE NOT removed LIMIT 1").fetchone()
            if gone and left is None:
                db.execute("ROLLBACK TO removing")
            db.execute("RELEASE removing")
            return not gone or left is not None

        done: bool = await self._file.write(job)
        return done

    # recommending

    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        def job(db: sqlite3.Connection) -> tuple[dict[str, Any], list[dict[int, int]]]:
            among = ", ".join("?" * len(users))
            rows = db.execute(
                f"SELECT name, key, rounds, sums FROM users WHERE name IN ({among})", users
            )
            known = {name: row for name, *row in rows}
            keys = [known.get(name, _NOBODY)[0] for name in users] if accounts else []
            return known, [dict(db.execute(_ACCOUNT, [key])) for key in keys]

        known, owed = await self._file.snapshot(job)
        found = [known.get(name, _NOBODY) for name in users]
        sums = np.zeros((len(users), self._shape.sums))
        for place, (_, _, packed) in enumerate(found):
            sums[place] = widened(np.frombuffer(packed), self._shape.sums)
        rounds = await self._rounds.allot(users, [last for _, last, _ in found])
        return UserStates(sums=sums, rounds=np.array(rounds, dtype=np.int64), accounts=owed)

    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        def job(db: sqlite3.Connection) -> list[str]:
            tokens = make_tokens(len(impressions))
            ids = [
                insert_impression(db, impression, token, units)
                for impression, token in zip(impressions, tokens, strict=True)
            ]
            db.executemany(
                "INSERT INTO events (time, slots, note) VALUES (?, ?, ?)",
                [(i.time, i.slots.tobytes(), pack_note(i.counted)) for i in impressions],
            )
            shown = zip(impressions, ids, strict=True)
            self._log(db, (Shown.of(impression, name, units) for impression, name in shown))
            return ids

        ids: list[str] = await self._file.write(job)
        return ids

    # learning

    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        numbers = [number for text in ids for number in (parse_id(text)[0], foreign_number(text))]
        rows = await self._file.read(
            _IMPRESSION + "WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
        )
        found = {i.id: i for i in map(self._impression, rows)}
        return [found.get(text) for text in ids]

    async def unanswered(self, before: float, limit: int) -> list[Impression]:
        return [
            self._impression(row) for row in await self._file.read(_UNANSWERED, [before, limit])
        ]

    def _impression(self, row: Any) -> Impression:
        number, token, user, slots, features, round_, time, note, clicked, examined, details = row
        return Impression(
            id=make_id(number, token),
            user=user,
            slots=np.frombuffer(slots, dtype=np.int32),
            features=np.frombuffer(features).reshape(-1, self._shape.dim),
            round=round_,
            time=time,
            note=read_note(note),
            clicked=clicked_positions(clicked),
            examined=examined,
            details=read_note(details),
        )

    async def learn(self, updates: Sequence[ModelUpdate]) -> list[UpdateOutcome]:
        for update in updates:
            fitting(update.increments, self._shape.sums)

        def job(db: sqlite3.Connection) -> list[UpdateOutcome]:
            sums = GrownSums(db)
            outcomes = [learn_one(db, update, sums) for update in updates]
            pairs = zip(updates, outcomes, strict=True)
            learned = [update for update, outcome in pairs if outcome is UpdateOutcome.LEARNED]
            sums.write()
            db.executemany(
                "INSERT INTO events (time, clicked, slots, note) VALUES (?, ?, ?, ?)",
                [
                    (
                        update.time,
                        len(update.clicked),
                        update.clicked_slots.tobytes(),
                        pack_note(update.counted),
                    )
                    for update in learned
                ],
            )
            self._log(db, map(Answered.of, learned))
            return outcomes

        outcomes: list[UpdateOutcome] = await self._file.write(job)
        return outcomes

    async def cohorts(self, names: Sequence[str]) -> CohortStates:
        found = await self._file.snapshot(lambda db: [read_cohort(db, name) for name in names])
        sums = np.zeros((len(names), self._shape.sums))
        for place, (_, known) in enumerate(found):
            sums[place] = widened(known, self._shape.sums)
        return CohortStates(sums=sums, slates=np.array([n for n, _ in found], dtype=np.int64))

    # users

    async def user(self, user: str, *, impressions: int) -> UserRecord | None:
        def job(db: sqlite3.Connection) -> UserRecord | None:
            known = db.execute("SELECT key, rounds, sums FROM users WHERE name = ?", [user])
            row = known.fetchone()
            if row is None:
                return None
            key, rounds, packed = row
            newest = db.execute(_NEWEST, [key, impressions])
            (count,) = db.execute(_COUNT, [key]).fetchone()
            return UserRecord(
                user=user,
                sums=widened(np.frombuffer(packed), self._shape.sums),
                rounds=rounds,
                impressions=[self._impression(row) for row in newest],
                count=count,
            )

        return await self._file.snapshot(job)

    async def erase(self, user: str) -> bool:
        def job(db: sqlite3.Connection) -> bool:
            row = db.execute("SELECT key FROM users WHERE name = ?", [user]).fetchone()
            if row is None:
                return False
            for table in ("impressions", "accounts"):
                db.execute(f"DELETE FROM {table} WHERE user = ?", row)
            db.execute("DELETE FROM users WHERE key = ?", row)
            self._log(db, [Erased(user=user)])
            self._file.drop_log()
            return True

        known: bool = await self._file.write(job)
        await self._rounds.forget(user)
        return known

    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        rows = [
            (name, n, row.tobytes())
            for name, n, row in zip(users, rounds.tolist(), sums, strict=True)
        ]

        def job(db: sqlite3.Connection) -> None:
            if not self._logged:
                db.executemany(_PUT_USER, rows)
                return
            for row, known in zip(rows, sums, strict=True):
                if db.execute(_PUT_USER, row).rowcount > 0:
                    self._log(db, [Imported(user=row[0], sums=known, rounds=row[1])])

        await self._file.write(job)

    # exposure

    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        rows = await self._file.read(
            "SELECT number, time, clicked IS NOT NULL, slots, note FROM events WHERE number > ? "
            "ORDER BY number LIMIT ?",
            [int(after or 0), limit],
        )
        return [
            (
                str(number),
                Event(
                    time=time,
                    slots=np.frombuffer(slots, np.int32),
                    answered=bool(answered),
                    note=read_note(note),
                ),
            )
            for number, time, answered, slots, note in rows
        ]

    async def counts(self) -> tuple[str, bytes | None]:
        rows = await self._file.read("SELECT cursor, body FROM counts")
        return (str(rows[0][0]), rows[0][1]) if rows else ("", None)

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute(_KEEP_COUNTS, [int(cursor or 0), counts])
            db.execute(_KEEP_COUNTS, [-1, b""])  # does nothing, but lets go of the counts in memory

        await self._file.write(job)
        now = monotonic()
        self._counted.append((now, int(cursor or 0)))
        others = self._share is not None
        while self._counted and self._counted[0][0] <= now - others * READING_TIME:
            await self._drop_events(self._counted.popleft()[1])

    async def _drop_events(self, before: int) -> None:
        """Drop events, a few at a time; the last one stays, so that nobody gets its number."""

        def job(db: sqlite3.Connection) -> bool:
            db.execute(
                "DELETE FROM events WHERE number < ? AND number < "
                "(SELECT min(number) FROM events) + ?",
                [before, _EVENTS_AT_ONCE],
            )
            return bool(value(db, f"SELECT coalesce(min(number), {before}) < {before} FROM events"))

        while await self._file.write(job):
            pass

    # event log

    def log_changes(self, on: bool) -> None:
        self._logged = on

    def _log(self, db: sqlite3.Connection, changes: Iterable[Change]) -> None:
        """Keep changes, if they are logged."""
        if self._logged:
            packed = [(change.pack(self._shape.dim),) for change in changes]
            db.executemany("INSERT INTO changes (body) VALUES (?)", packed)

    async def changes(self, after: str, limit: int) -> list[tuple[str, Change]]:
        rows = await self._file.read(
            "SELECT number, body FROM changes WHERE number > ? ORDER BY number LIMIT ?",
            [int(after or 0), limit],
        )
        return [(str(number), read_change(body, self._shape.dim)) for number, body in rows]

    async def drop_changes(self, until: str) -> None:
        sql = "DELETE FROM changes WHERE number <= ?"
        await self._file.write(lambda db: db.execute(sql, [int(until or 0)]))

    # time

    async def expire(self, before: float) -> int:
        def job(db: sqlite3.Connection) -> int:
            old = db.execute(
                "SELECT number FROM impressions WHERE time < ? ORDER BY time LIMIT ?",
                [before, _EXPIRE_AT_ONCE],
            )
            numbers = json.dumps([number for (number,) in old])
            if self._logged:
                rows = db.execute(_AMONG_UNANSWERED, [numbers])
                self._log(db, (Expired(impression=self._impression(row)) for row in rows))
            return db.execute(
                "DELETE FROM impressions WHERE number IN (SELECT value FROM json_each(?))",
                [numbers],
            ).rowcount

        return int(await self._file.write(job))

    # operation

    async def size(self) -> StoreSize:
        log_file = Path(f"{self.path.resolve()}-wal")
        with suppress(OSError):  # it is being replaced, which readiness says
            log_bytes = log_file.stat().st_size if log_file.exists() else 0
            return StoreSize(data=self.path.stat().st_size, log=log_bytes)
        return StoreSize()

    # copies

    def contents(self) -> SQLiteContents:
        return SQLiteContents(self._file, self._shape, _IMPRESSION, self._impression)
