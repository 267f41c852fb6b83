"""Impressions and clicks by entry, position and distance to the last click."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.fitting.key_sums import KeySums
from faircascade.types import Bools, Floats, Ints

MOST_CELLS = 1 << 26
"""Cells of a table at most: 1.5 GiB."""
_BITS = 32
"""Of a key that are the place's; those above are the entry's."""
_PLACE = (1 << _BITS) - 1
_SPARSE, _SMALL = 4, 1 << 16
"""Cells for each position shown above which these are sorted rather than counted, and how many are
counted all the same."""


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
    """Counts that PBM, UBM and the cascade need no more than, of the cells that occur.

    A place is a position k = 0, 1, ... and the distance d = 1, ..., k + 1 to the last click above
    (k + 1 without one); places are numbered k (k + 1) / 2 + d - 1, whatever the longest slate is.
    """

    def __init__(self, entries: int = 0, k: int = 0) -> None:
        self.entries, self.k = entries, k
        self._counts = KeySums(2)

    def __len__(self) -> int:
        return self.entries

    @property
    def places(self) -> int:
        """How many places there are."""
        return self.k * (self.k + 1) // 2

    def add(self, entries: Ints, clicks: Bools, present: Bools, total: int) -> None:
        """Count slates of entries (n, K); `total` is how many entries there are."""
        self.grow(total, entries.shape[1])
        self._counts.add(*_counted(entries[present], places_of(clicks)[present], clicks[present]))
        if len(self._counts.keys) > MOST_CELLS:
            raise DataError(
                f"there must be at most {MOST_CELLS:,} different items (or pairs of context and "
                "item), positions and distances to the last click together: fit a part of the log"
            )

    def grow(self, entries: int, k: int) -> None:
        """Say that there are at least so many entries and positions."""
        self.entries, self.k = max(entries, self.entries), max(k, self.k)

    def joined(self, other: ClickTable) -> ClickTable:
        """Return the sum of two tables."""
        both = ClickTable(max(len(self), len(other)), max(self.k, other.k))
        for table in (self, other):
            both._counts.add(table._counts.keys, table._counts.values)
        return both

    @property
    def totals(self) -> Ints:
        """Impressions and clicks of each entry, (2, entries)."""
        cells = self.by_place()
        both = (cells.impressions, cells.clicks)
        return np.stack([cells.of_entries(each, len(self)) for each in both]).astype(np.int64)

    def by_place(self) -> Cells:
        """Return the cells by position and distance."""
        return _cells(self._counts)

    def by_position(self) -> Cells:
        """Return the cells by position alone."""
        keys, places = self._counts.keys, self._places
        found = KeySums(2)
        found.add(keys - places + positions_of(places), self._counts.values)
        return _cells(found)

    def before_a_click(self) -> Cells:
        """Return the cells of positions with no click above."""
        cells = self.by_place()
        position = positions_of(cells.places)
        there = cells.places == position * (position + 1) // 2 + position
        kept: Any = (array[there] for array in cells)
        found = Cells(*kept)
        return found._replace(places=positions_of(found.places))

    @property
    def _places(self) -> Ints:
        places: Ints = self._counts.keys & _PLACE
        return places


def positions_of(places: Ints) -> Ints:
    """Return the position of each place, from 0 on.

    >>> positions_of(np.arange(7)).tolist()
    [0, 1, 1, 2, 2, 2, 3]
    """
    return np.asarray((np.sqrt(8.0 * places + 1.0) - 1.0) / 2.0).astype(np.int64)


def places_of(clicks: Bools) -> Ints:
    """Return the place of each position of slates, (n, K)."""
    n, k = clicks.shape
    places, last = np.empty((n, k), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for position in range(k):
        places[:, position] = position * (position + 1) // 2 + position - last
        last = np.where(clicks[:, position], position + 1, last)
    return places


def _counted(entries: Ints, places: Ints, clicks: Bools) -> tuple[Ints, Ints]:
    """Return keys of cells, and impressions and clicks there, (2, c)."""
    width, rows = int(places.max(initial=0)) + 1, int(entries.max(initial=-1)) + 1
    if rows * width > max(_SPARSE * len(entries), _SMALL):
        return (entries << _BITS) | places, np.stack([np.ones_like(places), clicks])
    cell = entries * width + places
    shown = np.bincount(cell, minlength=rows * width)
    there = np.flatnonzero(shown)
    clicked = np.bincount(cell[clicks], minlength=rows * width)
    counts = np.stack([shown[there], clicked[there]])
    keys: Ints = (there // width << _BITS) | (there % width)
    return keys, counts


def _cells(counts: KeySums) -> Cells:
    shown, clicks = counts.values.astype(np.float64)
    return Cells(counts.keys >> _BITS, counts.keys & _PLACE, shown, clicks)
