"""Impressions: slates that were shown, with their clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Bools, Floats, Ints

Propensity = Literal["slate", "cascade", "item_position"]
"""Probability of the whole slate, of the items down to a position, of an item at its position."""
NOTHING = -1
"""Code of an item where a position is empty, or nothing is known of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Impressions:
    """A block of impressions; users and items are codes, rows of the ids of their log."""

    users: NDArray[np.int32]
    """Who saw it, (n,)."""
    items: NDArray[np.int32]
    """What stood at each position, -1 where nothing did or nothing is known, (n, K)."""
    clicks: Bools
    """What was clicked, (n, K)."""
    shown: NDArray[np.int32]
    """How many positions were on the screen, from the top, (n,)."""
    times: Floats | None = None
    """Seconds since 1970, or any number that grows with time, (n,)."""
    contexts: NDArray[np.int32] | None = None
    """What it was shown for, such as a query: codes, (n,)."""
    slate: Floats | None = None
    """Probability of the slate under the policy that showed it, NaN where unknown, (n,)."""
    cascade: Floats | None = None
    """Of the items down to each position, in this order, (n, K)."""
    item_position: Floats | None = None
    """Of each item at its position, whatever stood elsewhere, (n, K)."""
    answered: Bools | None = None
    """Whether feedback came, (n,); where none did, nothing counts as clicked."""
    first: int = 0
    """Number of the first impression in the log, from 0 on."""

    def __len__(self) -> int:
        return len(self.items)

    @property
    def k(self) -> int:
        """Positions, K."""
        return int(self.items.shape[1])

    def take(self, rows: Ints | Bools | slice) -> Impressions:
        """Return some of them; `first` is then that of the block."""
        return self._changed(_ARRAYS, lambda name, array: array[rows])

    def widened(self, k: int) -> Impressions:
        """Return the same with k positions, the further ones empty."""
        if k == self.k:
            return self
        return self._changed(_BLANK, lambda name, array: _wide(array, k, _BLANK[name]))

    @classmethod
    def join(cls, parts: Sequence[Impressions]) -> Impressions:
        """Put blocks one after the other; what one of them does not know, none does."""
        if not parts:
            raise ValueError("there must be at least one block of impressions")
        k = max(part.k for part in parts)
        wide = [part.widened(k) for part in parts]
        arrays: dict[str, Any] = {}
        for name in _ARRAYS:
            some = [part._array(name) for part in wide]
            known = [array for array in some if array is not None]
            arrays[name] = np.concatenate(known) if len(known) == len(some) else None
        return replace(wide[0], **arrays)

    def _array(self, name: str) -> Any:
        return getattr(self, name)

    def _changed(self, names: Iterable[str], change: Callable[[str, Any], Any]) -> Impressions:
        """Return the same with some arrays changed, where they are there."""
        arrays = {name: self._array(name) for name in names}
        known: dict[str, Any] = {n: change(n, a) for n, a in arrays.items() if a is not None}
        return replace(self, **known)


_BLANK: dict[str, float] = {
    "items": NOTHING,
    "clicks": 0,
    "cascade": np.nan,
    "item_position": np.nan,
}
"""Arrays with a column for each position, and what stands where there is none."""
_ARRAYS = ("users", "shown", "times", "contexts", "slate", "answered", *_BLANK)


def _wide(array: Any, k: int, blank: float) -> Any:
    wide = np.full((len(array), k), blank, dtype=array.dtype)
    wide[:, : array.shape[1]] = array
    return wide
