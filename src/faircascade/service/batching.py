"""Calls that arrive at the same time are processed as one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")
Result = TypeVar("Result")


class Batcher(Generic[Entry, Result]):
    """Gathers the entries of all calls that are made in one turn of the event loop.

    A service that keeps up has one call per turn, which does not wait for others. One that falls
    behind has many, and together they cost far less than one by one.
    """

    def __init__(
        self, work: Callable[[Sequence[Entry]], Awaitable[Sequence[Result]]], *, most: int
    ) -> None:
        """Let `work` handle at most `most` entries at once; a call is never divided."""
        self._work = work
        self._most = most
        self._calls: list[tuple[Sequence[Entry], asyncio.Future[Sequence[Result]]]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, entries: Sequence[Entry]) -> Sequence[Result]:
        """Return a result for each entry."""
        loop = asyncio.get_running_loop()
        if not self._calls:
            loop.call_soon(self._begin)
        done: asyncio.Future[Sequence[Result]] = loop.create_future()
        self._calls.append((entries, done))
        return await done

    def _begin(self) -> None:
        calls, self._calls = self._calls, []
        while calls:
            count, size = 1, len(calls[0][0])
            while count < len(calls) and size + len(calls[count][0]) <= self._most:
                size += len(calls[count][0])
                count += 1
            task = asyncio.create_task(self._run(calls[:count]))
            self._running.add(task)  # the event loop alone would let go of it
            task.add_done_callback(self._running.discard)
            calls = calls[count:]

    async def _run(
        self, calls: Sequence[tuple[Sequence[Entry], asyncio.Future[Sequence[Result]]]]
    ) -> None:
        try:
            results = await self._work([entry for entries, _ in calls for entry in entries])
        except Exception as error:
            for _, done in calls:
                reject(done, error)
            return
        first = 0
        for entries, done in calls:
            resolve(done, results[first : first + len(entries)])
            first += len(entries)


def resolve(future: asyncio.Future[Any], result: Any) -> None:
    """Deliver a result, if anybody still waits for it."""
    if not future.done():
        future.set_result(result)


def reject(future: asyncio.Future[Any], error: BaseException) -> None:
    """Deliver an error, if anybody still waits."""
    if not future.done():
        future.set_exception(error)
