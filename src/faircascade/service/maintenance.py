"""Background work: follow the catalogue, count exposure, drop old impressions."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import suppress
from functools import partial

from faircascade.service import experiment_reports
from faircascade.service.lineup import Lineup
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown

log = logging.getLogger(__name__)

TICK = 0.2
"""Seconds between checks for changes by other services and for events to count: often, so that
requests never wait for long."""
KEEP_EVERY = 30.0
"""Seconds after which counts of exposure are stored, so that a start has few events to read."""
LOOK_EVERY = 5.0
"""Seconds between looks at the experiment, of which some are kept."""
EXPIRE_EVERY = 60.0
NO_CLICKS_EVERY = 10.0
"""Seconds between searches for slates that were not answered in time."""
NO_CLICKS_FIRST = 60.0
"""Seconds from the start to the first search: feedback may have waited for the service."""
RECLAIM_EVERY = 60.0
"""Seconds between searches for numbers of users that no policy needs any more, at most."""
_BATCHES = 10
"""Most batches of such slates between two ticks."""
_SHARE = 50.0
"""Storing counts may take one part in this many of the time: large catalogues have large counts."""
_LOOKING_SHARE = 10.0
"""The same for looks, which run in a thread."""
_PAUSE = 0.01


async def maintain(service: Service) -> None:
    """Follow the catalogue, count exposure, store the counts and drop old impressions, for ever."""
    keep = expire = time.monotonic() + KEEP_EVERY
    look = time.monotonic() + LOOK_EVERY
    no_clicks = time.monotonic() + NO_CLICKS_FIRST
    down = ""
    while True:
        await asyncio.sleep(TICK)
        service.expiry()  # so that it notices when the clock is set
        service.no_clicks.watch()
        try:
            await service.follow_event_log()
            await service.follow_catalogue()
            await service.exposure.catch_up(service.store)
            now = time.monotonic()
            if now >= keep:
                await service.exposure.keep(service.store)
                took = time.monotonic() - now
                keep = time.monotonic() + max(KEEP_EVERY, _SHARE * took)
                await asyncio.to_thread(service.free_memory.give_back)
            if (now := time.monotonic()) >= look:
                await experiment_reports.look(service)
                took = time.monotonic() - now
                look = time.monotonic() + max(LOOK_EVERY, _LOOKING_SHARE * took)
            if time.monotonic() >= no_clicks and not await learn_no_clicks(service):
                no_clicks = time.monotonic() + NO_CLICKS_EVERY
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


async def follow_policies(service: Service) -> None:
    """Follow how other services change the policies, for ever: a kill switch does not wait for
    maintenance, which may take long."""
    while True:
        await asyncio.sleep(TICK)
        with suppress(StoreDown):  # maintenance says so
            await service.follow_lineup()


async def reclaim_numbers(service: Service) -> None:
    """Reclaim what removed policies left of users, for ever. Of several services on a store, any
    may do it, and all of them at once: they find that it was done."""
    while True:
        await asyncio.sleep(random.uniform(RECLAIM_EVERY / 2, RECLAIM_EVERY))
        try:
            await reclaim(service)
        except StoreDown:  # maintenance says so
            continue
        except Exception:
            log.exception("numbers of removed policies cannot be reclaimed")


async def reclaim(service: Service) -> None:
    """Move the numbers of users that no policy needs any more, a few users at a time."""
    for move in service.lineup.vacant.due(service.clock()):
        cursor: str | None = ""
        while cursor is not None and move in service.lineup.vacant.moves:
            cursor = await service.store.move_sums(move.first, move.size, move.into, cursor)
            await asyncio.sleep(_PAUSE)
        if cursor is None:
            await service.change(partial(Lineup.moved, move=move, now=service.clock()))


async def learn_no_clicks(service: Service) -> bool:
    """Learn some of the slates that were not answered in time; say whether there may be more."""
    for _ in range(_BATCHES):
        if not await service.learn_no_clicks():
            return False
        await asyncio.sleep(_PAUSE)
    return True


async def drop_expired(service: Service) -> None:
    """Drop expired impressions, a few at a time so that requests need not wait."""
    while await service.drop_expired():
        await asyncio.sleep(_PAUSE)
