"""What has an attraction of its own: an item, or an item in a context such as a query."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log.impressions import NOTHING, Impressions
from faircascade.types import Ints

_ITEMS = 32
"""Bits of a key that are the item's."""


class Coding(Protocol):
    """Takes impressions to entries, block after block."""

    of_items: bool
    """True if an entry is an item, or an item in a context."""

    def __len__(self) -> int:
        """Return how many entries there are so far."""

    def entries_of(self, block: Impressions) -> Ints:
        """Return the code of the entry at each position, NOTHING where nothing stood, (n, K)."""


class Entries:
    """Codes of items, or of (context, item) pairs in the order in which they appear."""

    of_items = True

    def __init__(self, by_context: bool) -> None:
        self.by_context = by_context
        self._codes: dict[int, int] = {}
        self._keys: list[int] = []
        self._items = 0

    def __len__(self) -> int:
        return len(self._keys) if self.by_context else self._items

    def entries_of(self, block: Impressions) -> Ints:
        """Return the codes of what was shown, (n, K)."""
        return self.of(block.items, block.contexts)

    def of(self, items: NDArray[np.int32], contexts: NDArray[np.int32] | None) -> Ints:
        """Return the codes of items (n, K) shown in contexts (n,); NOTHING where nothing stood."""
        if not self.by_context or contexts is None:
            self._items = max(self._items, int(items.max(initial=-1)) + 1)
            return items.astype(np.int64)
        keys = (contexts.astype(np.int64)[:, None] << _ITEMS) | np.maximum(items, 0)
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        there = items.reshape(-1) != NOTHING
        known = np.zeros(len(distinct), dtype=bool)
        known[inverse.reshape(-1)[there]] = True
        codes = np.full(len(distinct), NOTHING, dtype=np.int64)
        for place in np.argsort(first, kind="stable"):
            if known[place]:
                codes[place] = self._code_of(int(distinct[place]))
        return np.where(items == NOTHING, NOTHING, codes[inverse.reshape(items.shape)])

    def _code_of(self, key: int) -> int:
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self._keys)
            self._keys.append(key)
        return code

    @property
    def items(self) -> Ints:
        """Code of the item of each entry."""
        if not self.by_context:
            return np.arange(self._items)
        return np.array(self._keys, dtype=np.int64) & ((1 << _ITEMS) - 1)

    @property
    def contexts(self) -> Ints | None:
        """Code of the context of each entry; None where there are none."""
        return np.array(self._keys, dtype=np.int64) >> _ITEMS if self.by_context else None
