"""The items in memory, ready for scoring; a catalogue is never changed, only replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from faircascade.random import Words, keys_of
from faircascade.service.exposure.recipients import Labels, Recipients
from faircascade.service.stores.base import Slots, StoredItem
from faircascade.types import Floats, Items, Pool

_NOTHING = np.empty(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Items that can be recommended, one row each, and the names of all that ever could."""

    items: Items
    """Their ids are slots here: short, whatever the names are."""
    rows: dict[str, int]
    """Row of each item by its name."""
    stored: dict[int, StoredItem]
    """Every item by slot; removed ones have little more than a name."""

    @classmethod
    def empty(cls, dim: int, topics: int = 0) -> Catalogue:
        """Return a catalogue without items, which are to have so many features and topics."""
        blank = np.empty((0, dim)), np.empty((0, topics))
        return cls(
            items=_items(np.empty(0, np.int32), *blank, np.empty(0, np.uint64), []),
            rows={},
            stored={},
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def slots(self) -> Slots:
        """Slot of each row, (m,)."""
        return np.asarray(self.items.ids)

    @cached_property
    def recipients(self) -> Recipients:
        """The items as recipients of exposure."""
        known = [self.stored[slot] for slot in self.slots.tolist()]

        def labels(column: str) -> Labels | None:
            found = [item.groups.get(column) for item in known]
            return found if any(found) else None

        return Recipients(
            slots=self.slots,
            ids=[item.id for item in known],
            merit=self.items.merit,
            groups=labels("group"),
            suppliers=labels("supplier"),
        )

    def changed(self, items: Sequence[StoredItem]) -> Catalogue:
        """Return the catalogue after items were added, replaced or removed.

        Rows that stay keep their keys, which are slow to make for many.
        """
        if not items:
            return self
        stored = self.stored | {item.slot: _kept(item) for item in items}
        touched = np.array([item.slot for item in items])
        stay = ~np.isin(self.slots, touched)
        new = [item for item in items if not item.removed]
        slots = np.concatenate([self.slots[stay], _slots(new)])
        d = self.items.dim
        numbers = _numbers(new, d + self.items.topics.shape[1])
        features = np.concatenate([self.items.features[stay], numbers[:, :d]])
        topics = np.concatenate([self.items.topics[stay], numbers[:, d:]])
        keys = np.concatenate([self.items.keys[stay], keys_of(item.id for item in new)])
        order = np.argsort(slots)
        known = [stored[slot] for slot in slots[order].tolist()]
        return Catalogue(
            items=_items(slots[order], features[order], topics[order], keys[order], known),
            rows={item.id: row for row, item in enumerate(known)},
            stored=stored,
        )

    def names(self, slots: Slots) -> list[str]:
        """Return the names of items by slot, removed ones too."""
        return [self.stored[slot].id for slot in slots.tolist()]

    def at(self, name: str) -> StoredItem | None:
        """Return an item by name; None if it cannot be recommended (any more)."""
        row = self.rows.get(name)
        return None if row is None else self.stored[int(self.items.ids[row])]

    def left(self, candidates: Iterable[str] | None, exclude: Iterable[str]) -> int:
        """Return how many items there are to choose from."""
        among = self.rows.keys() if candidates is None else self.rows.keys() & candidates
        return len(among) - len(among & set(exclude))

    def pool(self, candidates: Iterable[str] | None, exclude: Iterable[str]) -> Pool:
        """Return the items to choose from; names that are not in the catalogue are ignored."""
        left_out = {self.rows[name] for name in exclude if name in self.rows}
        if candidates is None and not left_out:
            return self.items.pool
        if candidates is None:
            rows = np.delete(np.arange(len(self)), sorted(left_out))
        else:
            chosen = {self.rows[name] for name in candidates if name in self.rows}
            rows = np.array(sorted(chosen - left_out), np.int64)
        return self.items.among(rows)


def _kept(item: StoredItem) -> StoredItem:
    """Return what is kept of an item: of a removed one, its name for slates that show it."""
    return replace(item, features=_NOTHING, groups={}) if item.removed else item


def _slots(items: Sequence[StoredItem]) -> Slots:
    return np.array([item.slot for item in items], dtype=np.int32)


def _numbers(items: Sequence[StoredItem], size: int) -> Floats:
    """Return features, then topics, of items, (m, size)."""
    return np.array([item.features for item in items]).reshape(len(items), size)


def _items(
    slots: Slots, features: Floats, topics: Floats, keys: Words, known: Sequence[StoredItem]
) -> Items:
    """Return items that were checked before, with the given keys."""
    items = Items(
        ids=slots,
        features=np.ascontiguousarray(features),
        eligible=np.ones(len(slots), dtype=bool),
        merit=np.array([item.merit for item in known], dtype=np.float64),
        popularity=np.array([item.popularity for item in known], dtype=np.float64),
        topics=np.ascontiguousarray(topics),
    )
    vars(items)["keys"] = keys  # of the names; a cached property otherwise
    pool = items.pool
    if len(pool):
        _ = pool.by_feature, pool.keys, pool.norms, pool.by_key  # now, not in a request
    return items
