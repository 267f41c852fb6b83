"""Background work: follow the catalogue, count exposure, drop old impressions."""

from __future__ import annotations

import asyncio
import logging
import time

from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown

log = logging.getLogger(__name__)

TICK = 0.2
"""Seconds between two looks at what other services did, and at what is to be counted: often, so
that requests never wait for much of it."""
KEEP_EVERY = 30.0
"""Seconds after which counts of exposure are kept, so that a start has few events to read."""
EXPIRE_EVERY = 60.0
_SHARE = 50.0
"""Keeping counts may take one part of the time in so many: those of large catalogues are large."""
_PAUSE = 0.01


async def maintain(service: Service) -> None:
    """Follow the catalogue, count exposure, keep the counts and drop old slates, for ever."""
    keep = expire = time.monotonic() + KEEP_EVERY
    while True:
        await asyncio.sleep(TICK)
        try:
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
        except StoreDown as error:
            log.warning("store is down", extra={"reason": str(error)})
        except Exception:  # go on: without maintenance, counts and old slates pile up
            log.exception("maintenance failed")


async def drop_expired(service: Service) -> None:
    """Drop slates whose time is over, a few at a time so that requests need not wait."""
    while await service.store.expire(service.clock() - service.settings.ttl):
        await asyncio.sleep(_PAUSE)
