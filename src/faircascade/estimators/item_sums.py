"""Sums by user and item, for estimators that know items by their ids rather than by features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Floats, Ids, Ints, Pool, Rows


@dataclass(kw_only=True, eq=False)
class ItemSums:
    """Sums of each user and item. Columns are found by item id and come as items are met."""

    ids: Ids
    """Items met so far as text (7 and "7" are the same), in ascending order, (m,)."""
    sums: Floats
    """One or several sums of each user and item, (sums, n, m)."""
    _columns: dict[Any, int] = field(default_factory=dict, init=False, repr=False)
    """Columns of items by the ids that they were asked for with: text is slow to sort."""
    _pool: tuple[Pool, Ints] | None = field(default=None, init=False, repr=False)
    """The last pool that was asked for, and the columns of its items."""

    @classmethod
    def start(cls, users: int, sums: int = 1) -> ItemSums:
        """Return a table of users without any items."""
        return cls(ids=np.empty(0, dtype="<U1"), sums=np.zeros((sums, users, 0)))

    def add(self, rows: Rows, items: Ids, *more: Floats) -> None:
        """Add numbers (n, K) to each sum, for items (n, K) of some users; each item once a user."""
        users = np.arange(self.sums.shape[1])[rows]
        items = np.asarray(items)
        flat = (np.asarray(numbers).reshape(-1) for numbers in more)
        self.add_pairs(np.repeat(users, items.shape[1]), items.reshape(-1), *flat)

    def add_pairs(self, users: Ints, items: Ids, *more: Floats) -> None:
        """Add numbers (r,) to each sum, for pairs of user and item, in their order."""
        columns = self._columns_of(items)
        for total, numbers in zip(self.sums, more, strict=True):
            np.add.at(total, (users, columns), numbers)

    def of(self, rows: Rows, items: Ids) -> Floats:
        """Return the sums of some users and items (p,), 0 for items not met yet, (sums, n, p)."""
        return self._at(rows, self._find(items))

    def of_pool(self, rows: Rows, pool: Pool) -> Floats:
        """Return the sums of some users and the items of a pool, (sums, n, p)."""
        if self._pool is None or self._pool[0] is not pool:
            self._pool = pool, self._find(pool.items.ids[pool.rows])
        return self._at(rows, self._pool[1])

    def _at(self, rows: Rows, columns: Ints) -> Floats:
        """Return the sums in some columns; -1 stands for an item not met yet."""
        if not len(self.ids):
            return np.zeros((*self.sums[:, rows].shape[:2], len(columns)))
        found: Floats = self.sums[:, rows][:, :, columns]
        found[:, :, columns < 0] = 0.0
        return found

    def _find(self, items: Ids) -> Ints:
        """Return the columns of items, -1 for those not met yet."""
        columns = np.full(len(items), -1)
        names = np.asarray(items).astype(str)
        _, here, there = np.intersect1d(self.ids, names, return_indices=True)
        columns[there] = here
        return columns

    def _columns_of(self, items: Ids) -> Ints:
        """Return the columns of items, which get one if they have none."""
        wanted = items.tolist()
        try:
            return np.array([self._columns[item] for item in wanted], dtype=np.int64)
        except KeyError:
            names = items.astype(str)
            self._meet(np.unique(names))
            columns = np.searchsorted(self.ids, names)
            self._columns.update(zip(wanted, columns.tolist(), strict=True))
            return np.asarray(columns)

    def _meet(self, items: Ids) -> None:
        if not np.isin(items, self.ids).all():
            ids = np.union1d(self.ids, items) if len(self.ids) else items
            self.sums, self.ids = self._spread(ids), ids
            self._columns, self._pool = {}, None

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
