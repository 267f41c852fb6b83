"""Whose exposure an account is about: single items, or the groups that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from faircascade.errors import ParameterError
from faircascade.metrics.memberships import Memberships
from faircascade.types import Bools, Floats, Ids, Ints, Items

ITEM = "item"
"""Every item is a recipient of its own."""


@dataclass(frozen=True, eq=False)
class Recipients:
    """Items, or groups of them such as suppliers; an item in several groups counts in each."""

    ids: Ids
    """Ids of the items, or names of the groups, (r,)."""
    items: Ints
    """The item of each membership, ascending, (memberships,)."""
    into: Ints
    """Its recipient, (memberships,)."""
    catalogue: int
    """Number of items, m."""
    merit: Floats
    """Summed merit of each recipient, (r,)."""
    reachable: Bools
    """Whether a recipient has an item that can be recommended, (r,)."""
    names: Ids
    """Ids of the items, (m,)."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def first(self) -> Ints:
        """Where the memberships of each item begin, and where the last one ends, (m + 1,)."""
        return np.searchsorted(self.items, np.arange(self.catalogue + 1))

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return which of some items (n,) has each membership of theirs, and in which recipient."""
        if self._one_each:
            return np.arange(len(rows)), self.into[rows]
        first, lengths = self.first[rows], np.diff(self.first)[rows]
        whose = np.repeat(np.arange(len(rows)), lengths)
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        return whose, self.into[np.repeat(first, lengths) + np.arange(len(whose)) - starts]

    def added(self, units: Ints) -> Ints:
        """Add up whole units of items (..., m) over each recipient, (..., r)."""
        total = np.zeros((*units.shape[:-1], len(self)), dtype=np.int64)
        np.add.at(total.T, self.into, units.T[self.items])
        return total

    def summed(self, values: Floats) -> Floats:
        """Return what the recipients of each item have together, (..., r) to (..., m)."""
        if self._one_each:
            return np.asarray(values[..., self.into])
        total = np.zeros((*values.shape[:-1], self.catalogue))
        np.add.at(total.T, self.items, values.T[self.into])
        return total

    def mean(self, values: Floats) -> Floats:
        """Return what the recipients of each item have on average, (..., r) to (..., m)."""
        if self._one_each:
            return np.asarray(values[..., self.into])
        return np.asarray(self.summed(values) / np.maximum(np.diff(self.first), 1))

    @cached_property
    def _one_each(self) -> bool:
        return bool((np.diff(self.first) == 1).all())


_known: WeakKeyDictionary[Items, dict[str, Recipients]] = WeakKeyDictionary()


def recipients_of(items: Items, by: str) -> Recipients:
    """Return the recipients of a catalogue: `item`, or the name of a group column."""
    found = _known.setdefault(items, {})
    if by not in found:
        found[by] = _items_alone(items) if by == ITEM else _groups(items, by)
    return found[by]


def _items_alone(items: Items) -> Recipients:
    every = np.arange(len(items))
    return Recipients(
        ids=items.ids,
        items=every,
        into=every,
        catalogue=len(items),
        merit=items.merit,
        reachable=items.eligible,
        names=items.ids,
    )


def _groups(items: Items, by: str) -> Recipients:
    if by not in items.groups:
        there = ", ".join(sorted(items.groups)) or "none"
        raise ParameterError("by", f"must be 'item' or a group of the items ({there})", by)
    members = Memberships.of(items.groups[by].tolist())
    order = np.argsort(members.items, kind="stable")
    return Recipients(
        ids=np.array(members.groups, dtype=np.str_),
        items=members.items[order],
        into=members.into[order],
        catalogue=len(items),
        merit=members.add(items.merit),
        reachable=members.add(items.eligible.astype(np.int64)) > 0,
        names=items.ids,
    )
