"""Impressions and clicks by entry, position and distance to the last click."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.types import Bools, Floats, Ints

MOST_CELLS = 1 << 27
"""Numbers in a table at most."""


def totals(places: NDArray[Any], values: Floats, size: int = 0) -> Floats:
    """Add up values by the number of their place, (size,)."""
    return np.asarray(np.bincount(places, values, minlength=size), dtype=np.float64)


class Cells(NamedTuple):
    """Where anything was shown: one row for an entry and a place, (c,) each."""

    entries: Ints
    places: Ints
    """A position, or a position and a distance."""
    impressions: Floats
    clicks: Floats

    def used(self) -> Cells:
        """Return the cells with impressions."""
        there = self.impressions > 0
        kept: Any = (array[there] for array in self)
        return Cells(*kept)

    def of_entries(self, values: Floats, entries: int) -> Floats:
        """Add up values of cells by entry, (entries,)."""
        return totals(self.entries, values, entries)

    def of_places(self, values: Floats, places: int) -> Floats:
        """Add up values of cells by place, (places,)."""
        return totals(self.places, values, places)


class ClickTable:
    """Counts that PBM, UBM and the cascade need no more than.

    A place is a position k = 0, 1, ... and the distance d = 1, ..., k + 1 to the last click above
    (k + 1 without one); places are numbered k (k + 1) / 2 + d - 1, whatever the longest slate is.
    """

    def __init__(self, entries: int = 0, k: int = 0) -> None:
        self.k = k
        self.counts = np.zeros((2, entries, _places(k)), dtype=np.int64)
        """Impressions and clicks, (2, entries, places)."""

    def __len__(self) -> int:
        return int(self.counts.shape[1])

    def add(self, entries: Ints, clicks: Bools, present: Bools, total: int) -> None:
        """Count slates of entries (n, K); `total` is how many entries there are."""
        k = entries.shape[1]
        self.grow(total, k)
        places = places_of(clicks)
        width = self.counts.shape[2]
        cell = entries[present] * width + places[present]
        size = len(self) * width
        for kind, chosen in enumerate((cell, cell[clicks[present]])):
            self.counts[kind] += np.bincount(chosen, minlength=size).reshape(len(self), width)

    def grow(self, entries: int, k: int) -> None:
        """Make room for more entries and positions."""
        old = self.counts
        rows, k = max(entries, old.shape[1]), max(k, self.k)
        if (rows, k) == (old.shape[1], self.k):
            return
        if 2 * rows * _places(k) > MOST_CELLS:
            most = MOST_CELLS // (2 * _places(k))
            raise DataError(
                f"there must be at most {most:,} items (or pairs of context and item) with slates "
                f"of {k}, got {rows:,}: fit a part of the log"
            )
        self.k = k
        self.counts = np.zeros((2, rows, _places(k)), dtype=np.int64)
        self.counts[:, : old.shape[1], : old.shape[2]] = old

    def joined(self, other: ClickTable) -> ClickTable:
        """Return the sum of two tables."""
        both = ClickTable(max(len(self), len(other)), max(self.k, other.k))
        for table in (self, other):
            _, rows, width = table.counts.shape
            both.counts[:, :rows, :width] += table.counts
        return both

    @property
    def positions(self) -> Ints:
        """The position of each place, from 0 on."""
        return np.repeat(np.arange(self.k), np.arange(1, self.k + 1))

    def by_place(self) -> Cells:
        """Return the cells by position and distance."""
        return _cells(self.counts)

    def by_position(self) -> Cells:
        """Return the cells by position alone."""
        starts = np.arange(self.k) * np.arange(1, self.k + 1) // 2
        return _cells(np.add.reduceat(self.counts, starts, axis=2))

    def before_a_click(self) -> Cells:
        """Return the cells of positions with no click above."""
        last = np.arange(1, self.k + 1) * np.arange(2, self.k + 2) // 2 - 1
        return _cells(self.counts[:, :, last])


def places_of(clicks: Bools) -> Ints:
    """Return the place of each position of slates, (n, K)."""
    n, k = clicks.shape
    places, last = np.empty((n, k), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for position in range(k):
        places[:, position] = position * (position + 1) // 2 + position - last
        last = np.where(clicks[:, position], position + 1, last)
    return places


def _places(k: int) -> int:
    return k * (k + 1) // 2


def _cells(counts: Ints) -> Cells:
    entries, places = np.nonzero(counts[0])
    here = counts[:, entries, places].astype(np.float64)
    return Cells(entries, places, here[0], here[1])
