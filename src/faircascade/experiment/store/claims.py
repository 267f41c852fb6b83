"""Claims: of several runners on one folder, one works on a cell, and the others go on."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def claimed(place: Path, *, wait: bool = False) -> Iterator[bool]:
    """Yield whether this is the only one who has claimed a place; `wait` until it is.

    The system gives a claim back when its process ends, however that ends. A claim spares work
    that would be done twice, and nothing else: what is written is whole without it, too. So a
    file system that has no locks claims everything.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place.with_name(f"{place.name}.lock"))
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield False
        return
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and not _lockless(error):
            raise
        yield True
        return
    try:
        yield True
        Path(lock.lock_file).unlink(missing_ok=True)
    finally:
        lock.release()


def _lockless(error: OSError) -> bool:
    """Say whether an error means that this file system has no locks."""
    return error.errno in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EOPNOTSUPP)
