"""Large batches are done in pieces, and hold up nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from faircascade.service import precedence
from faircascade.service.messages import FeedbackRequest, Recommendation, RecommendationRequest
from faircascade.service.precedence import LARGE_PIECE, PIECE, QUIET, Precedence
from faircascade.service.service import Service
from faircascade.service.stores.base import StoreDown, StoreUnsure
from tests.service.in_process import recommend, serving

MANY = 5 * LARGE_PIECE + 3


def asked(count: int = MANY, **fields: Any) -> list[RecommendationRequest]:
    """Return requests of some users, each of whom comes several times."""
    return [RecommendationRequest(user=f"user-{n % 50}", k=3, **fields) for n in range(count)]


def failing_after(service: Service, calls: int, method: str, monkeypatch: Any) -> None:
    """Let the store fail after so many calls."""
    real, left = getattr(service.store, method), calls

    async def fails(*args: Any, **options: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreDown("no disk")
        return await real(*args, **options)

    monkeypatch.setattr(service.store, method, fails)


def test_a_batch_is_answered_in_its_order_and_learned_once(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            slates = await service.recommend(asked())
            assert all(isinstance(slate, Recommendation) for slate in slates)
            assert [slate.user for slate in slates] == [r.user for r in asked()]
            assert len({slate.impression_id for slate in slates}) == MANY
            answers = [
                FeedbackRequest(impression_id=slate.impression_id, clicked_position=1)
                for slate in slates
            ]
            for repeated in (False, True):
                receipts = await service.learn(answers)
                assert [r.impression_id for r in receipts] == [a.impression_id for a in answers]
                assert {r.repeated for r in receipts} == {repeated}
            assert service.activity.counts["learned"] == MANY
            seen = await service.user("user-0")
            assert seen.rounds == seen.count == sum(r.user == "user-0" for r in asked())

    asyncio.run(work())


@pytest.mark.parametrize("left_out", [False, True])
def test_single_requests_go_before_the_rest_of_a_batch(tmp_path: Path, left_out: bool) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            requests = asked()
            if left_out:
                requests = [
                    RecommendationRequest(user=r.user, k=3, exclude=(chr(ord("a") + n % 9),))
                    for n, r in enumerate(requests)
                ]
            batch = asyncio.create_task(service.recommend(requests))
            for n in range(3):
                await recommend(service, f"single-{n}")
                assert not batch.done()
            assert len(await batch) == MANY

    asyncio.run(work())


def test_batches_take_turns_so_that_a_short_one_is_done_first(tmp_path: Path) -> None:
    async def work() -> list[str]:
        done: list[str] = []

        async def one(name: str, requests: Sequence[RecommendationRequest]) -> None:
            await service.recommend(requests)
            done.append(name)

        async with serving(tmp_path) as service:
            long = [one(f"long {n}", asked(8 * LARGE_PIECE)) for n in range(2)]
            await asyncio.gather(*long, one("short", asked(LARGE_PIECE)))
        return done

    assert asyncio.run(work())[0] == "short"


def test_pieces_are_small_as_long_as_there_are_single_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(precedence, "monotonic", lambda: now)
    order, entries = Precedence(), range(10 * LARGE_PIECE)
    pieces = order.pieces(entries)
    found = [next(pieces)]
    with order.small():
        found.append(next(pieces))
    found.append(next(pieces))
    now = QUIET
    found += pieces
    sizes = [len(piece) for piece in found]
    assert sizes[:5] == [LARGE_PIECE, PIECE, PIECE, LARGE_PIECE, LARGE_PIECE]
    assert [entry for piece in found for entry in piece] == list(entries)


def test_a_batch_goes_on_however_many_single_requests_there_are() -> None:
    async def work() -> None:
        precedence = Precedence()
        with precedence.small():
            async with asyncio.timeout(5), precedence.turn():
                pass

    asyncio.run(work())


def test_a_batch_of_which_some_may_have_been_shown_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(calls: int) -> None:
        async with serving(tmp_path / str(calls)) as service:
            with monkeypatch.context() as patch:
                failing_after(service, calls, "record", patch)
                await service.recommend(asked())

    with pytest.raises(StoreDown) as nothing:
        asyncio.run(work(0))
    assert not isinstance(nothing.value, StoreUnsure)
    with pytest.raises(StoreUnsure):
        asyncio.run(work(2))


def test_feedback_that_failed_half_way_can_be_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with serving(tmp_path) as service:
            slates = await service.recommend(asked())
            answers = [FeedbackRequest(impression_id=slate.impression_id) for slate in slates]
            with monkeypatch.context() as patch:
                failing_after(service, 2, "learn", patch)
                with pytest.raises(StoreDown):
                    await service.learn(answers)
            receipts = await service.learn(answers)
            assert sum(receipt.repeated for receipt in receipts) == 2 * LARGE_PIECE

    asyncio.run(work())


def test_the_rest_of_a_batch_is_not_made_if_nobody_waits_for_it(tmp_path: Path) -> None:
    class GoneError(Exception):
        pass

    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise GoneError

    async def work() -> int:
        async with serving(tmp_path) as service:
            with pytest.raises(GoneError):
                await service.recommend(asked(), check=check)
            return service.activity.counts["recommendations"]

    assert asyncio.run(work()) == 2 * LARGE_PIECE
