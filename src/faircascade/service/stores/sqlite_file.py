"""A SQLite file with one writer, whose transactions are shared by all who write at a time.

Statements take microseconds and run on the event loop; waiting for the disk is left to a thread.
What is to be written meanwhile goes into the next transaction together, so that many requests share
one `fsync`. Processes that share a file write in turn; a turn ends before the `fsync`, so that
several of them wait for the disk together. While another program has locked the file, statements
fail at once and are tried again, so that the event loop never waits for a lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from faircascade.service.batching import reject, resolve
from faircascade.service.stores.base import StoreDown, StoreLost
from faircascade.service.stores.file_guard import FileGuard
from faircascade.service.stores.worker_thread import WorkerThread

if TYPE_CHECKING:
    from faircascade.service.stores.file_share import FileShare, ProcessLock

log = logging.getLogger(__name__)

LARGE_LOG = 16_384
"""Pages of the write-ahead log, 4 kB each, above which it is restarted."""
TIDY_EVERY = 2.0
"""Seconds between two times that the log is carried over into the file."""
PATIENCE = 5.0
"""Seconds to wait for another program that has locked the file."""

_CACHE = 8_192
"""kB of the file that each connection keeps: the system keeps the rest."""
_PAUSE = 0.005
"""Seconds until a statement is tried again."""
_LONG_TURN = 0.5
"""Seconds after which those who wait for another process are looked at."""
_LITTLE_PATIENCE = 20
"""Milliseconds that all writers may wait for one that reads, such as a backup."""
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
_OVERWRITTEN, _DROPPED = "RESTART", "TRUNCATE"
"""Ways to restart the log: reuse its space, which is faster, or give it back."""

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
"""Statements that succeed or fail together."""


@dataclass(eq=False)
class _Waiting:
    job: Job
    done: asyncio.Future[Any]
    until: float
    """When it gives up, by the clock of the event loop."""


class SQLiteFile:
    """One file with a write-ahead log, used by one process or by those that share it."""

    @classmethod
    async def open(cls, path: Path, prepare: Job, share: FileShare | None = None) -> SQLiteFile:
        """Open the file and let `prepare` make or check its tables, in a thread."""
        opened = await asyncio.to_thread(_open, path, prepare, shared=share is not None)
        return cls(path, *opened, turn=None if share is None else share.writing)

    def __init__(
        self,
        path: Path,
        guard: FileGuard,
        connections: _Connections,
        *,
        turn: ProcessLock | None,
    ) -> None:
        """Take over an open file; `open` makes one. Who writes has the `turn`."""
        self.path = path
        self._guard = guard
        self._connections = connections
        self._turn = turn
        self._clock = asyncio.get_running_loop().time
        self._disk = WorkerThread("commit")
        self._waiting: list[_Waiting] = []
        self._alone: deque[_Waiting] = deque()
        """Those of a transaction that failed: one at a time, so that only the culprit fails."""
        self._flushing: asyncio.Task[None] | None = None
        self._next_log = ""
        """How to restart the log before the next transaction; empty if not."""
        self._unfinished = ""
        """The same, for the next time the log is tidied."""
        self._checkpointing: asyncio.Future[int] | None = None
        self._tidying = asyncio.create_task(self._tidy())

    async def close(self) -> None:
        """Finish pending writes, and empty the log into the file."""
        self._tidying.cancel()
        await asyncio.wait([self._tidying])
        if self._checkpointing is not None:  # its thread goes on: its connection must be open
            await asyncio.wait([self._checkpointing])
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        await self._disk.do(self._connections.close)
        self._disk.stop()
        self._guard.release()

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return rows of what is on disk."""
        return await self._read(lambda db: db.execute(sql, parameters).fetchall())

    async def snapshot(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a job reads, with all its statements as of one moment: between two of them a
        commit may end in its thread.
        """

        def at_once(db: sqlite3.Connection) -> T:
            db.execute("BEGIN")
            try:
                return job(db)
            finally:
                db.execute("COMMIT")

        return await self._read(at_once)

    async def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        until = None
        while True:
            if self._guard.lost:
                self._guard.check()
            try:
                return job(self._connections.reader)
            except sqlite3.Error as error:
                until = until or self._clock() + PATIENCE
                if not _is_locked(error) or self._clock() >= until:
                    raise self._down(error) from error
            await asyncio.sleep(_PAUSE)

    async def write(self, job: Job) -> Any:
        """Run a job in the next transaction and return its result when that is on disk."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(job, done, self._clock() + PATIENCE))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await done

    def _down(self, error: sqlite3.Error) -> StoreDown:
        try:
            self._guard.check()
        except StoreDown as lost:  # why SQLite cannot read it
            return lost
        reason = str(error)
        if _is_locked(error):
            reason = f"another program locks it for over {PATIENCE:g} s; end its transaction"
        return StoreDown(f"{self.path}: {reason}")

    def drop_log(self) -> None:
        """Empty the log soon: what was deleted is still in it."""
        self._next_log = _DROPPED

    async def _flush(self) -> None:
        """Write what is pending, one transaction after the other, until nothing is left."""
        while self._waiting or self._alone:
            if self._next_log:
                await self._disk.do(self._renew_log)
            await self._take_turn()
            try:
                self._connections.writer.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                self._end_turn()
                self._give_up(error)
                await asyncio.sleep(_PAUSE)
            else:
                await self._commit(self._next_batch())

    async def _take_turn(self) -> None:
        """Wait until no other process of this service writes, which takes a moment."""
        if self._turn is None or self._turn.take():
            return
        taken = asyncio.ensure_future(self._disk.do(self._turn.wait))
        while not taken.done():
            await asyncio.wait([taken], timeout=_LONG_TURN)
            if not taken.done():
                self._give_up(_StoppedWriter())

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.give_back()

    def _next_batch(self) -> list[_Waiting]:
        if self._alone:
            return [self._alone.popleft()]
        batch, self._waiting = self._waiting, []
        return batch

    def _give_up(self, error: sqlite3.Error) -> None:
        """Refuse who has waited for a lock for long enough; after another error, everybody."""
        now = self._clock() if _is_locked(error) else inf
        for waiting in (*self._alone, *self._waiting):
            if waiting.until <= now:
                reject(waiting.done, self._down(error))
        self._alone = deque(one for one in self._alone if one.until > now)
        self._waiting = [one for one in self._waiting if one.until > now]

    async def _commit(self, batch: Sequence[_Waiting]) -> None:
        """Run jobs in the transaction that has begun, and end it."""
        writer = self._connections.writer
        try:
            results = [waiting.job(writer) for waiting in batch]
            await self._disk.do(self._end)
        except BaseException as error:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
                self._end_turn()
            if not isinstance(error, Exception):
                raise
            if len(batch) > 1 and not isinstance(error, StoreDown):
                self._alone.extend(batch)
                return
            refused = self._down(error) if isinstance(error, sqlite3.Error) else error
            for waiting in batch:
                reject(waiting.done, refused)
        else:
            for waiting, result in zip(batch, results, strict=True):
                resolve(waiting.done, result)

    def _end(self) -> None:
        """Write the transaction to disk, and make sure that it is in the file at the path.

        Asked before, so that nothing is written into another file, and after, so that nothing is
        acknowledged that the next start would not find.
        """
        self._guard.check()
        self._connections.writer.execute("COMMIT")
        self._end_turn()
        try:
            self._connections.sync()
        except OSError:
            self._guard.give_up()
        self._guard.check()

    async def _tidy(self) -> None:
        """Carry the log over into the file while others write.

        That does not shorten a log that keeps growing: when it is large, writers wait a moment
        until the rest is carried over, and begin at its start.
        """
        while True:
            await asyncio.sleep(TIDY_EVERY)
            try:
                self._checkpointing = asyncio.ensure_future(asyncio.to_thread(self._checkpoint))
                pages = await asyncio.shield(self._checkpointing)
                self._next_log = self._next_log or self._unfinished
                if pages > LARGE_LOG:
                    self._next_log = self._next_log or _OVERWRITTEN
                if self._next_log:
                    await self.write(lambda _: None)
            except StoreLost:
                return
            except (sqlite3.Error, StoreDown) as error:  # who writes next is told as well
                log.warning(
                    "the write-ahead log could not be checkpointed", extra={"reason": str(error)}
                )

    def _checkpoint(self) -> int:
        """Carry over what nobody reads any more; return how many pages the log has."""
        self._guard.check()
        (_, pages, _) = self._connections.tidier.execute(
            "PRAGMA wal_checkpoint(PASSIVE)"
        ).fetchone()
        return int(pages)

    def _renew_log(self) -> None:
        """Restart the log; if it is being read, try again later."""
        writer, how, busy = self._connections.writer, self._next_log, True
        if self._turn is not None:
            self._turn.wait()
        try:
            self._guard.check()
            writer.execute(f"PRAGMA busy_timeout = {_LITTLE_PATIENCE}")
            (busy, *_) = writer.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
        except (sqlite3.Error, StoreDown) as error:  # it can go on growing for a while
            log.warning("the write-ahead log could not be restarted", extra={"reason": str(error)})
        finally:
            writer.execute("PRAGMA busy_timeout = 0")
            self._end_turn()
        self._next_log, self._unfinished = "", how if busy else ""


@dataclass(frozen=True, slots=True)
class _Connections:
    """What a file is open with."""

    writer: sqlite3.Connection
    reader: sqlite3.Connection
    tidier: sqlite3.Connection
    log: int
    """The write-ahead log."""

    def sync(self) -> None:
        """Wait until all that was written to the log is on disk."""
        _sync(self.log)

    def close(self) -> None:
        os.close(self.log)
        for connection in (self.reader, self.tidier, self.writer):
            connection.close()


def _open(path: Path, prepare: Job, *, shared: bool) -> tuple[FileGuard, _Connections]:
    """Open a file, which may take a while if another program has locked it."""
    guard = FileGuard(path, shared=shared)
    try:
        return guard, _connections(guard, prepare)
    except sqlite3.Error as error:
        guard.release()
        raise ValueError(f"{path}: cannot be opened as a store ({error})") from error
    except BaseException:
        guard.release()
        raise


def _connections(guard: FileGuard, prepare: Job) -> _Connections:
    if not guard.file.exists():  # nobody else's business; the log gets the same rights
        os.close(os.open(guard.file, os.O_CREAT | os.O_RDWR, 0o600))
    guard.remember_file()
    writer = _connect(guard.file)
    prepare(writer)
    writer.execute("PRAGMA wal_autocheckpoint = 0")  # see `SQLiteFile._tidy`
    log_file = os.open(f"{guard.file}-wal", os.O_RDWR)
    opened = _Connections(writer, _connect(guard.file), _connect(guard.file), log_file)
    for connection in (opened.writer, opened.reader):  # used on the event loop
        connection.execute("PRAGMA busy_timeout = 0")
    guard.remember_log()
    guard.check()
    return opened


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    connection.execute("PRAGMA synchronous = NORMAL")  # `SQLiteFile` syncs each transaction
    connection.execute(f"PRAGMA cache_size = -{_CACHE}")
    return connection


_sync = getattr(os, "fdatasync", os.fsync)


class _StoppedWriter(sqlite3.OperationalError):
    """Another process of this service has its turn for very long."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY


def _is_locked(error: sqlite3.Error) -> bool:
    """Return True if the same statement may succeed when another program is done."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED
