"""What the processes of one service need to use one database file together.

A few files that have no name: the processes inherit them, nobody else can open them, and their
locks go with the process that holds them, however it ends.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from faircascade.service.stores.round_numbers import TABLE_SIZE, SharedRounds

_WRITING, _NUMBERING = 0, 1
"""Which byte of the table is locked, for what."""


class ProcessLock:
    """Held by one process at a time. It says nothing about the threads of one process."""

    def __init__(self, file: int, byte: int) -> None:
        self._file = file
        self._byte = byte

    def take(self) -> bool:
        """Take it if it is free; False if another process has it."""
        with suppress(BlockingIOError, PermissionError):
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte)
            return True
        return False

    def wait(self) -> None:
        """Take it when it is free, however long that takes."""
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._byte)

    def give_back(self) -> None:
        """Let others have it; nothing happens if this process has not got it."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._byte)


class FileShare:
    """Lets processes write in turn, and number slates together."""

    @classmethod
    def make(cls, file: Path) -> FileShare | None:
        """Keep a database file from other services; None if another one has it.

        The lock is the one of `FileGuard`. Processes that inherit the files hold it together, so
        that it is free when the last of them has ended.
        """
        guard = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(guard)
            return None
        with TemporaryFile() as table:
            table.truncate(TABLE_SIZE)
            return cls([guard, os.dup(table.fileno())])

    def __init__(self, files: Sequence[int]) -> None:
        """Take the files that `make` opened."""
        self.files = tuple(files)
        _, table = self.files
        self.writing = ProcessLock(table, _WRITING)
        self.rounds = SharedRounds(mmap.mmap(table, TABLE_SIZE), ProcessLock(table, _NUMBERING))

    def close(self) -> None:
        """Let other services have the database file, unless a process still uses it."""
        for file in self.files:
            os.close(file)
