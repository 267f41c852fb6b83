"""The items of a catalogue that a filter lets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from faircascade.service.catalogue.pieces import Piece
from faircascade.types import Bools, Ints

Bits = NDArray[np.uint8]
"""Which items are meant, eight to a byte; each segment begins with a new one."""


def bools_of(bits: Bits, size: int) -> Bools:
    """Return which of so many items are meant, (n,)."""
    return np.unpackbits(bits, count=size).view(np.bool_)


@dataclass(frozen=True, eq=False)
class Selection:
    """Some items of a catalogue, a bit for each that there is. Never changed."""

    key: str
    """Of the filter."""
    bits: Bits
    first_rows: Ints
    """Row at which each segment begins, and the number of rows, (s + 1,)."""
    make: Callable[[], tuple[Piece, ...]]
    """Returns them segment by segment, without segments that have none. They may take much more
    memory than the rest: whoever scores them lets go of them then."""

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.allowed))

    @cached_property
    def first_bytes(self) -> Ints:
        """Byte at which each segment begins, and the number of bytes, (s + 1,)."""
        sizes = (np.diff(self.first_rows) + 7) // 8
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def parts(self) -> list[Bits]:
        """The bits of each segment."""
        return np.split(self.bits, self.first_bytes)[1:-1]

    @property
    def allowed(self) -> Bools:
        """Which rows of the catalogue are meant, made anew with each call, (m,)."""
        sizes = np.diff(self.first_rows).tolist()
        return np.concatenate([np.empty(0, bool), *map(bools_of, self.parts, sizes)])

    @property
    def rows(self) -> Ints:
        """Their rows, ascending, made anew with each call."""
        return np.flatnonzero(self.allowed)

    def of(self, rows: Ints) -> Ints:
        """Return those of some rows that are meant."""
        return rows[self.has(rows)]

    def has(self, rows: Ints) -> Bools:
        """Return which of some rows are meant."""
        segments = np.searchsorted(self.first_rows, rows, side="right") - 1
        places = rows - self.first_rows[segments]
        found = self.bits[self.first_bytes[segments] + places // 8] >> (7 - places % 8) & 1
        return np.asarray(found, dtype=bool)
