"""Whether the store is there, asked of it now and then."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from math import inf

from faircascade.service.stores.base import Store, StoreDown

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that the store may take to say that it is there."""
FRESH = 1.0
"""Seconds for which what it said is repeated: asking writes to it, and anybody may ask us."""


class StoreProbe:
    """Remembers for a moment how the store is; who asks at the same time is answered together."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._felt = -inf
        self._feeling: asyncio.Task[str] | None = None

    async def status(self) -> str:
        """Return "ok", or what is wrong with the store."""
        now = self._clock()
        if self._feeling is None or (self._feeling.done() and now - self._felt >= FRESH):
            self._felt = now
            self._feeling = asyncio.create_task(_ping(self._store))
        return await asyncio.shield(self._feeling)  # who leaves does not take it from the others


async def _ping(store: Store) -> str:
    try:
        async with asyncio.timeout(PATIENCE):
            await store.ping()
    except TimeoutError:
        return f"did not answer within {PATIENCE:g} seconds"
    except StoreDown as error:  # its words may name what is not for everybody
        log.warning("store is down", extra={"reason": str(error)})
        return "is unavailable"
    return "ok"
