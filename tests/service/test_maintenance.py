"""What the service does between requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from faircascade.service import maintenance as module
from faircascade.service.maintenance import drop_expired, maintain
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import StoreDown
from tests.service.in_process import Clock, learn, recommend, serving


async def until(condition) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def test_lists_are_counted_and_the_counts_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setattr(module, "KEEP_EVERY", 0.0)

    async def work() -> None:
        async with serving(tmp_path) as service:
            task = asyncio.create_task(maintain(service))
            await learn(service, await recommend(service), clicked_position=1)
            await until(lambda: service.exposure.snapshot("all").counts.answers == 1)
            while (await service.store.counts())[1] is None:
                await asyncio.sleep(0.001)
            task.cancel()

    asyncio.run(work())


def test_upkeep_goes_on_after_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TICK", 0.001)

    async def work() -> None:
        async with serving(tmp_path) as service:
            troubles = iter([StoreDown("away"), RuntimeError("a bug")])
            follow = service.follow_catalogue

            async def troubled() -> None:
                for trouble in troubles:
                    raise trouble
                await follow()

            service.follow_catalogue = troubled  # type: ignore[method-assign]
            task = asyncio.create_task(maintain(service))
            await recommend(service)
            await until(lambda: service.exposure.snapshot("all").counts.slates == 1)
            task.cancel()

    asyncio.run(work())


def test_a_store_that_stays_down_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "TICK", 0.001)

    async def work() -> None:
        async with serving(tmp_path) as service:
            follow = service.follow_catalogue
            asked = 0

            async def troubled() -> None:
                nonlocal asked
                asked += 1
                if asked != 10:
                    raise StoreDown("away")
                await follow()

            service.follow_catalogue = troubled  # type: ignore[method-assign]
            task = asyncio.create_task(maintain(service))
            await until(lambda: asked == 20)
            task.cancel()
        assert [record.getMessage() for record in caplog.records] == ["store is down"] * 2

    asyncio.run(work())


def test_old_slates_are_dropped_and_young_ones_stay(tmp_path: Path) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(tmp_path, settings=ServiceSettings(ttl=100), clock=clock) as service:
            old = [await recommend(service, "ann") for _ in range(3)]
            clock.now += 80
            young = await recommend(service, "ann")
            clock.now += 30
            await drop_expired(service)
            person = await service.user("ann")
            assert [i.id for i in person.impressions] == [young.impression_id]
            assert (await service.store.impressions([one.impression_id for one in old])) == [
                None
            ] * 3
            await learn(service, young, clicked_position=1)

    asyncio.run(work())
