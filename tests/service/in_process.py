"""A service without HTTP for tests: a small catalogue, a store in a folder, a clock to turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faircascade import registry
from faircascade.policies import EALinUCB, Policy
from faircascade.service.bootstrap import why_not_served
from faircascade.service.messages import (
    FeedbackReceipt,
    FeedbackRequest,
    ItemChange,
    Recommendation,
    RecommendationRequest,
)
from faircascade.service.service import Service
from faircascade.service.settings import ServiceSettings
from faircascade.service.stores.base import Store
from faircascade.service.stores.sqlite import SQLiteStore

DIM = 4
TOPICS = 3
SERVED = [
    name
    for name in registry.components("policy")
    if not why_not_served(registry.build("policy", name))
]
"""Names of the policies that can be served."""


@dataclass
class Clock:
    """Time that stands still until it is turned."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def features_of(items: int, dim: int = DIM, seed: int = 0) -> np.ndarray:
    """Return feature rows of length 1."""
    rows = np.random.default_rng(seed).normal(size=(items, dim))
    return rows / np.linalg.norm(rows, axis=1)[:, None]


def topics_of(items: int, topics: int = TOPICS) -> np.ndarray:
    """Return how far items cover topics, some of them fully or not at all."""
    return np.random.default_rng(topics).uniform(-0.5, 1.5, (items, topics)).clip(0.0, 1.0)


def topics_for(policy: Policy | None) -> int:
    """Return how many topics the items of a policy have: none unless it needs them."""
    return TOPICS if policy is not None and policy.conditional else 0


def changes(items: int = 12, dim: int = DIM, topics: int = 0) -> list[ItemChange]:
    """Return items a, b, c, ... of two groups and three suppliers."""
    covered = topics_of(items, topics)
    return [
        ItemChange(
            item=chr(ord("a") + n) if n < 26 else f"item-{n}",
            features=row,
            merit=1.0 + n % 3,
            group=("jazz", "pop")[n % 2],
            supplier=("blue", "red", "green")[n % 3],
            topics=covered[n],
        )
        for n, row in enumerate(features_of(items, dim))
    ]


@asynccontextmanager
async def serving(
    folder: Path | str,
    policy: Policy | None = None,
    *,
    store: Store | None = None,
    settings: ServiceSettings | None = None,
    clock: Clock | None = None,
    elapsed: Clock | None = None,
    items: int = 12,
    seed: int = 0,
) -> AsyncIterator[Service]:
    """Start a service on a store in a folder, with items if it has none.

    As much time elapses as the clock says, unless told otherwise.
    """
    clock = clock or Clock()
    Path(folder).mkdir(parents=True, exist_ok=True)
    service = Service(
        policy or EALinUCB(weight="log", gamma=0.01),
        store or SQLiteStore(Path(folder) / "store.db"),
        dim=DIM,
        topics=topics_for(policy),
        settings=settings,
        seed=seed,
        clock=clock,
        elapsed=elapsed or clock,
    )
    await service.start()
    try:
        if not len(service.catalogue):
            await service.put_items(changes(items, topics=service.topics))
        yield service
    finally:
        await service.stop()


async def recommend(service: Service, user: str = "ann", k: int = 3, **options) -> Recommendation:
    """Ask for one slate; a refusal is raised."""
    (answer,) = await service.recommend([RecommendationRequest(user=user, k=k, **options)])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def learn(service: Service, impression: str | Recommendation, **answer) -> FeedbackReceipt:
    """Answer one slate; a refusal is raised."""
    name = impression if isinstance(impression, str) else impression.impression_id
    (receipt,) = await service.learn([FeedbackRequest(impression_id=name, **answer)])
    if isinstance(receipt, Exception):
        raise receipt
    return receipt
