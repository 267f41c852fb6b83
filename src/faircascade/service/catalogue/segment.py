"""A piece of the catalogue: some thousand neighbouring items, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.random import Words
from faircascade.service.catalogue.attribute_columns import AttributeColumns
from faircascade.service.catalogue.free_memory import in_own_pages, taken
from faircascade.service.catalogue.labels import Codes
from faircascade.service.stores.base import Slots
from faircascade.types import Bools, Floats, Ints, Items, Pool

SIZE = 16_384
"""Most items of a segment: scoring it stays in the cache, and copying it takes a millisecond."""

_ROWS: Ints = np.arange(SIZE)
_ROWS.flags.writeable = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Segment:
    """Items in the order of their slots, the last axis of every column. Never changed.

    A request that is under way keeps the segments that it began with.
    """

    slots: Slots
    """(n,)."""
    by_feature: Floats
    """(d, n)."""
    by_topic: Floats
    """(t, n)."""
    keys: Words
    """Of the names, for random draws, (n,)."""
    merit: Floats
    popularity: Floats
    groups: Codes
    suppliers: Codes
    attributes: AttributeColumns

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def without_attributes(self) -> Segment:
        """The same items, described by nothing that scoring does not need."""
        return replace(self, attributes=AttributeColumns.none(len(self)))

    @classmethod
    def empty(cls, dim: int, topics: int) -> Segment:
        """Return a segment without items."""
        return cls(
            slots=np.empty(0, np.int32),
            by_feature=np.empty((dim, 0)),
            by_topic=np.empty((topics, 0)),
            keys=np.empty(0, np.uint64),
            merit=np.empty(0),
            popularity=np.empty(0),
            groups=np.empty(0, np.int32),
            suppliers=np.empty(0, np.int32),
            attributes=AttributeColumns.none(0),
        )

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Everything but attributes by name."""
        return {name: getattr(self, name) for name in _COLUMNS}

    def take(self, rows: Ints | Bools | slice) -> Segment:
        """Return a copy of some of the items: a view would keep the others as well.

        It has pages of its own, for as long as nothing changes it.
        """
        rows = np.arange(len(self))[rows]
        columns: dict[str, Any] = {n: taken(c, rows) for n, c in self.columns.items()}
        return Segment(**columns, attributes=self.attributes.take(rows))

    @property
    def nbytes(self) -> int:
        """Memory that the columns take, with those that scoring adds, but without texts."""
        single = 4 * self.by_feature.size
        attributes = sum(column.nbytes for column in self.attributes.columns.values())
        return single + attributes + sum(column.nbytes for column in self.columns.values())

    @classmethod
    def join(cls, parts: Sequence[Segment]) -> Segment:
        """Return the items of several segments, one after the other."""
        columns = [part.columns for part in parts]
        return cls(
            **{n: np.concatenate([c[n] for c in columns], axis=-1) for n in columns[0]},
            attributes=AttributeColumns.join([part.attributes for part in parts]),
        )

    def changed(self, gone: Slots, new: Segment) -> list[Segment]:
        """Return the segments that come in its place without some slots, but with others."""
        stay = np.flatnonzero(~np.isin(self.slots, gone))
        appended = not len(self) or not len(new) or int(new.slots[0]) > int(self.slots[-1])
        if appended and len(stay) == SIZE:
            return [self, *new._cut(np.arange(len(new)), SIZE)]
        both = Segment.join([self, new])
        rows = np.concatenate([stay, np.arange(len(self), len(both))])
        rows, m = rows[np.argsort(both.slots[rows])], len(rows)
        # halves have room for more
        return both._cut(rows, SIZE if appended or m <= SIZE else -(-m // (-(-m // SIZE))))

    def _cut(self, rows: Ints, size: int) -> list[Segment]:
        """Return copies of some of the items, so many in each segment."""
        return [self.take(rows[first : first + size]) for first in range(0, len(rows), size)]

    @cached_property
    def items(self) -> Items:
        """The items as policies take them, with slots for ids."""
        items = Items(
            ids=self.slots,
            features=self.by_feature.T,
            eligible=np.broadcast_to(np.True_, len(self)),
            merit=self.merit,
            popularity=self.popularity,
            topics=self.by_topic.T,
        )
        vars(items).update(keys=self.keys, by_feature=self.by_feature)  # known already
        return items

    @cached_property
    def pool(self) -> Pool:
        """All of them, to choose from."""
        return self._pool(single=False)

    @cached_property
    def rough_pool(self) -> Pool:
        """The same, for first scores in single precision."""
        pool = self._pool(single=True)
        single = in_own_pages(self.by_feature.astype(np.float32))
        vars(pool).update(single_by_feature=single, radius=self.pool.radius)
        return pool

    def _pool(self, *, single: bool) -> Pool:
        rows = _ROWS[: len(self)] if len(self) <= SIZE else np.arange(len(self))
        pool = Pool(items=self.items, rows=rows, single=single)
        vars(pool).update(keys=self.keys, by_feature=self.by_feature)
        return pool


_COLUMNS = tuple(column.name for column in fields(Segment) if column.name != "attributes")


def tidied(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return segments of which small neighbours are joined."""
    out: list[Segment] = []
    for segment in segments:
        if out and len(out[-1]) + len(segment) <= SIZE // 2:
            out[-1] = Segment.join([out[-1], segment])
        else:
            out.append(segment)
    return tuple(out)
