"""Services answer alike however the catalogue is divided, and whenever they came to know it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from faircascade import registry
from faircascade.policies import Bandit
from faircascade.rerankers import EARS, Discount, ExposureCharge, LoggedRandomisation, Reorder
from faircascade.service.catalogue import item_names, segment
from faircascade.service.messages import ItemChange, RecommendationRequest
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.in_process import SERVED, features_of, learn, serving, topics_of

RERANKERS = [
    EARS(tolerance=0.5),
    Discount(),
    ExposureCharge(),
    Reorder(ledger="global"),
    LoggedRandomisation(share=0.8),
]
POLICIES = [
    *(registry.build("policy", name) for name in SERVED),
    *(Bandit(reranker=reranker) for reranker in RERANKERS),
]


async def story(folder: Path, policy=None) -> list[object]:
    """Return what users are shown while items come, change and go, and the service restarts."""
    shown: list[object] = []
    rows = features_of(60, seed=4)

    async def ask(service) -> None:
        asked = [
            RecommendationRequest(user="ann", k=4),
            RecommendationRequest(user="bob", k=4, exclude=["a", "item-30", "gone"]),
            RecommendationRequest(user="ann", k=2, exclude=["b"]),
            RecommendationRequest(user="eve", k=3, candidates=["c", "item-28", "d", "e"]),
            RecommendationRequest(user=f"new-{len(shown)}", k=4),
        ]
        for answer in await service.recommend(asked):
            if isinstance(answer, Exception):
                raise answer
            shown.append((list(answer.items), list(answer.scores)))
            await learn(service, answer, clicked_position=1 + len(shown) % 2)
        await service.exposure.catch_up(service.store)

    for step in range(3):
        async with serving(folder, policy, items=40) as service:
            topics = topics_of(60, service.topics)
            for turn in range(2):
                await ask(service)
                n = 40 + 2 * step + turn
                await service.put_items(
                    [
                        ItemChange(item=f"item-{n}", features=rows[n], topics=topics[n]),
                        ItemChange(item="d", features=rows[n - 9], topics=topics[1], merit=9.0),
                    ]
                )
                await service.remove_item(f"item-{27 + 2 * step + turn}")
                await ask(service)
    return shown


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_the_size_of_segments_makes_no_difference(
    policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = asyncio.run(story(tmp_path / "whole", policy))
    monkeypatch.setattr(segment, "SIZE", 7)
    monkeypatch.setattr(item_names, "PAGE", 4)
    assert asyncio.run(story(tmp_path / "divided", policy)) == whole


def test_a_service_that_starts_later_has_the_same_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(segment, "SIZE", 7)
        await story(tmp_path)
        async with serving(tmp_path) as service:
            started = service.catalogue.items.arrays()
            names = list(service.catalogue.rows)
            await service.put_items([ItemChange(item="b", features=np.ones(4))])
            await service.remove_item("c")
            changed = service.catalogue.items.arrays()
        assert len(names) == len(set(names)) == 40
        async with serving(tmp_path) as service:
            assert "c" not in service.catalogue.rows
            for name, column in service.catalogue.items.arrays().items():
                assert np.array_equal(column, changed[name]), name
        assert len(started["features"]) == len(changed["features"]) + 1 == 40

    asyncio.run(scenario())


def test_pages_of_a_store_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with serving(tmp_path) as service:
            rows, whole = service.catalogue.rows, service.catalogue.items.arrays()
        monkeypatch.setattr("faircascade.service.stores.sqlite.PAGE", 5)
        async with serving(tmp_path) as service:
            assert isinstance(service.store, SQLiteStore)
            assert service.catalogue.rows == rows
            for name, column in service.catalogue.items.arrays().items():
                assert np.array_equal(column, whole[name]), name

    asyncio.run(scenario())
