"""Keeps a database file for one service, and notices when it is not there any more."""

from __future__ import annotations

import logging
from pathlib import Path

from filelock import FileLock, Timeout

from faircascade.service.stores.base import StoreDown, StoreLost

log = logging.getLogger(__name__)

Identity = tuple[int, int] | None
"""Device and inode of the file at a path; None if there is none."""


def real_file(path: Path) -> Path:
    """Return the path of a file without symbolic links; refuse one with several names.

    SQLite names the write-ahead log after the file: under another name it would make another log,
    and so damage the file.
    """
    real = path.resolve()
    if real.exists() and (names := real.stat().st_nlink) > 1:
        raise ValueError(
            f"{path}: has {names} names (hard links), and another service could use it under "
            "another one; remove the other names, or make copies"
        )
    return real


class FileGuard:
    """Locks a file, and remembers which it was and which were beside it.

    Locks and open files belong to a file, whatever happens to its name: who goes on writing after
    the file was replaced writes into one that nobody will open again.
    """

    def __init__(self, path: Path) -> None:
        """Lock the file of a path, or refuse if another service has."""
        self.file = real_file(path)
        self.lost = ""
        """What happened to the file and what to do; empty as long as it is there."""
        self._path = path
        self._known: dict[Path, Identity] = {}
        self._lock = FileLock(f"{self.file}.lock", thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"{path}: another service is using this store") from None

    def release(self) -> None:
        """Let other services have the file."""
        self._lock.release()

    def remember_file(self) -> None:
        """Remember which file is at the path."""
        # The path as it was given: a symbolic link may lead elsewhere later.
        self._known[self._path] = _identity(self._path)

    def remember_log(self) -> None:
        """Remember which write-ahead log and index are beside it."""
        for path in (Path(f"{self.file}-wal"), Path(f"{self.file}-shm")):
            self._known[path] = _identity(path)

    def check(self) -> None:
        """Raise `StoreLost` if one of these files is not there, now or ever before."""
        if not self.lost:
            changed = [path for path, known in self._known.items() if _identity(path) != known]
            if not changed:
                return
            self.lost = _FILE_LOST if self._path in changed else _LOG_LOST
            log.error("the store is lost", extra={"file": str(self._path), "reason": self.lost})
        raise StoreLost(f"{self._path}: {self.lost}", advice=self.lost)


def _identity(path: Path) -> Identity:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreDown(f"{path}: {error}") from error
    return found.st_dev, found.st_ino


_FILE_LOST = (
    "its file was replaced or removed while the service ran; stop the service, put the old file "
    "back or remove the files -wal and -shm beside the new one, then start"
)
_LOG_LOST = (
    "its write-ahead log (-wal, -shm) was removed while the service ran; stop the service with "
    "SIGTERM, which saves what it holds, then start"
)
