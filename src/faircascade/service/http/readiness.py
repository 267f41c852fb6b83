"""Whether the store is available, checked at most once a second."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from math import inf

from faircascade.service.stores.base import Store, StoreDown, StoreLost

log = logging.getLogger(__name__)

TIMEOUT = 2.0
"""Seconds that the store may take to answer."""
REUSE_SECONDS = 1.0
"""Seconds for which a result is reused: a check writes to the store, and anybody may ask."""


class StoreProbe:
    """Checks the store and reuses the result for a moment; concurrent callers share one check."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._felt = -inf
        self._feeling: asyncio.Task[str] | None = None
        self.seconds: float | None = None
        """That the store took to answer the last time."""

    async def status(self) -> str:
        """Return "ok", or what is wrong with the store."""
        now = self._clock()
        if self._feeling is None or (self._feeling.done() and now - self._felt >= REUSE_SECONDS):
            self._felt = now
            self._feeling = asyncio.create_task(self._ping())
        return await asyncio.shield(
            self._feeling
        )  # a caller that is cancelled must not cancel it for the others

    async def _ping(self) -> str:
        began = time.perf_counter()
        status = await _ping(self._store)
        self.seconds = time.perf_counter() - began
        return status


async def _ping(store: Store) -> str:
    try:
        async with asyncio.timeout(TIMEOUT):
            await store.ping()
    except TimeoutError:
        return f"did not answer within {TIMEOUT:g} seconds"
    except StoreLost as error:
        return error.advice
    except StoreDown as error:  # its text may name hosts
        log.warning("store is down", extra={"reason": str(error)})
        return "is unavailable"
    return "ok"
