"""Sums by key, of the keys that occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.types import Ints

_PENDING = 1 << 20
"""Numbers that wait before equal keys are put together, or as many as there are keys."""


class KeySums:
    """Several whole numbers for each key; memory grows with the keys that were added.

    >>> found = KeySums(2)
    >>> found.add(np.array([7, 3, 7]), np.array([[1, 1, 1], [0, 1, 1]]))
    >>> found.keys.tolist(), found.values.tolist()
    ([3, 7], [[1, 2], [1, 1]])
    """

    def __init__(self, sums: int) -> None:
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._values: Ints = np.zeros((sums, 0), dtype=np.int64)
        self._waiting: list[tuple[Ints, Ints]] = []
        self._size = 0

    def add(self, keys: Ints, values: Ints) -> None:
        """Add values (sums, n) to keys (n,), which may repeat."""
        keys, values = _together(keys, values)
        self._waiting.append((keys, values))
        self._size += len(keys)
        if self._size > max(_PENDING, len(self._keys)):
            self._settle()

    def take(self, chosen: Any) -> tuple[Ints, Ints]:
        """Remove the keys for which `chosen` of all keys is true, and return them with values."""
        there = chosen(self.keys)
        out = self._keys[there], self._values[:, there]
        self._keys, self._values = self._keys[~there], self._values[:, ~there]
        return out

    @property
    def keys(self) -> Ints:
        """The keys that occur, ascending, (c,)."""
        self._settle()
        return self._keys

    @property
    def values(self) -> Ints:
        """Their sums, (sums, c)."""
        self._settle()
        return self._values

    def _settle(self) -> None:
        if not self._waiting:
            return
        parts = [(self._keys, self._values), *self._waiting]
        keys = np.concatenate([part[0] for part in parts])
        self._keys, self._values = _together(
            keys, np.concatenate([part[1] for part in parts], axis=1)
        )
        self._waiting, self._size = [], 0


def _together(keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Add up equal keys; return them in order."""
    if len(keys) < 2 or (keys[1:] > keys[:-1]).all():
        return keys, values
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[starts], np.add.reduceat(values[:, order], starts, axis=1)
