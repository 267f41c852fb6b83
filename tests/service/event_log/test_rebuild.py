"""A store that is made from an event log is the same store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faircascade.service.event_log.rebuild import rebuild_store
from faircascade.service.messages import FeedbackRequest, RecommendationRequest
from faircascade.service.service import Service
from tests.service.event_log.histories import USERS, History, going_on, held


async def counted(service: Service) -> dict[str, Any]:
    """Return what was counted of exposure and of experiments."""
    await service.exposure.catch_up(service.store)
    everything = service.exposure.snapshot("all").counts
    arms = service.exposure.tallies().arms
    return {
        "totals": everything.totals.tolist(),
        "by slot": everything.by_slot.tolist(),
        "first": service.exposure.snapshot("all").since,
        "arms": {
            key: {
                arm: (
                    {block: counts.by_slot.tolist() for block, counts in tally.blocks.items()},
                    sorted(tally.users.hashes),
                    tally.common,
                )
                for arm, tally in arms.items()
            }
            for key, arms in arms.items()
        },
    }


async def goes_on_alike(history: History, one: str, two: str) -> None:
    """Serve two stores, which must show and learn the same."""
    async with going_on(history, one) as first, going_on(history, two) as second:
        assert await counted(first) == await counted(second)
        for turn in range(3):
            history.now += 1
            labels = {"device": "phone"}
            requests = [RecommendationRequest(user=user, k=4, user_labels=labels) for user in USERS]
            shown = [await service.recommend(requests) for service in (first, second)]
            assert [(s.items, s.scores) for s in shown[0]] == [
                (s.items, s.scores) for s in shown[1]
            ]
            for service, slates in zip((first, second), shown, strict=True):
                await service.learn(
                    [
                        FeedbackRequest(
                            impression_id=slate.impression_id,
                            clicked_positions=[turn + 1] if turn < len(slate.items) else [],
                        )
                        for slate in slates
                    ]
                )
    assert (await held(one))["users"] == (await held(two))["users"]


@pytest.mark.parametrize(
    ("kind", "target", "seed"),
    [
        ("sqlite", "sqlite", 1),
        ("sqlite", "redis", 2),
        ("redis", "postgresql", 3),
        ("postgresql", "sqlite", 4),
    ],
)
def test_a_store_is_rebuilt_bit_for_bit(
    tmp_path: Path, place: Callable[[str], str], kind: str, target: str, seed: int
) -> None:
    async def story() -> None:
        one, two = place(kind), place(target)
        history = History(one, tmp_path / "log", seed)
        await history.begin(logged=bool(seed % 2))
        await history.live(60)
        if history.writer is None:
            await history.log()  # of a store that holds something
        await history.live(200)
        await history.expire()
        await history.end()
        counts = await rebuild_store(tmp_path / "log", two)
        assert counts.users > 3
        assert counts.cohorts == 3
        expected, found = await held(one), await held(two)
        assert found == expected
        await goes_on_alike(history, one, two)

    asyncio.run(story())
