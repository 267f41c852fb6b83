"""Which items are in which groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Ints


@dataclass(frozen=True, eq=False)
class Memberships:
    """Groups, and one row for each membership of an item in a group."""

    groups: tuple[str, ...]
    items: Ints
    """The item of a membership, (memberships,)."""
    into: Ints
    """Its group, (memberships,)."""

    @classmethod
    def of(cls, labels: Sequence[str]) -> Memberships:
        """Read one label for each item; `a|b` is a member of both groups.

        >>> found = Memberships.of(["a|b", "b"])
        >>> found.groups, found.add(np.array([1.0, 10.0])).tolist()
        (('a', 'b'), [1.0, 11.0])
        """
        rows = [list(dict.fromkeys(str(label).split("|"))) for label in labels]
        groups = tuple(sorted({group for row in rows for group in row}))
        place = {group: g for g, group in enumerate(groups)}
        items = np.array([i for i, row in enumerate(rows) for _ in row], dtype=np.int64)
        into = np.array([place[group] for row in rows for group in row], dtype=np.int64)
        return cls(groups, items, into)

    def add(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up values of items (m, ...) over each group, (groups, ...); they may be sparse."""
        if not isinstance(values, np.ndarray):
            from scipy.sparse import csr_array

            once = np.ones(len(self.items), dtype=values.dtype)
            shape = (len(self.groups), values.shape[0])
            return csr_array((once, (self.into, self.items)), shape) @ values
        total = np.zeros((len(self.groups), *values.shape[1:]), dtype=values.dtype)
        np.add.at(total, self.into, values[self.items])
        return total

    @property
    def sizes(self) -> Ints:
        """How many items are in each group, (groups,)."""
        return np.bincount(self.into, minlength=len(self.groups))
