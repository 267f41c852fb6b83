"""Where the stores under test keep their data."""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

from faircascade.service.stores.base import Store, StoreShape
from faircascade.testing.stores import SHAPE

DAY = 24 * 3600.0


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


class PostgreSQLLocation(StoreLocation):
    """A schema of its own on a server."""

    expires_when_told = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.schema = f"test_{uuid.uuid4().hex}"

    def store(self, **options: Any) -> Any:
        from faircascade.service.stores.postgresql import PostgreSQLStore

        # Much patience: a busy machine must not make a store send things twice.
        return PostgreSQLStore(self.url, **{"schema": self.schema, "patience": 60.0, **options})
