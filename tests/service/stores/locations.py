"""Where the stores under test keep their data, and short ways to use a store."""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from faircascade.service.stores.base import Impression, ItemPatch, ModelUpdate, Store, StoreShape
from faircascade.types import Floats

SHAPE = StoreShape(dim=3, sums=5)
DAY = 24 * 3600.0
START = time.time()


class StoreLocation(ABC):
    """An empty place; a store that is closed finds there what it kept."""

    expires_when_told: ClassVar[bool]
    """True if impressions go by the time they were handed out at, False if by a clock."""

    @abstractmethod
    def store(self) -> Store:
        """Return a store of this place, not open yet."""

    def tell(self, story: Callable[[Any], Awaitable[None]], shape: StoreShape = SHAPE) -> None:
        """Open a store, let the story happen, close it."""

        async def all_of_it() -> None:
            store = self.store()
            await store.open(shape)
            try:
                await story(store)
            finally:
                await store.close()

        asyncio.run(all_of_it())


class SQLiteLocation(StoreLocation):
    """A folder."""

    expires_when_told = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid.uuid4().hex}.db"

    def store(self) -> Store:
        from faircascade.service.stores.sqlite import SQLiteStore

        return SQLiteStore(self.path)


class RedisLocation(StoreLocation):
    """A prefix of its own on a server."""

    expires_when_told = False

    def __init__(self, url: str) -> None:
        self.url = url
        self.prefix = f"test-{uuid.uuid4().hex}"

    def store(self, **options: Any) -> Any:
        from faircascade.service.stores.redis import RedisStore

        # Much patience: a busy machine must not make a store send things twice.
        defaults = {"prefix": self.prefix, "ttl": DAY, "patience": 60.0}
        return RedisStore(self.url, **{**defaults, **options})


def a_list(
    user: str, slots: Sequence[int] = (0, 1), *, round: int = 1, dim: int = SHAPE.dim
) -> Impression:
    """Return a list to be recorded, with features of its own."""
    rng = np.random.default_rng([round, len(user), *slots])
    return Impression(
        id="",
        user=user,
        slots=np.array(slots, dtype=np.int32),
        features=rng.normal(size=(len(slots), dim)),
        round=round,
        time=START + round,
    )


def a_lesson(
    impression: Impression,
    clicked: int = 0,
    *,
    examined: int | None = None,
    increments: Floats | None = None,
) -> ModelUpdate:
    """Return an answer; without increments it adds one to every sum."""
    return ModelUpdate(
        impression=impression,
        clicked=clicked,
        examined=clicked or len(impression.slots) if examined is None else examined,
        increments=np.ones(SHAPE.sums) if increments is None else increments,
        time=impression.time + 1,
    )


def an_item(name: str, **values: Any) -> ItemPatch:
    """Return an item to be put into the catalogue, with features at least."""
    features = np.random.default_rng(len(name)).normal(size=SHAPE.dim)
    return ItemPatch(**{"id": name, "features": features, **values})


async def hand_out(store: Store, user: str, lists: int = 1) -> list[Impression]:
    """Record lists of a user, and return them as the store has them."""
    known = await store.begin([user] * lists)
    new = [a_list(user, round=int(number)) for number in known.rounds]
    kept = await store.impressions(await store.record(new, units=None))
    return [impression for impression in kept if impression is not None]


async def sums_of(store: Store, user: str) -> Floats:
    """Return the sums of somebody who is known."""
    person = await store.person(user, impressions=0)
    assert person is not None
    return person.sums


async def all_events(store: Store) -> list[tuple[float, list[int], int | None]]:
    """Return all events, a few at a time."""
    found: list[Any] = []
    cursor = ""
    while some := await store.events(cursor, 100):
        cursor = some[-1][0]
        found += [(event.time, event.slots.tolist(), event.clicked) for _, event in some]
    return found
