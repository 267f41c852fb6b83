"""How often the store is asked whether it is there."""

from __future__ import annotations

import asyncio
from typing import cast

from faircascade.service.http.readiness import FRESH, StoreProbe
from faircascade.service.stores.base import Store, StoreDown
from tests.service.in_process import Clock


class Patient:
    """A store that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.down = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def ping(self) -> None:
        self.asked += 1
        await self.answers.wait()
        if self.down:
            raise StoreDown("gone")


def test_the_store_is_asked_once_a_second_at_most() -> None:
    async def ask() -> None:
        store, clock = Patient(), Clock(0.0)
        store_probe = StoreProbe(cast(Store, store), clock)
        assert [await store_probe.status() for _ in range(100)] == ["ok"] * 100
        store.down = True
        clock.now += FRESH / 2
        assert (await store_probe.status(), store.asked) == ("ok", 1)
        clock.now += FRESH / 2
        assert await store_probe.status() == "is unavailable"
        assert store.asked == 2

    asyncio.run(ask())


def test_who_asks_meanwhile_waits_for_the_same_answer_and_may_leave() -> None:
    async def ask() -> None:
        store = Patient()
        store.answers.clear()
        store_probe = StoreProbe(cast(Store, store))
        asking = [asyncio.create_task(store_probe.status()) for _ in range(10)]
        await asyncio.sleep(0)
        asking[0].cancel()
        store.answers.set()
        assert await asyncio.gather(*asking[1:]) == ["ok"] * 9
        assert store.asked == 1

    asyncio.run(ask())
