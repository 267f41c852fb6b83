"""A thread that works for an event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from faircascade.service.stores.worker_thread import WorkerThread


def test_results_come_back_in_the_order_of_the_work() -> None:
    async def scene() -> None:
        thread = WorkerThread("work")
        names = [thread.do(lambda n=n: (n, threading.current_thread().name)) for n in range(20)]
        assert await asyncio.gather(*names) == [(n, "work") for n in range(20)]
        thread.stop()

    asyncio.run(scene())


def test_what_work_raises_is_raised_where_it_was_asked_for_and_ends_nothing() -> None:
    async def scene() -> None:
        thread = WorkerThread("work")
        with pytest.raises(ZeroDivisionError):
            await thread.do(lambda: 1 // 0)
        assert await thread.do(lambda: "still here") == "still here"
        thread.stop()

    asyncio.run(scene())


def test_work_goes_on_without_who_asked_for_it() -> None:
    async def scene() -> None:
        thread, begin, done = WorkerThread("work"), threading.Event(), threading.Event()
        asking = asyncio.create_task(thread.do(begin.wait))
        after = asyncio.create_task(thread.do(done.set))
        await asyncio.sleep(0)
        asking.cancel()
        begin.set()
        await after
        assert asking.cancelled()
        assert done.is_set()
        thread.stop()

    asyncio.run(scene())


def test_stopping_waits_for_all_that_was_handed_over() -> None:
    async def scene() -> None:
        thread, seen = WorkerThread("work"), []
        asked = [asyncio.create_task(thread.do(lambda n=n: seen.append(n))) for n in range(5)]
        await asyncio.sleep(0)
        thread.stop()
        assert seen == [0, 1, 2, 3, 4]
        await asyncio.gather(*asked)

    asyncio.run(scene())
