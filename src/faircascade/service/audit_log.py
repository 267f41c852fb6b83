"""The audit log: who changed what, one JSON object a line.

A line is on disk before the change is acknowledged. Nothing is ever removed: a file that has become
large gets another name, and whoever keeps the log moves it away. Several processes may write to one
file. Lines are ASCII, with everything else escaped, so that no name can look like another line.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from getpass import getuser
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock, Timeout

from faircascade.service.batching import reject, resolve
from faircascade.service.stores.worker_thread import WorkerThread

log = logging.getLogger(__name__)

LARGEST = 64 * 2**20
"""Bytes from which on a file gets another name."""
LOCK_SECONDS = 5.0
"""Seconds to wait for another process that writes."""

Entry = Mapping[str, Any]
"""What is said of a change, as JSON has it."""


class NotAudited(Exception):  # noqa: N818 - it says what a change is
    """A line could not be written."""


class AuditFile:
    """A file of lines. Its methods wait for the disk."""

    def __init__(self, path: str | Path, *, largest: int = LARGEST) -> None:
        self.path = Path(path)
        self._largest = largest

    @classmethod
    def at(cls, path: str | Path) -> AuditFile:
        """Return the file at a path, made if it is not there; a ValueError says if it cannot be."""
        file = cls(path)
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.write([])
            file.pseudonym("")
        except NotAudited as error:
            raise ValueError(str(error)) from None
        except OSError as error:
            raise ValueError(file._wrong(error)) from None
        return file

    def write(self, entries: Sequence[Entry]) -> None:
        """Add lines, all or none; when it returns they are on disk."""
        text = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
        try:
            with self._lock:
                self._make_room(len(text))
                self._append(text)
        except OSError as error:
            raise NotAudited(self._wrong(error)) from error

    def pseudonym(self, user: str) -> str:
        """Return what stands for a user: it cannot be turned back without the key beside the file,
        and with it only by trying users.
        """
        return hmac.digest(self._key, user.encode(), "sha256").hex()[:32]

    @property
    def _lock(self) -> FileLock:
        return FileLock(f"{self.path}.lock", timeout=LOCK_SECONDS, mode=0o600)

    @cached_property
    def _key(self) -> bytes:
        place = Path(f"{self.path}.key")
        with self._lock:
            if not place.exists():
                with open(place, "x", opener=_private) as file:
                    file.write(token_hex(32) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            return bytes.fromhex(place.read_text())

    def _make_room(self, more: int) -> None:
        if not self.path.exists() or self.path.stat().st_size + more <= self._largest:
            return
        stem = f"{self.path}.{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}"
        name, number = Path(stem), 1
        while name.exists():
            number += 1
            name = Path(f"{stem}-{number}")
        self.path.rename(name)

    def _append(self, text: bytes) -> None:
        new = not self.path.exists()
        with open(self.path, "ab", buffering=0, opener=_private) as file:
            size = file.seek(0, os.SEEK_END)
            if size and not self._ends_a_line(size):  # what a power cut left
                text = b"\n" + text
            try:
                if text and file.write(text) < len(text):
                    raise OSError(0, "the disk is full")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
        if new:
            _sync(self.path.parent)

    def _ends_a_line(self, size: int) -> bool:
        with self.path.open("rb") as file:
            file.seek(size - 1)
            return file.read(1) == b"\n"

    def _wrong(self, error: OSError) -> str:
        if isinstance(error, Timeout):
            return f"{self.path}: another process has held the audit log for {LOCK_SECONDS:g} s"
        return f"{self.path}: the audit log cannot be written ({error.strerror or error})"


class AuditLog:
    """Writes lines for an event loop, those that come at the same time together.

    Without a file, they go to the log of the service, which says nothing of users.
    """

    def __init__(self, file: AuditFile | None = None) -> None:
        self._file = file
        self._waiting: list[tuple[Entry, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._thread: WorkerThread | None = None
        self._broken = False

    def pseudonym(self, user: str) -> str | None:
        """Return what stands for a user; None where nothing does."""
        return None if self._file is None else self._file.pseudonym(user)

    async def check(self) -> None:
        """Raise `NotAudited` if the last line could not be written, and still none can."""
        if self._broken:
            await self._write([])

    async def note(self, entry: Entry) -> None:
        """Write a line; when it returns it is on disk. `NotAudited` if it cannot be."""
        if self._file is None:
            log.info("audit", extra=dict(entry))
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        await done

    async def stop(self) -> None:
        """Finish what was begun."""
        if self._writing is not None:
            await self._writing
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    async def _write_all(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            try:
                await self._write([entry for entry, _ in waiting])
            except Exception as error:
                for _, done in waiting:
                    reject(done, error)
            else:
                for _, done in waiting:
                    resolve(done, None)
        self._writing = None

    async def _write(self, entries: list[Entry]) -> None:
        file = self._file
        assert file is not None
        if self._thread is None:
            self._thread = WorkerThread("audit log")
        try:
            await self._thread.do(lambda: file.write(entries))
        except NotAudited as error:
            if not self._broken:
                log.error("audit log cannot be written", extra={"reason": str(error)})
            self._broken = True
            raise
        self._broken = False


@contextmanager
def command_noted(path: str | Path | None, command: str, target: Entry) -> Iterator[None]:
    """Note what somebody did at the command line, once it succeeded, if there is an audit log."""
    if path is None:
        yield
        return
    file = AuditFile.at(path)
    yield
    entry = {"time": now(), "event": "command", "user": _user(), "command": command}
    try:
        file.write([{**entry, "target": target, "outcome": "done"}])
    except NotAudited as error:
        raise ValueError(f"it was done, but {error}") from None


def _user() -> str:
    try:
        return getuser()
    except (OSError, KeyError):  # nobody has that number
        return str(os.getuid())


def now() -> str:
    """Return the time as lines have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync(folder: Path) -> None:
    """Make sure that a new name in a folder survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
