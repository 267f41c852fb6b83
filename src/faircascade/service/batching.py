"""Calls that arrive at the same time are processed as one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Call(Generic[Entry, Result]):
    entries: Sequence[Entry]
    done: asyncio.Future[Sequence[Result]]
    check: Callable[[], None] | None

    def is_wanted(self) -> bool:
        """Return whether somebody still waits for the results."""
        if self.done.done():
            return False
        if self.check is not None:
            try:
                self.check()
            except Exception as error:
                reject(self.done, error)
                return False
        return True


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
        self._calls: list[_Call[Entry, Result]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(
        self, entries: Sequence[Entry], *, check: Callable[[], None] | None = None
    ) -> Sequence[Result]:
        """Return a result for each entry.

        What `check` raises just before the work begins is raised here, and the work is not done.
        """
        loop = asyncio.get_running_loop()
        if not self._calls:
            loop.call_soon(self._begin)
        done: asyncio.Future[Sequence[Result]] = loop.create_future()
        self._calls.append(_Call(entries, done, check))
        return await done

    def _begin(self) -> None:
        calls, self._calls = self._calls, []
        while calls:
            count, size = 1, len(calls[0].entries)
            while count < len(calls) and size + len(calls[count].entries) <= self._most:
                size += len(calls[count].entries)
                count += 1
            task = asyncio.create_task(self._run(calls[:count]))
            self._running.add(task)  # the event loop alone would let go of it
            task.add_done_callback(self._running.discard)
            calls = calls[count:]

    async def _run(self, calls: Sequence[_Call[Entry, Result]]) -> None:
        calls = [call for call in calls if call.is_wanted()]
        if not calls:
            return
        try:
            results = await self._work([entry for call in calls for entry in call.entries])
        except Exception as error:
            for call in calls:
                reject(call.done, error)
            return
        first = 0
        for call in calls:
            resolve(call.done, results[first : first + len(call.entries)])
            first += len(call.entries)


def resolve(future: asyncio.Future[Any], result: Any) -> None:
    """Deliver a result, if anybody still waits for it."""
    if not future.done():
        future.set_result(result)


def reject(future: asyncio.Future[Any], error: BaseException) -> None:
    """Deliver an error, if anybody still waits."""
    if not future.done():
        future.set_exception(error)
