"""Background work: follow the catalogue, count exposure, drop old impressions."""

from __future__ import annotations

import asyncio
import logging
import time

from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown

log = logging.getLogger(__name__)

TICK = 0.2
"""Seconds between checks for changes by other services and for events to count: often, so that
requests never wait for long."""
KEEP_EVERY = 30.0
"""Seconds after which counts of exposure are stored, so that a start has few events to read."""
EXPIRE_EVERY = 60.0
_SHARE = 50.0
"""Storing counts may take one part in this many of the time: large catalogues have large counts."""
_PAUSE = 0.01


async def maintain(service: Service) -> None:
    """Follow the catalogue, count exposure, store the counts and drop old impressions, for ever."""
    keep = expire = time.monotonic() + KEEP_EVERY
    down = ""
    while True:
        await asyncio.sleep(TICK)
        service.expiry()  # so that it notices when the clock is set
        try:
            await service.follow_event_log()
            await service.follow_lineup()
            await service.follow_catalogue()
            await service.exposure.catch_up(service.store)
            now = time.monotonic()
            if now >= keep:
                await service.exposure.keep(service.store)
                took = time.monotonic() - now
                keep = time.monotonic() + max(KEEP_EVERY, _SHARE * took)
            if time.monotonic() >= expire:
                await drop_expired(service)
                expire = time.monotonic() + EXPIRE_EVERY
            down = ""
        except StoreDown as error:
            if str(error) != down:  # once, not five times a second
                log.warning("store is down", extra={"reason": str(error)})
            down = str(error)
        except Exception:  # go on: without maintenance, counts and old impressions pile up
            log.exception("maintenance failed")


async def drop_expired(service: Service) -> None:
    """Drop expired impressions, a few at a time so that requests need not wait."""
    while await service.drop_expired():
        await asyncio.sleep(_PAUSE)
