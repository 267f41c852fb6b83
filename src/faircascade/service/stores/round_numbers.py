"""Numbers of slates that were given out, until the database knows of them.

Between the moment in which a slate gets its number and the one in which it is written, nobody else
may get the same number.
"""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import struct
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from faircascade.service.stores.base import StoreDown

REMEMBERED = 65_536
"""Users whose last number is remembered."""
_WAYS = 8
"""Users who share a place of the table; the one that got no number for the longest goes first."""
_PLACE = struct.Struct(f"{2 * _WAYS}q")
"""Key and number of users, the latest first."""
TABLE_SIZE = REMEMBERED // _WAYS * _PLACE.size
_PAUSE = 0.0005
"""Seconds until a lock is tried again, which is held for microseconds."""
PATIENCE = 5.0
"""Seconds after which the process that holds it must have been stopped."""


class RoundNumbers(ABC):
    """Numbers the slates of users."""

    @abstractmethod
    async def allot(self, users: Sequence[str], last: Sequence[int]) -> list[int]:
        """Return a number for a slate of each, beyond the last ones that the database knows."""

    @abstractmethod
    async def forget(self, user: str) -> None:
        """Begin with what the database knows."""


class OwnRounds(RoundNumbers):
    """Numbers that one process gives out."""

    def __init__(self) -> None:
        self._allotted: OrderedDict[str, int] = OrderedDict()

    async def allot(self, users: Sequence[str], last: Sequence[int]) -> list[int]:
        return [self._next(user, known) for user, known in zip(users, last, strict=True)]

    def _next(self, user: str, last: int) -> int:
        number = max(self._allotted.pop(user, 0), last) + 1
        self._allotted[user] = number
        if len(self._allotted) > REMEMBERED:
            self._allotted.popitem(last=False)
        return number

    async def forget(self, user: str) -> None:
        self._allotted.pop(user, None)


class Lock(Protocol):
    """Held by one process at a time."""

    def take(self) -> bool:
        """Take it if it is free."""

    def give_back(self) -> None:
        """Let others have it."""


class SharedRounds(RoundNumbers):
    """Numbers that several processes give out, in a table that all of them see.

    A user has a place by a hash. Two users with the same 64 bits skip each other's numbers, which
    harms nobody.
    """

    def __init__(self, table: mmap.mmap, lock: Lock) -> None:
        self._table = table
        self._lock = lock

    async def allot(self, users: Sequence[str], last: Sequence[int]) -> list[int]:
        keys = [_key(user) for user in users]
        await self._locked()
        try:
            return [self._next(key, known) for key, known in zip(keys, last, strict=True)]
        finally:
            self._lock.give_back()

    async def forget(self, user: str) -> None:
        key = _key(user)
        await self._locked()
        try:
            at, known = self._read(key)
            known.pop(key, None)
            self._write(at, list(known.items()))
        finally:
            self._lock.give_back()

    async def _locked(self) -> None:
        until = monotonic() + PATIENCE
        while not self._lock.take():
            if monotonic() >= until:
                raise StoreDown("another process of this service holds the numbers of slates")
            await asyncio.sleep(_PAUSE)

    def _next(self, key: int, last: int) -> int:
        at, known = self._read(key)
        number = max(known.pop(key, 0), last) + 1
        self._write(at, [(key, number), *known.items()])
        return number

    def _read(self, key: int) -> tuple[int, dict[int, int]]:
        """Return where a place is, and the numbers in it by key."""
        at = key % (REMEMBERED // _WAYS) * _PLACE.size
        flat = _PLACE.unpack_from(self._table, at)
        return at, {key: number for key, number in zip(flat[::2], flat[1::2], strict=True) if key}

    def _write(self, at: int, known: Sequence[tuple[int, int]]) -> None:
        flat = [number for pair in known[:_WAYS] for number in pair]
        _PLACE.pack_into(self._table, at, *flat, *[0] * (2 * _WAYS - len(flat)))


def _key(user: str) -> int:
    """Return the key of a user, never 0."""
    digest = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
