"""Sums by user and item, for estimators that know items by their ids rather than by features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Floats, Ids, Rows


@dataclass(kw_only=True, eq=False)
class ItemSums:
    """Sums of each user and item. Columns are found by item id and come as items are met."""

    ids: Ids
    """Items met so far as text (7 and "7" are the same), in ascending order, (m,)."""
    sums: Floats
    """One or several sums of each user and item, (sums, n, m)."""

    @classmethod
    def start(cls, users: int, sums: int = 1) -> ItemSums:
        """Return a table of users without any items."""
        return cls(ids=np.empty(0, dtype="<U1"), sums=np.zeros((sums, users, 0)))

    def add(self, rows: Rows, items: Ids, *more: Floats) -> None:
        """Add numbers (n, K) to each sum, for items (n, K) of some users; each item once a user."""
        items = np.asarray(items).astype(str)
        self._meet(np.unique(items))
        users = np.arange(self.sums.shape[1])[rows][:, None]
        columns = np.searchsorted(self.ids, items)
        for total, numbers in zip(self.sums, more, strict=True):
            total[users, columns] += numbers

    def of(self, rows: Rows, items: Ids) -> Floats:
        """Return the sums of some users and items (p,), 0 for items not met yet, (sums, n, p)."""
        found = np.zeros((*self.sums[:, rows].shape[:2], len(items)))
        names = np.asarray(items).astype(str)
        _, here, there = np.intersect1d(self.ids, names, return_indices=True)
        found[:, :, there] = self.sums[:, rows][:, :, here]
        return found

    def _meet(self, items: Ids) -> None:
        if not np.isin(items, self.ids).all():
            ids = np.union1d(self.ids, items) if len(self.ids) else items
            self.sums, self.ids = self._spread(ids), ids

    def _spread(self, ids: Ids) -> Floats:
        """Return the sums with a column for each of some items, those met so far among them."""
        sums = np.zeros((*self.sums.shape[:2], len(ids)))
        if len(self.ids):
            sums[:, :, np.searchsorted(ids, self.ids)] = self.sums
        return sums

    def take(self, rows: Rows) -> ItemSums:
        """Return a copy of some users."""
        return ItemSums(ids=self.ids, sums=self.sums[:, rows].copy())

    @classmethod
    def join(cls, tables: Sequence[ItemSums]) -> ItemSums:
        """Return one table of the users of several, in their order."""
        met = [table.ids for table in tables if len(table.ids)] or [tables[0].ids]
        ids = reduce(np.union1d, met)
        return cls(ids=ids, sums=np.concatenate([table._spread(ids) for table in tables], axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the table as arrays, to be stored."""
        return {"items": self.ids, "item_sums": self.sums}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]]) -> ItemSums:
        """Return the table that `arrays` described."""
        return cls(ids=arrays["items"], sums=arrays["item_sums"])
