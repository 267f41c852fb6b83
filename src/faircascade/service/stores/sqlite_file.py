"""A SQLite file with one writer, whose transactions are shared by all who write at a time.

Statements take microseconds and run where they are called; only waiting for the disk is left to a
thread. What is to be written meanwhile goes into the next transaction together, so that many
requests share one `fsync`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from faircascade.service.batching import reject, resolve
from faircascade.service.stores.base import StoreDown
from faircascade.service.stores.worker_thread import WorkerThread

log = logging.getLogger(__name__)

LARGE_LOG = 16_384
"""Pages of the write-ahead log, 4 kB each, above which it is restarted."""
TIDY_EVERY = 2.0
"""Seconds between two times that the log is carried over into the file."""

_PATIENCE = 5_000
"""Milliseconds to wait for another program that holds the file."""
_LITTLE_PATIENCE = 20
"""Milliseconds that all writers may wait for one that reads, such as a backup."""
_OVERWRITTEN, _DROPPED = "RESTART", "TRUNCATE"
"""Ways to restart the log: reuse its space, which is faster, or give it back."""

Job = Callable[[sqlite3.Connection], Any]
"""Statements that succeed or fail together."""


@dataclass(eq=False)
class _Waiting:
    job: Job
    done: asyncio.Future[Any]


class SQLiteFile:
    """One file, used by one process; `synchronous=FULL`, write-ahead log."""

    def __init__(self, path: Path, prepare: Job) -> None:
        """Open the file and let `prepare` make or check its tables."""
        self.path = path
        if not path.parent.is_dir():
            raise ValueError(f"{path}: the folder {path.parent} does not exist")
        self._lock = FileLock(f"{path}.lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"{path}: another service is using this store") from None
        try:
            if not path.exists():  # nobody else's business; the log gets the same rights
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._writer = self._connect()
            prepare(self._writer)
            self._writer.execute("PRAGMA wal_autocheckpoint = 0")  # see `_tidy`
            self._reader = self._connect()
            self._tidier = self._connect()
        except sqlite3.Error as error:
            self._lock.release()
            raise ValueError(f"{path}: cannot be opened as a store ({error})") from error
        except BaseException:
            self._lock.release()
            raise
        self._disk = WorkerThread("commit")
        self._waiting: list[_Waiting] = []
        self._flushing: asyncio.Task[None] | None = None
        self._next_log = ""
        """How to restart the log before the next transaction; empty if not."""
        self._unfinished = ""
        """The same, for the next time the log is tidied."""
        self._tidying = asyncio.create_task(self._tidy())

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32768")  # 32 MB
        return connection

    async def close(self) -> None:
        """Finish pending writes, and empty the log into the file."""
        self._tidying.cancel()
        await asyncio.wait([self._tidying])
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        self._disk.stop()
        for connection in (self._reader, self._tidier, self._writer):
            connection.close()
        self._lock.release()

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return rows of what is on disk."""
        try:
            return self._reader.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise StoreDown(f"{self.path}: {error}") from error

    def snapshot(self, job: Job) -> Any:
        """Return what a job reads, with all its statements as of one moment: between two of them a
        commit may end in its thread.
        """
        try:
            self._reader.execute("BEGIN")
            try:
                return job(self._reader)
            finally:
                self._reader.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreDown(f"{self.path}: {error}") from error

    async def write(self, job: Job) -> Any:
        """Run a job in the next transaction and return its result when that is on disk."""
        waiting = _Waiting(job, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await waiting.done

    def drop_log(self) -> None:
        """Empty the log soon: what was deleted is still in it."""
        self._next_log = _DROPPED

    async def _flush(self) -> None:
        """Write what is pending, one transaction after the other, until nothing is left."""
        while self._waiting:
            if self._next_log:
                await self._disk.do(self._renew_log)
            batch, self._waiting = self._waiting, []
            try:
                await self._commit(batch)
            except Exception:
                for waiting in batch:  # one at a time, so that only the culprit fails
                    await self._commit_alone(waiting)

    async def _commit_alone(self, waiting: _Waiting) -> None:
        try:
            await self._commit([waiting])
        except sqlite3.Error as error:
            reject(waiting.done, StoreDown(f"{self.path}: {error}"))
        except Exception as error:
            reject(waiting.done, error)

    async def _commit(self, batch: Sequence[_Waiting]) -> None:
        writer = self._writer
        try:
            writer.execute("BEGIN IMMEDIATE")
            results = [waiting.job(writer) for waiting in batch]
            await self._disk.do(lambda: writer.execute("COMMIT"))
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise
        for waiting, result in zip(batch, results, strict=True):
            resolve(waiting.done, result)

    async def _tidy(self) -> None:
        """Carry the log over into the file while others write.

        That does not shorten a log that keeps growing: when it is large, writers wait a moment
        until the rest is carried over, and begin at its start.
        """
        while True:
            await asyncio.sleep(TIDY_EVERY)
            try:
                _, pages, _ = await asyncio.to_thread(
                    lambda: self._tidier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                )
                self._next_log = self._next_log or self._unfinished
                if pages > LARGE_LOG:
                    self._next_log = self._next_log or _OVERWRITTEN
                if self._next_log:
                    await self.write(lambda _: None)
            except (sqlite3.Error, StoreDown) as error:  # who writes next is told as well
                log.warning(
                    "the write-ahead log could not be checkpointed", extra={"reason": str(error)}
                )

    def _renew_log(self) -> None:
        """Restart the log; if it is being read, try again later."""
        writer, how = self._writer, self._next_log
        try:
            writer.execute(f"PRAGMA busy_timeout = {_LITTLE_PATIENCE}")
            (busy, *_) = writer.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
            self._next_log = ""
            self._unfinished = how if busy else ""
        except sqlite3.Error as error:  # it can go on growing for a while
            log.warning("the write-ahead log could not be restarted", extra={"reason": str(error)})
        finally:
            writer.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
