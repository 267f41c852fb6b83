"""Calls of one turn of the event loop are worked on together, and each gets its own results."""

from __future__ import annotations

import asyncio

import pytest

from faircascade.service.batching import Batcher


def test_calls_of_one_turn_share_the_work_and_get_their_own_results() -> None:
    seen: list[list[int]] = []

    async def double(entries):
        seen.append(list(entries))
        await asyncio.sleep(0)
        return [2 * entry for entry in entries]

    async def work() -> None:
        together = Batcher(double, most=5)
        results = await asyncio.gather(
            together([1, 2]), together([3]), together([]), together([4, 5, 6]), together([7])
        )
        assert results == [[2, 4], [6], [], [8, 10, 12], [14]]
        assert seen == [[1, 2, 3], [4, 5, 6, 7]]
        assert await together(list(range(9))) == [2 * n for n in range(9)]  # never cut

    asyncio.run(work())


def test_an_error_reaches_all_who_shared_the_work() -> None:
    async def fail(entries):
        raise ValueError("no")

    async def work() -> None:
        together = Batcher(fail, most=5)
        for result in await asyncio.gather(together([1]), together([2]), return_exceptions=True):
            with pytest.raises(ValueError, match="no"):
                raise result

    asyncio.run(work())


def test_a_caller_who_gives_up_does_not_disturb_the_others() -> None:
    async def slow(entries):
        await asyncio.sleep(0.01)
        return entries

    async def work() -> None:
        together = Batcher(slow, most=5)
        first, second = (asyncio.create_task(together([n])) for n in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == [2]
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(work())


def test_work_that_nobody_waits_for_is_not_begun() -> None:
    seen: list[list[int]] = []

    async def note(entries):
        seen.append(list(entries))
        return entries

    def leave() -> None:
        raise ConnectionError("gone")

    async def work() -> None:
        together = Batcher(note, most=5)
        first, second, third = (
            asyncio.create_task(together([1], check=leave)),
            asyncio.create_task(together([2])),
            asyncio.create_task(together([3], check=lambda: None)),
        )
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(ConnectionError, match="gone"):
            await first
        assert await third == [3]
        assert seen == [[3]]
        with pytest.raises(ConnectionError):
            await together([4], check=leave)
        assert seen == [[3]]

    asyncio.run(work())
