"""The end of an event log."""

from __future__ import annotations

from faircascade.service.service import EVENT_LOG
from faircascade.service.settings import DAY
from faircascade.service.stores.registry import public_address, store_at


async def end_log(address: str) -> int:
    """Let the store at an address keep no more changes; return how many were not in files yet."""
    store = store_at(address, ttl=7 * DAY)
    shape = await store.stored_shape()
    if shape is None:
        raise ValueError(f"{public_address(address)}: holds no store")
    await store.open(shape)
    try:
        if await store.get_meta(EVENT_LOG) is None:
            raise ValueError(f"{public_address(address)}: has no event log")
        await store.set_meta(EVENT_LOG, None)
        dropped = 0
        while some := await store.changes("", 1_000):
            dropped += len(some)
            await store.drop_changes(some[-1][0])
    finally:
        await store.close()
    return dropped
