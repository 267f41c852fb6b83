"""One file that two stores share, as two processes do."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from faircascade.service.stores.base import Store, StoreShape
from faircascade.service.stores.file_share import FileShare
from faircascade.service.stores.sqlite import SQLiteStore
from tests.service.stores.locations import StoreLocation


class TwoStores:
    """Whatever is asked for, one of the stores does it, and the other one the next time."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self.turns = cycle(stores)

    def __getattr__(self, name: str) -> Any:
        return getattr(next(self.turns), name)

    async def stored_shape(self) -> StoreShape | None:
        return await self.stores[0].stored_shape()

    async def open(self, shape: StoreShape) -> None:
        await self.stores[0].open(shape)
        try:
            await self.stores[1].open(shape)
        except BaseException:
            await self.stores[0].close()
            raise

    async def widen(self, sums: int) -> None:
        for store in self.stores:
            await store.widen(sums)

    def log_changes(self, on: bool) -> None:
        for store in self.stores:
            store.log_changes(on)

    async def close(self) -> None:
        for store in self.stores:
            await store.close()


class SharedLocation(StoreLocation):
    """A folder."""

    expires_when_told = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{uuid.uuid4().hex}.db"
        share = FileShare.make(self.path)
        assert share is not None
        self.share = share

    def one(self) -> SQLiteStore:
        store = SQLiteStore(self.path)
        store.join(self.share.files)
        return store

    def store(self) -> Any:
        return TwoStores(self.one(), self.one())

    def tell_both(self, story: Callable[[Any, Any], Awaitable[None]], shape: StoreShape) -> None:
        """Open two stores, let the story happen, close them."""

        async def all_of_it() -> None:
            both = self.store()
            await both.open(shape)
            try:
                await story(*both.stores)
            finally:
                await both.close()

        asyncio.run(all_of_it())
