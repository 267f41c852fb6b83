"""At most so many items of a supplier, or of a group, in a slate.

Items are taken in the order in which the policy ranks them, unless one would be too many: then it
is passed over. That is all of the rule, and what follows of it:

- What is taken of the first items of an order does not depend on those that come after them. So a
  front of the order is enough if as many were taken of it as are wanted.
- A supplier that has as many as it may have gets no more. So the rest of the order can be looked
  for without all items of such suppliers, and without those that were taken: everything else that
  stood in the front was passed over, because of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.pieces import Piece
from faircascade.types import Bools, Ints

AHEAD = 4
"""How many times as many items as are wanted are looked at first, and again each time."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many items of each group and of each supplier a slate may have."""

    most: tuple[tuple[str, int], ...]
    """By `group` and `supplier`."""

    @classmethod
    def of(cls, most: Mapping[Literal["group", "supplier"], int]) -> Quotas | None:
        """Return the quotas that there are, if there are any."""
        return cls(tuple(sorted(most.items()))) if most else None


class Walk:
    """Takes items for one slate."""

    def __init__(self, quotas: Quotas, catalogue: Catalogue, wanted: int, pinned: Ints) -> None:
        """Take so many items; those that are pinned, by row, count as taken already."""
        self.taken: list[int] = []
        """Rows of the catalogue, in order."""
        self.wanted = wanted
        self._catalogue = catalogue
        self._most = quotas.most
        self._counts: dict[str, Counter[str]] = {column: Counter() for column, _ in quotas.most}
        for labels in self._labels(pinned):
            self._count(labels)

    @property
    def done(self) -> bool:
        """Whether there are enough."""
        return len(self.taken) >= self.wanted

    def along(self, rows: Ints) -> list[int]:
        """Go on along the next items of the order; return the places of those that were taken."""
        places = []
        for place, labels in enumerate(self._labels(rows)):
            if self.done:
                break
            if self._has_room(labels):
                self._count(labels)
                self.taken.append(int(rows[place]))
                places.append(place)
        return places

    def closed(self, piece: Piece) -> Ints:
        """Return the columns of a piece that cannot be taken any more, or are taken, ascending."""
        closed = np.zeros(len(piece.segment), dtype=bool)
        for column, _ in self._most:
            closed |= self._full(column)[getattr(piece.segment, f"{column}s")]
        return np.union1d(np.flatnonzero(closed), piece.without(np.array(sorted(self.taken), int)))

    def has_no_room(self, rows: Ints) -> Bools:
        """Return which items would be too many now, by row of the catalogue, (n,)."""
        full = np.zeros(len(rows), dtype=bool)
        for column, _ in self._most:
            full |= self._full(column)[self._catalogue.codes_at(column, rows)]
        return full

    def _full(self, column: str) -> Bools:
        """Return which labels have no room left, by number; the last entry is of no label."""
        labels, most = self._catalogue.labels, dict(self._most)[column]
        full = [name for name, count in self._counts[column].items() if count >= most]
        return labels.lookup([code for name in full for code in labels.having(name)])

    def _labels(self, rows: Ints) -> Sequence[tuple[tuple[str, ...], ...]]:
        """Return the groups of each of some items, in each column that counts."""
        members = self._catalogue.labels.members
        codes = [self._catalogue.codes_at(column, rows).tolist() for column, _ in self._most]
        return [tuple(map(members, item)) for item in zip(*codes, strict=True)]

    def _has_room(self, labels: tuple[tuple[str, ...], ...]) -> bool:
        return all(
            self._counts[column][name] < most
            for (column, most), names in zip(self._most, labels, strict=True)
            for name in names
        )

    def _count(self, labels: tuple[tuple[str, ...], ...]) -> None:
        for (column, _), names in zip(self._most, labels, strict=True):
            self._counts[column].update(names)
