"""The buckets of all callers, which several workers share: a limit holds for them together."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from faircascade.service.http.rate_limits import OTHERS, RateLimits

_PLACES = 8_192
_WAYS = 8
"""Callers who share a place."""
_ENTRY = 2
"""Numbers of a bucket: the key of its caller, and when it is full."""
_BYTES = _PLACES * _WAYS * _ENTRY * 8


class SharedRateLimits(RateLimits):
    """Buckets in a file that all workers have in memory.

    There is no lock, so that no worker ever waits for one that was stopped: two that take from a
    bucket in the same microsecond take one token. All of them read the same clock.
    """

    def __init__(
        self, path: Path, *, seconds: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Use the file at a path, or make it."""
        super().__init__(seconds=seconds, clock=clock)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(file, _BYTES)
            table = memoryview(mmap.mmap(file, _BYTES))
        finally:
            os.close(file)
        self._keys, self._times = table.cast("q"), table.cast("d")

    def __len__(self) -> int:
        return sum(key != 0 for key in self._keys[::_ENTRY])

    def _bucket(self, caller: str, now: float) -> tuple[Any, float]:
        found = self._find(caller, now)
        if found is None:
            found = self._find(OTHERS, now)
        if found is None:  # no room for these either: whoever is there takes part
            found = _place(_key(OTHERS))[0]
        return found, self._times[found + 1]

    def _find(self, caller: str, now: float) -> int | None:
        """Return the bucket of a caller; a full one if there is none yet, None if none is full."""
        key = _key(caller)
        ways = _place(key)
        for at in ways:
            if self._keys[at] == key:
                return at
        for at in ways:
            if self._times[at + 1] <= now:
                self._times[at + 1] = now
                self._keys[at] = key
                return at
        return None

    def _keep(self, bucket: Any, full_at: float) -> None:
        self._times[bucket + 1] = full_at


def _place(key: int) -> range:
    first = key % _PLACES * _WAYS * _ENTRY
    return range(first, first + _WAYS * _ENTRY, _ENTRY)


def _key(caller: str) -> int:
    """Return the key of a caller, never 0."""
    digest = blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
