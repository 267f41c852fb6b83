"""Who goes first: small calls before large ones, and large ones piece by piece, in turns.

One event loop does the work of all calls. A batch of a thousand would keep it for a good part of a
second, and people wait for single slates. So a large call is done in pieces that take milliseconds,
each piece waits until no small call is under way, and large calls take turns: a batch of a hundred
need not wait for one of ten thousand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from math import inf
from time import monotonic
from typing import TypeVar

SMALL = 16
"""Entries of a call up to which it is small."""
PIECE = 32
"""Entries of a piece while there are small calls. Smaller ones make these wait for less, and a
large call cost more: each has a transaction of its own."""
LARGE_PIECE = 128
"""Entries of a piece when there have been no small calls for a while."""
QUIET = 1.0
"""Seconds without a small call after which pieces are large."""
AT_ONCE = 2
"""Pieces that are under way at a time: one computes while the other waits for the disk."""
LONGEST_WAIT = 0.02
"""Seconds after which a piece goes on although there are small calls, or there would be no end."""

Entry = TypeVar("Entry")


class Precedence:
    """Orders the calls of a service."""

    def __init__(self) -> None:
        self._small = 0
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._latest = -inf  # when a small call last ended
        self._calm = asyncio.Event()
        self._calm.set()

    @contextmanager
    def small(self) -> Iterator[None]:
        """Go before all large calls."""
        self._small += 1
        self._calm.clear()
        try:
            yield
        finally:
            self._latest = monotonic()
            self._small -= 1
            if not self._small:
                self._calm.set()

    def pieces(self, entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
        """Yield entries, a piece at a time; how large one is depends on who else is there."""
        first = 0
        while first < len(entries):
            quiet = not self._small and monotonic() >= self._latest + QUIET
            size = LARGE_PIECE if quiet else PIECE
            yield entries[first : first + size]
            first += size

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Let a piece of a large call begin when it is its turn."""
        async with self._turns:
            await self.give_way()
            yield

    async def give_way(self) -> None:
        """Wait until no small call is under way, or for long enough."""
        if self._small:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._calm.wait(), LONGEST_WAIT)
        else:
            await asyncio.sleep(0)  # those that have come go on
