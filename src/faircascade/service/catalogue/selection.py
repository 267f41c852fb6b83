"""The items of a catalogue that a filter lets through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faircascade.service.catalogue.pieces import Piece
from faircascade.types import Bools, Ints


@dataclass(frozen=True, eq=False)
class Selection:
    """Some items of a catalogue. Never changed."""

    key: str
    """Of the filter."""
    allowed: Bools
    """Which rows of the catalogue are meant, (m,)."""
    make: Callable[[], tuple[Piece, ...]]
    """Returns them segment by segment, without segments that have none. They may take much more
    memory than the rest: whoever scores them lets go of them then."""

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.allowed))

    @property
    def rows(self) -> Ints:
        """Their rows, ascending, made anew with each call."""
        return np.flatnonzero(self.allowed)

    def of(self, rows: Ints) -> Ints:
        """Return those of some rows that are meant."""
        return rows[self.allowed[rows]]
