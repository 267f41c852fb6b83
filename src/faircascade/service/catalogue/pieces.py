"""Parts of a catalogue that are scored one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from faircascade.service.catalogue.segment import Segment
from faircascade.types import Ints

_NO_COLUMNS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Items of one segment of a catalogue: all of them, or some."""

    segment: Segment
    """Holds them; they are its columns."""
    first_row: int
    """Row of the catalogue at which the segment that they are of begins."""
    rows: NDArray[np.int32] | None = None
    """Their rows in that segment, ascending; None: as they stand here."""
    left_out: Ints = field(default_factory=lambda: _NO_COLUMNS)
    """Columns that are not meant, ascending."""

    def __len__(self) -> int:
        return len(self.segment) - len(self.left_out)

    def rows_of(self, columns: Ints) -> Ints:
        """Return the rows of the catalogue of some columns."""
        within = columns if self.rows is None else self.rows[columns].astype(np.int64)
        return self.first_row + within

    def without(self, rows: Ints) -> Ints:
        """Return the columns that are left out if these rows of the catalogue, ascending, are."""
        if not len(rows):
            return self.left_out
        if self.rows is None:
            size = len(self.segment)
            begin, end = np.searchsorted(rows, [self.first_row, self.first_row + size])
            columns = rows[begin:end] - self.first_row
        else:
            columns = np.flatnonzero(np.isin(self.rows, rows - self.first_row, assume_unique=True))
        return np.union1d(columns, self.left_out) if len(self.left_out) else columns
