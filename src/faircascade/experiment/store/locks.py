"""Locks: of several processes on one folder, only one runs a cell."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from filelock import FileLock, Timeout


class Claim(Enum):
    """Who has claimed a place."""

    MINE = "mine"
    TAKEN = "taken"
    """Another runner has it."""
    UNKNOWN = "unknown"
    """The file system has no locks, so that others may be at it, too."""


@contextmanager
def claimed(place: Path, *, wait: bool = False) -> Iterator[Claim]:
    """Claim a place, or find that another runner has it; `wait` until that one is done.

    The system gives a claim back when its process ends, however that ends. A claim spares work
    that would be done twice, and nothing else: what is written is whole without it, too.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(
        place.with_name(f"{place.name}.lock"), thread_local=False, fallback_to_soft=False
    )
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield Claim.TAKEN
        return
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _LOCKLESS:
            raise
        yield Claim.UNKNOWN
        return
    try:
        yield Claim.MINE
    finally:
        if os.name == "posix":  # others that wait for this very file notice that it has gone
            with suppress(OSError):
                Path(lock.lock_file).unlink()
        lock.release()


_LOCKLESS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of a file system that has no locks."""
