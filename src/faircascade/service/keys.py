"""API keys: random texts whose hashes are kept in a file.

A key has 256 random bits, so nobody finds one by trying, however fast; that is why a plain
SHA-256 of it will do where a password would need a slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Literal, get_args

from filelock import FileLock

from faircascade.errors import ParameterError
from faircascade.storage import replacing

log = logging.getLogger(__name__)

Role = Literal["read", "write", "admin"]
"""`read` may only look (GET); `write` may do everything but change policies; `admin` may all."""
ROLES: tuple[str, ...] = get_args(Role)
VERSION = 1
PREFIX = "fck_"
"""Keys begin with it, so that scanners for leaked secrets recognise them."""
RELOAD_SECONDS = 1.0
"""Seconds after which the file is looked at again."""
UNREADABLE_SECONDS = 60.0
"""Seconds for which the old keys stay valid while the file cannot be read."""
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key's name, role and hash; not the key itself."""

    name: str
    role: str
    sha256: str
    """Of the key's text, in hex."""
    created: str
    """ISO 8601."""
    rate: float | None = None
    """Requests, answers and items a second; None: as many as the service says."""


class Keys:
    """The keys in a file, read again when it changes.

    Without the file nobody gets in; with one that cannot be read nobody does after a minute.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._looked = clock()
        self._seen = _signature(path)
        self._keys = list_keys(path)
        self._wrong = ""  # what was said about the file, if something is wrong with it
        self._wrong_since = 0.0

    @classmethod
    def load(cls, path: str | Path) -> Keys:
        """Read a file of keys; a ValueError says what is wrong with it."""
        return cls(Path(path))

    def key_of(self, token: str) -> Key | None:
        """Return the key of a text, None if it is not one of ours."""
        self._follow()
        digest = _hash(token)
        found = None
        for key in self._keys:  # all of them: how long it takes must not tell which came close
            if hmac.compare_digest(key.sha256, digest):
                found = key
        return found

    def _follow(self) -> None:
        """Read the file again if it changed, or could not be read the last time."""
        now = self._clock()
        if now - self._looked < RELOAD_SECONDS:
            return
        self._looked = now
        signature = _signature(self._path)
        if signature == self._seen and not self._wrong:
            return
        self._seen = signature
        try:
            self._keys = list_keys(self._path)
        except ValueError as error:
            self._fail(error, now)
        else:
            self._wrong = ""
            log.info("keys reloaded", extra={"keys": len(self._keys)})

    def _fail(self, error: ValueError, now: float) -> None:
        """Refuse all keys if the file is missing, or unreadable for too long; log it once."""
        if not self._wrong:
            self._wrong_since = now
        left = self._wrong_since + UNREADABLE_SECONDS - now
        if left <= 0 or isinstance(error.__cause__, FileNotFoundError):
            self._keys = []
        then = "the old ones stay valid for a minute" if self._keys else "all requests are refused"
        wrong = f"{error}; {then}"
        if wrong != self._wrong:
            log.error(f"keys cannot be read; {then}", extra={"reason": str(error)})
        self._wrong = wrong


def list_keys(path: str | Path) -> list[Key]:
    """Return the keys in a file."""
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"{path}: the file of keys cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise ValueError(f"{path}: not a file of keys ({error})") from error
    try:
        version, entries = document["version"], document["keys"]
        if version == VERSION:
            return [_key(entry) for entry in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a file of keys") from error
    raise ValueError(f"{path}: has keys of version {version}; this release reads version {VERSION}")


def _key(entry: dict[str, Any]) -> Key:
    key = Key(**entry)
    if key.role not in ROLES or len(bytes.fromhex(key.sha256)) != hashlib.sha256().digest_size:
        raise ValueError("not a key")
    if key.rate is not None and not 0 < key.rate < inf:
        raise ValueError("not a rate")
    return key


def new_key(path: str | Path, name: str, role: str, rate: float | None = None) -> str:
    """Create a key, keep its hash in the file and return the key."""
    if role not in ROLES:
        raise ParameterError("role", f"must be one of {', '.join(ROLES)}", role)
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable()):
        raise ParameterError("name", f"must be 1 to {_LONGEST_NAME} printable characters", name)
    if rate is not None and not 0 < rate < inf:
        raise ParameterError("rate", "must be a number > 0", rate)
    with _lock(path):
        keys = list_keys(path) if Path(path).exists() else []
        if any(key.name == name for key in keys):
            raise ValueError(f"{path}: key {name!r} exists already")
        token = PREFIX + token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        sha256 = _hash(token)
        new = Key(name=name, role=role, sha256=sha256, created=created, rate=rate)
        _write(path, [*keys, new])
    return token


def remove_key(path: str | Path, name: str) -> None:
    """Remove a key by its name; services that run stop accepting it within a second or two."""
    with _lock(path):
        keys = list_keys(path)
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            names = ", ".join(repr(key.name) for key in keys) or "none"
            raise ValueError(f"{path}: has no key {name!r}; it has: {names}")
        _write(path, left)


def _write(path: str | Path, keys: Sequence[Key]) -> None:
    # older releases know of no rates
    entries = [{n: v for n, v in asdict(key).items() if v is not None} for key in keys]
    text = json.dumps({"version": VERSION, "keys": entries}, indent=1)
    with replacing(path) as draft:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())


def _lock(path: str | Path) -> FileLock:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return FileLock(f"{path}.lock")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes with the file, None if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
