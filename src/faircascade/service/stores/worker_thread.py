"""A thread that runs blocking work for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

from faircascade.service.batching import reject, resolve

Work = Callable[[], Any]


class WorkerThread:
    """Runs one call after the other for an event loop. An executor does so too, but with two kinds
    of futures for every call: for calls as short as a commit, this takes half the time of the event
    loop.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._handed: SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Work) -> Any:
        """Return the result of work, or raise what it raised, when the thread has done it."""
        done = self._loop.create_future()
        self._handed.put((work, done))
        return await done

    def stop(self) -> None:
        """Wait until everything that was handed over is done."""
        self._handed.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (handed := self._handed.get()) is not None:
            work, done = handed
            try:
                result = work()
            except BaseException as error:
                self._loop.call_soon_threadsafe(reject, done, error)
            else:
                self._loop.call_soon_threadsafe(resolve, done, result)
