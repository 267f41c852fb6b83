"""Slates of a service say how likely they were, as those of a ranker do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from faircascade import registry
from faircascade.policies import Bandit, Policy
from faircascade.ranker import Ranker
from faircascade.rerankers import ExposureCharge, LoggedRandomisation, MeritDraws
from faircascade.service.catalogue import segment
from faircascade.service.event_log.notes import LOGGED, log_fields
from faircascade.service.settings import ServiceSettings
from faircascade.types import Items
from tests.service.in_process import (
    SERVED,
    features_of,
    learn,
    recommend,
    serving,
    topics_for,
    topics_of,
)

POLICIES = [
    *(registry.build("policy", name) for name in SERVED),
    Bandit(exploration="epsilon", reranker=ExposureCharge(ledger="user")),
    Bandit(reranker=LoggedRandomisation(share=0.9, shortlist=5)),
    Bandit(reranker=MeritDraws(sharpness=3.0)),
]


@pytest.mark.parametrize("size", [segment.SIZE, 4], ids=["one segment", "several"])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_propensities_are_those_that_a_ranker_gives(
    tmp_path: Path, policy: Policy, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "SIZE", size)
    rows, topics = features_of(12), topics_of(12, topics_for(policy))
    merit = np.array([1.0 + n % 3 for n in range(12)])
    items = Items.of(rows, ids=list("abcdefghijkl"), merit=merit, topics=topics)
    ranker = Ranker(policy, items=items, seed=3)

    async def story() -> None:
        settings = ServiceSettings(event_log=True)
        async with serving(tmp_path, policy, settings=settings, seed=3) as service:
            for turn in range(12):
                user = "ann" if turn % 3 else "bob"
                left_out = ["b", "f"] if turn % 2 and not policy.needs_every_item else []
                slate = ranker.recommend(user, k=3, exclude=left_out)
                shown = await recommend(service, user, k=3, exclude=left_out)
                assert tuple(shown.items) == slate.items
                (kept,) = await service.store.impressions([shown.impression_id])
                assert kept is not None
                logged = kept.note[LOGGED]
                known = slate.propensities
                assert logged["policy"] == policy.label
                assert logged.get("explored", False) == slate.explored
                assert ("cascade_propensity" in logged) == (known is not None)
                if known is not None:
                    found = logged["cascade_propensity"]
                    np.testing.assert_allclose(found, known.cascade, rtol=1e-12)
                    single = logged.get("item_position_propensity")
                    assert (single is None) == (known.item_position is None)
                    if single is not None:
                        np.testing.assert_allclose(single, known.item_position, rtol=1e-12)
                    assert log_fields(kept.note)["slate_propensity"] == found[-1]
                clicked = sorted({turn % 4, turn % 3 + 1} - {0})
                ranker.update(slate, clicked)
                await learn(service, shown, clicked_positions=clicked)

    asyncio.run(story())


def test_slates_say_nothing_where_no_log_is_wanted(tmp_path: Path) -> None:
    async def story() -> None:
        async with serving(tmp_path, registry.build("policy", "epsilon-greedy")) as service:
            shown = await recommend(service)
            (kept,) = await service.store.impressions([shown.impression_id])
            assert kept is not None
            assert set(kept.note) == {"policy"}

    asyncio.run(story())
