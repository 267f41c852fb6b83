"""Appearances and clicks by item, position and block of users, in memory that grows with what
occurs: a single long slate does not make room at its length for every item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.evaluation.audit.item_cells import ItemCells
from faircascade.fitting.key_sums import KeySums
from faircascade.types import Bools, Ints

DENSE_CELLS = 1 << 24
"""Items times positions times blocks for which there is always room."""
_FILLED = 4
"""Beyond that there is room for a position that so many cells for each appearance take."""
WHOLE_TABLE = 1 << 22
"""Items times positions up to which counts of a sample are an array, whatever is in them."""
_POSITIONS = 24
"""Bits of a key that are the position's; those above are the item's."""


class Strip(NamedTuple):
    """What was shown: items at their positions, (n, K)."""

    items: NDArray[np.int32]
    there: Bools
    clicks: Bools
    block: Ints
    """Of the user, (n,)."""


@dataclass(frozen=True, eq=False)
class PositionCounts:
    """One count by item, position and block."""

    first: NDArray[Any]
    """The first positions, (m, D, b)."""
    items: Ints
    """Items and positions where anything was shown further down, (c,)."""
    positions: Ints
    further: Any
    """Counts there, sparse, (c, b)."""
    k: int

    def __len__(self) -> int:
        return len(self.first)

    def of(self, blocks: Bools, items: int) -> Any:
        """Return what some blocks have, (items, K): an array, or `scipy.sparse.csr_array` where
        that would be large and nearly empty."""
        first = self.first @ blocks.astype(self.first.dtype)  # (m, D)
        m, dense = first.shape
        if dense == self.k and items == m:
            return first
        further = self.further @ blocks.astype(np.int64)  # (c,)
        if dense == self.k or items * self.k <= WHOLE_TABLE:
            found = np.zeros((items, self.k), dtype=first.dtype)
            found[:m, :dense] = first
            found[self.items, self.positions] = further
            return found
        from scipy.sparse import csr_array

        rows, columns = np.nonzero(first)
        at = np.append(rows, self.items), np.append(columns, self.positions)
        counts = np.append(first[rows, columns], further)
        return csr_array((counts, at), (items, self.k))


class PositionCounter:
    """Counts appearances and clicks of blocks of impressions."""

    def __init__(self, blocks: int) -> None:
        self.b, self.k = blocks, 0
        self._shown = np.zeros(0, dtype=np.int64)  # appearances at each position
        self._dense = 0
        self._first = [ItemCells((0, blocks), np.int32) for _ in range(2)]
        self._further = KeySums(2)

    def add(self, strip: Strip) -> None:
        """Count a strip."""
        there = strip.there
        k = there.shape[1]
        self._reach(k)
        self._shown[:k] += there.sum(axis=0)
        self._grow(int(strip.items.max(initial=-1)) + 1)
        dense = min(self._dense, k)
        some = Strip(strip.items[:, :dense], there[:, :dense], strip.clicks[:, :dense], strip.block)
        self._add_first(some)
        if dense < k and there[:, dense:].any():
            rows, columns = np.nonzero(there[:, dense:])
            at = columns + dense
            keys = self._keys(strip.items[rows, at].astype(np.int64), at, strip.block[rows])
            clicked = strip.clicks[rows, at].astype(np.int64)
            self._further.add(keys, np.stack([np.ones_like(clicked), clicked]))

    def _add_first(self, strip: Strip) -> None:
        items, there, clicks, block = strip
        dense = items.shape[1]
        cell = (items.astype(np.int64) * self._dense + np.arange(dense)) * self.b + block[:, None]
        shown, clicked = self._first
        shown.add(cell.reshape(-1) if there.all() else cell[there], 1)
        clicked.add(cell[clicks & there], 1)

    def counts(self, items: int, k: int) -> tuple[PositionCounts, PositionCounts]:
        """Return appearances and clicks of so many items and positions."""
        self._reach(k)
        self._grow(items)
        keys, values = self._further.keys, self._further.values
        cells, cell = np.unique(keys // self.b, return_inverse=True)
        at = cells >> _POSITIONS, cells & ((1 << _POSITIONS) - 1)
        from scipy.sparse import csr_array

        of: Iterator[PositionCounts] = (
            PositionCounts(
                first.array[:items],
                *at,
                csr_array((counts, (cell, keys % self.b)), (len(cells), self.b)),
                self.k,
            )
            for first, counts in zip(self._first, values, strict=True)
        )
        appearances, clicks = of
        return appearances, clicks

    def _reach(self, k: int) -> None:
        """Make room for longer slates in the totals."""
        if k > self.k:
            self._shown = np.append(self._shown, np.zeros(k - self.k, dtype=np.int64))
            self.k = k

    def _grow(self, items: int) -> None:
        """Make room for more items, and for positions that have become common."""
        rows = self._first[0].room(items)
        dense = self._room(rows)
        if rows == len(self._first[0].array):
            dense = max(dense, self._dense)  # what is there stays
            if dense == self._dense:
                return
        if dense < self._dense:
            self._move_further(dense)
        for cells in self._first:
            cells.reshape(rows, (dense, self.b))
        before, self._dense = self._dense, dense
        if dense > before:
            self._move_up()

    def _room(self, rows: int) -> int:
        """Return how many positions have room for so many items each."""
        cells = max(rows, 1) * self.b
        common = np.flatnonzero(self._shown * _FILLED >= cells)
        last = int(common[-1]) + 1 if len(common) else 0
        return min(self.k, max(last, DENSE_CELLS // cells))

    def _move_further(self, dense: int) -> None:
        """Put the counts of positions from `dense` on among those further down."""
        shown, clicked = (cells.array[:, dense:] for cells in self._first)
        items, columns, block = np.nonzero(shown)
        keys = self._keys(items, columns + dense, block)
        at = items, columns, block
        self._further.add(keys, np.stack([shown[at], clicked[at]]).astype(np.int64))

    def _move_up(self) -> None:
        """Put the counts of positions that have room now where the others are."""
        keys, values = self._further.take(lambda keys: self._position(keys) < self._dense)
        items, block = keys // self.b >> _POSITIONS, keys % self.b
        for cells, counts in zip(self._first, values, strict=True):
            cells.array[items, self._position(keys), block] += counts

    def _keys(self, items: Ints, positions: Ints, block: Ints) -> Ints:
        return ((items << _POSITIONS) | positions) * self.b + block

    def _position(self, keys: Ints) -> Ints:
        return (keys // self.b) & ((1 << _POSITIONS) - 1)
