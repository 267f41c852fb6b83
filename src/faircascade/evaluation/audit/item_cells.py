"""Whole numbers for each item and some further axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Ints


class ItemCells:
    """Integers for each item and some further axes; the number of items grows."""

    def __init__(self, shape: tuple[int, ...], kind: type[np.signedinteger[Any]]) -> None:
        self.array: NDArray[Any] = np.zeros((0, *shape), dtype=kind)

    def room(self, items: int) -> int:
        """Return for how many items there is to be room if there are so many."""
        rows = len(self.array)
        return rows if items <= rows else max(items, 2 * rows)

    def grow(self, items: int, shape: tuple[int, ...]) -> None:
        """Make room for more items, or longer axes."""
        if items > len(self.array) or shape != self.array.shape[1:]:
            self.reshape(self.room(items), shape)

    def reshape(self, rows: int, shape: tuple[int, ...]) -> None:
        """Keep what fits into so many rows and these axes."""
        old = self.array
        self.array = np.zeros((rows, *shape), dtype=old.dtype)
        both = tuple(slice(min(n, o)) for n, o in zip(self.array.shape, old.shape, strict=True))
        self.array[both] = old[both]

    def add(self, cells: Ints, more: Any) -> None:
        """Add to flat cells, which may repeat."""
        np.add.at(self.array.reshape(-1), cells, more)
