"""A file that one import at a time may use."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout


def check_folder(path: Path) -> None:
    """Refuse a file whose folder is not there, before anything is waited for."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist")


class Claim:
    """A lock on a file beside it; the system gives it back when the process ends, however."""

    def __init__(self, path: Path, busy: str) -> None:
        """Claim a file, or say what to do if another import has it."""
        self._lock = FileLock(path.with_name(f"{path.name}.lock"), thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"{path}: {busy}") from None

    def release(self) -> None:
        """Let others have it."""
        with suppress(OSError):
            Path(self._lock.lock_file).unlink()
        self._lock.release()
