"""Keeps a database file for one service, and notices when it is not there any more."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from filelock import FileLock, Timeout

from faircascade.service.stores.base import StoreDown, StoreLost

log = logging.getLogger(__name__)

_MARK = "SELECT value FROM meta WHERE name = 'file'"

IN_USE = (
    "another service is using this store; stop it first, or use Redis or PostgreSQL for several"
)

Identity = tuple[int, int] | None
"""Device and inode of the file at a path; None if there is none."""


def real_file(path: Path) -> Path:
    """Return the path of a database without symbolic links; refuse one that SQLite would damage.

    SQLite finds the write-ahead log by the name of the file. Under another name it would make
    another log, and it cannot tell whether the log that it finds is of this file.
    """
    real = path.resolve()
    if not real.exists():
        return real
    found = real.stat()
    if found.st_nlink > 1:
        raise ValueError(
            f"{path}: has {found.st_nlink} names (hard links), and another service could use it "
            "under another one; remove the other names, or make copies"
        )
    if _has_log(real) and _marked(real) not in (None, found.st_ino):
        raise ValueError(
            f"{path}-wal: may be the log of another file, which was here before; if you put "
            f"{path} in its place, remove {path}-wal and {path}-shm; if you copied file and log "
            f"together, run: sqlite3 {path} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        )
    return real


def lockable_file(path: Path) -> Path:
    """Return the real file of a path, which need not exist yet, but its folder must."""
    if not (folder := path.resolve().parent).is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist")
    return real_file(path)


def mark(db: sqlite3.Connection, file: Path) -> None:
    """Write into the database which file it is, so that a log of another file is noticed."""
    inode = file.stat().st_ino
    if db.execute(_MARK).fetchone() != (str(inode),):
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('file', ?)", [str(inode)])
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # it must not be in the log alone


def _marked(file: Path) -> int | None:
    """Return what `mark` wrote into a file, looking at nothing beside it; None if it did not."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as db:
            row = db.execute(_MARK).fetchone()
    except sqlite3.Error:  # it was half written when the machine stopped; the log completes it
        return None
    return None if row is None else int(row[0])


def _has_log(file: Path) -> bool:
    log_file = Path(f"{file}-wal")
    return log_file.exists() and log_file.stat().st_size > 0


class FileGuard:
    """Locks a file, and remembers which it was and which were beside it.

    Locks and open files belong to a file, whatever happens to its name: who goes on writing after
    the file was replaced writes into one that nobody will open again.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        """Lock the file of a path, or refuse if another service has; one that is shared is locked
        by all processes that share it.
        """
        self.file = lockable_file(path)
        self.lost = ""
        """What happened to the file and what to do; empty as long as it is there."""
        self._path = path
        self._known: dict[Path, Identity] = {}
        self._size = 0  # that the file has had; a database that is served never shrinks
        self._lock = FileLock(f"{self.file}.lock", thread_local=False)
        try:
            if not shared:
                self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"{path}: {IN_USE}") from None

    def release(self) -> None:
        """Let other services have the file."""
        self._lock.release()

    def remember_file(self) -> None:
        """Remember which file is at the path."""
        # The path as it was given: a symbolic link may lead elsewhere later.
        self._known[self._path] = _identity(_found(self._path))

    def remember_log(self) -> None:
        """Remember which write-ahead log and index are beside it."""
        for path in (Path(f"{self.file}-wal"), Path(f"{self.file}-shm")):
            self._known[path] = _identity(_found(path))

    def give_up(self) -> None:
        """Refuse everything from now on: the disk may have lost what was written."""
        self.lost = _DISK_FAILED
        log.error("the store is lost", extra={"file": str(self._path), "reason": self.lost})

    def check(self) -> None:
        """Raise `StoreLost` if one of these files is not there, or was cut, now or ever before."""
        if not self.lost:
            self.lost = self._loss()
            if not self.lost:
                return
            log.error("the store is lost", extra={"file": str(self._path), "reason": self.lost})
        raise StoreLost(f"{self._path}: {self.lost}", advice=self.lost)

    def _loss(self) -> str:
        """Return what happened to the files, nothing if they are there."""
        size = self._size  # asked first: another thread may see it grow in between
        found = {path: _found(path) for path in self._known}
        changed = [path for path, known in self._known.items() if _identity(found[path]) != known]
        if changed:
            return _FILE_LOST if self._path in changed else _LOG_LOST
        if (file := found.get(self._path)) is None:
            return ""
        self._size = max(size, file.st_size)
        return _FILE_CUT if file.st_size < size else ""


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreDown(f"{path}: {error}") from error


def _identity(found: os.stat_result | None) -> Identity:
    return None if found is None else (found.st_dev, found.st_ino)


_FILE_LOST = (
    "its file was replaced or removed while the service ran; stop the service, put the old file "
    "back or remove the files -wal and -shm beside the new one, then start"
)
_FILE_CUT = (
    "its file became smaller while the service ran; stop the service; if it was cut off, or "
    "another one was copied over it, put a backup in its place and remove the files -wal and -shm "
    "beside it (after VACUUM nothing is wrong); then start"
)
_LOG_LOST = (
    "its write-ahead log (-wal, -shm) was removed while the service ran; stop the service with "
    "SIGTERM, which saves what it holds, then start"
)
_DISK_FAILED = (
    "the disk could not write what was learned (see the log of the system); stop the service, "
    "check the disk, then start"
)
