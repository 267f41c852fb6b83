"""The items in memory, ready for scoring; a catalogue is never changed, only replaced.

It consists of segments, and a change makes only those anew that it touches. Those of a catalogue
that nobody uses any more go at once: nothing here refers back to what it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from faircascade.service.catalogue.attribute_columns import AttributeColumns, Key, Vocabulary
from faircascade.service.catalogue.item_names import ItemNames, keys_of_names
from faircascade.service.catalogue.labels import Codes, Labels
from faircascade.service.catalogue.pieces import Piece
from faircascade.service.catalogue.segment import Segment, tidied
from faircascade.service.catalogue.selection import Selection
from faircascade.service.exposure.recipients import LabelColumn, Recipients
from faircascade.service.stores.base import Slots, StoredItem
from faircascade.service.stores.item_columns import ItemColumns
from faircascade.types import Ints, Items, Pool

if TYPE_CHECKING:
    from faircascade.service.rules.quotas import Quotas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """What a request may choose from, as rows of a catalogue."""

    among: Ints | None
    """Ascending, what is left out taken away; None for all but those."""
    without: Ints
    """The rows that are left out, ascending."""
    left: int
    """How many items there are to choose from."""
    selection: Selection | None = None
    """Among which items if a filter says so and `among` does not; None for all."""
    filtered: str = ""
    """By which filter `among` was, if by any."""
    pins: tuple[tuple[int, int], ...] = ()
    """Position and row of items that have a place, by position; they are among those left out."""
    quotas: Quotas | None = None
    """At most so many of a kind."""

    @property
    def pinned(self) -> Ints:
        """Rows of the items that have a place."""
        return np.array([row for _, row in self.pins], dtype=np.int64)


_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Items that can be recommended, one row each, and the names of all that ever could."""

    dim: int
    """Features of an item."""
    topics: int
    """Topics of an item."""
    segments: tuple[Segment, ...] = ()
    """In the order of their slots."""
    item_names: ItemNames = field(default_factory=ItemNames)
    labels: Labels = field(default_factory=Labels)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    """Texts of attributes."""

    @classmethod
    def empty(cls, dim: int, topics: int = 0) -> Catalogue:
        """Return a catalogue without items, which are to have so many features and topics."""
        return cls(dim=dim, topics=topics)

    def __len__(self) -> int:
        return int(self.first_rows[-1])

    @cached_property
    def first_rows(self) -> Ints:
        """Row at which each segment begins, and the number of rows, (s + 1,)."""
        lengths = np.array([0, *map(len, self.segments)], dtype=np.int64)
        return np.cumsum(lengths)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All items, to be scored segment by segment."""
        return tuple(map(Piece, self.segments, self.first_rows.tolist()[:-1]))

    @cached_property
    def attributes(self) -> tuple[Key, ...]:
        """Names and kinds of the attributes that items have."""
        return tuple(sorted({key for part in self.segments for key in part.attributes.columns}))

    @cached_property
    def slots(self) -> Slots:
        """Slot of each row, ascending, (m,)."""
        return np.concatenate([np.empty(0, np.int32), *(part.slots for part in self.segments)])

    @property
    def blank(self) -> Items:
        """Items of this kind, but none."""
        return Segment.empty(self.dim, self.topics).items

    @property
    def items(self) -> Items:
        """All items in one piece, made anew with each call."""
        return self._joined.items

    @property
    def _joined(self) -> Segment:
        return Segment.join([Segment.empty(self.dim, self.topics), *self.segments])

    @cached_property
    def whole(self) -> Pool:
        """All items in one piece, for policies that must have them so."""
        return self.segments[0].pool if len(self.segments) == 1 else self._joined.pool

    @property
    def rows(self) -> dict[str, int]:
        """Row of each item by its name, made anew with each call."""
        return {name: row for row, name in enumerate(self.names(self.slots))}

    @cached_property
    def recipients(self) -> Recipients:
        """The items as recipients of exposure."""
        merit = np.concatenate([np.empty(0), *(part.merit for part in self.segments)])
        return Recipients(
            slots=self.slots,
            ids=_Names(self.item_names, self.slots),
            merit=merit,
            groups=self._labels([part.groups for part in self.segments]),
            suppliers=self._labels([part.suppliers for part in self.segments]),
        )

    def _labels(self, codes: Sequence[Codes]) -> LabelColumn | None:
        column = LabelColumn(codes=tuple(codes), texts=self.labels.texts)
        return column if column.any() else None

    def changed(self, items: ItemColumns) -> Catalogue:
        """Return the catalogue after items were added, replaced or removed."""
        if not len(items):
            return self
        keys = keys_of_names(items.ids)
        self.item_names.add(items.slots, items.ids, keys)
        new = Segment(
            slots=items.slots,
            by_feature=np.ascontiguousarray(items.features[:, : self.dim].T),
            by_topic=np.ascontiguousarray(items.features[:, self.dim :].T),
            keys=keys,
            merit=items.merit,
            popularity=items.popularity,
            groups=self.labels.codes(items.groups),
            suppliers=self.labels.codes(items.suppliers),
            attributes=AttributeColumns.of(items.attributes, self.vocabulary),
        )
        segments = list(self.segments) or [Segment.empty(self.dim, self.topics)]
        starts = np.array([int(part.slots[0]) if len(part) else 0 for part in segments])
        home = np.maximum(np.searchsorted(starts, items.slots, side="right") - 1, 0)
        for place in np.unique(home)[::-1].tolist():  # from the end, so that places stay
            here = home == place
            gone, live = items.slots[here], np.flatnonzero(here & ~items.removed)
            live = live[np.argsort(items.slots[live])]
            segments[place : place + 1] = segments[place].changed(gone, new.take(live))
        return Catalogue(
            dim=self.dim,
            topics=self.topics,
            segments=tidied(segments),
            item_names=self.item_names,
            labels=self.labels,
            vocabulary=self.vocabulary,
        )

    def names(self, slots: Slots) -> list[str]:
        """Return the names of items by slot, removed ones too."""
        return self.item_names.names(slots.tolist())

    def knows(self, slot: int) -> bool:
        """Return whether there ever was an item in a slot."""
        return slot in self.item_names

    def at(self, name: str) -> StoredItem | None:
        """Return an item by name; None if it cannot be recommended (any more)."""
        row = int(self.find([name])[0])
        return None if row < 0 else self.item(row)

    def item(self, row: int) -> StoredItem:
        """Return the item of a row."""
        place = int(np.searchsorted(self.first_rows, row, side="right")) - 1
        segment, row = self.segments[place], row - int(self.first_rows[place])
        slot = int(segment.slots[row])
        labels = {
            "group": self.labels.text(int(segment.groups[row])),
            "supplier": self.labels.text(int(segment.suppliers[row])),
        }
        return StoredItem(
            id=self.item_names.name(slot),
            features=np.concatenate([segment.by_feature[:, row], segment.by_topic[:, row]]),
            merit=float(segment.merit[row]),
            popularity=float(segment.popularity[row]),
            groups={column: label for column, label in labels.items() if label is not None},
            attributes=segment.attributes.row(row, self.vocabulary),
            slot=slot,
        )

    def find(self, names: Sequence[str]) -> Ints:
        """Return the rows of items by name, -1 for those that cannot be recommended."""
        slots, known = self.item_names.find(names), self.slots
        if not len(known):
            return np.full(len(names), -1, dtype=np.int64)
        rows = np.minimum(np.searchsorted(known, slots), len(known) - 1)
        return np.where(known[rows] == slots, rows, -1)

    def beginning_with(self, prefix: str) -> Ints:
        """Return the rows of items whose names begin so, ascending."""
        slots, known = self.item_names.beginning_with(prefix), self.slots
        return np.flatnonzero(np.isin(known, slots, assume_unique=True))

    def choice(
        self,
        candidates: Sequence[str] | None,
        exclude: Sequence[str],
        *,
        selection: Selection | None = None,
        pinned: Sequence[tuple[int, str]] = (),
        quotas: Quotas | None = None,
    ) -> Choice:
        """Return what there is to choose from; names that are not in the catalogue are ignored.

        `pinned` are positions with the names of their items. Those that are excluded or not
        selected are ignored, too.
        """
        without = self._rows_of(exclude)
        pins: tuple[tuple[int, int], ...] = ()
        if pinned:
            pins = self._pins(pinned, without, selection)
            without = np.union1d(without, np.array([row for _, row in pins], dtype=np.int64))
        rules: dict[str, Any] = {"pins": pins, "quotas": quotas}
        if candidates is None:
            if selection is None:
                left = len(self) - len(without)
                return Choice(among=None, without=without, left=left, **rules)
            left = selection.count - len(selection.of(without))
            return Choice(among=None, without=without, left=left, selection=selection, **rules)
        among = np.setdiff1d(self._rows_of(candidates), without, assume_unique=True)
        if selection is not None:
            among = selection.of(among)
            rules["filtered"] = selection.key
        return Choice(among=among, without=without, left=len(among), **rules)

    def _pins(
        self, pinned: Sequence[tuple[int, str]], without: Ints, selection: Selection | None
    ) -> tuple[tuple[int, int], ...]:
        """Return positions and rows of those that may be shown, by position."""
        rows = self.find([name for _, name in pinned])
        allowed = (rows >= 0) & ~np.isin(rows, without)
        if selection is not None:
            allowed[allowed] = selection.has(rows[allowed])
        places = [place for place, _ in pinned]
        return tuple(sorted((places[n], int(rows[n])) for n in np.flatnonzero(allowed).tolist()))

    def codes_at(self, column: str, rows: Ints) -> Codes:
        """Return the numbers of the labels of some rows: those of `group` or `supplier`."""
        place = np.searchsorted(self.first_rows, rows, side="right") - 1
        codes = np.empty(len(rows), dtype=np.int32)
        for p in np.unique(place).tolist():
            here = place == p
            codes[here] = getattr(self.segments[p], f"{column}s")[rows[here] - self.first_rows[p]]
        return codes

    def _rows_of(self, names: Iterable[str]) -> Ints:
        """Return the rows of those items that there are, ascending."""
        listed = list(dict.fromkeys(names))
        if not listed:
            return _NO_ROWS
        rows = np.unique(self.find(listed))
        return rows[rows >= 0]

    def excerpt(self, rows: Ints) -> Pool:
        """Return a pool of some items, by row, ascending.

        Its items are these and the one of the largest merit, by which re-rankers measure others.
        """
        listed = np.union1d(rows, [self._worthiest])
        place = np.searchsorted(self.first_rows, listed, side="right") - 1
        parts = [
            self.segments[p].take(listed[place == p] - self.first_rows[p])
            for p in np.unique(place).tolist()
        ]
        return Segment.join(parts).items.among(np.searchsorted(listed, rows))

    @cached_property
    def _worthiest(self) -> int:
        best = [float(part.merit.max()) for part in self.segments]
        place = int(np.argmax(best))
        return int(self.first_rows[place]) + int(np.argmax(self.segments[place].merit))


class _Names(Sequence[str]):
    """Names of the rows of a catalogue, made when they are asked for."""

    def __init__(self, names: ItemNames, slots: Slots) -> None:
        self._names = names
        self._slots = slots

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return self._names.names(self._slots[row].tolist())
        return self._names.name(int(self._slots[row]))
