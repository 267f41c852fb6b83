"""What fits need to know of a log: counts, and of sequential models what is below last clicks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import Progress
from faircascade.data.log.impressions import Impressions
from faircascade.errors import ParameterError
from faircascade.fitting.click_table import ClickTable
from faircascade.fitting.entries import Coding
from faircascade.fitting.log_sample import KnownLog
from faircascade.fitting.tails import MOST_CELLS, Tails
from faircascade.random import uniforms
from faircascade.types import Bools, Floats, Ints

_WIDE = ("entries", "clicks", "present", "items")
_AT_ONCE = 1 << 24
"""Positions of a block that are taken at once; those with long slates are cut."""
MOST_HELD_OUT = 1_000_000
"""Impressions that are held out at most."""


class Slates(NamedTuple):
    """Impressions as entries, in memory."""

    entries: Ints
    """-1 where nothing stood or nothing is known, (n, K)."""
    clicks: Bools
    present: Bools
    """Positions that were on the screen with something known on them, (n, K)."""
    users: NDArray[np.int32]
    lots: Floats
    """A draw of the user, by which impressions are held out, (n,)."""
    items: Ints | None = None
    """What satisfies users, where that is not the entry, (n, K)."""

    def __len__(self) -> int:
        return len(self.entries)

    def take(self, rows: Bools | Ints | slice) -> Slates:
        some: Any = (None if array is None else array[rows] for array in self)
        return Slates(*some)

    def narrowed(self) -> Slates:
        """Return the same as wide as the longest of these slates."""
        k = max(1, int(self.lengths.max(initial=0)))
        if k == self.entries.shape[1]:
            return self
        some: Any = zip(self._fields, self, strict=True)
        return Slates(**{n: a[:, :k] if n in _WIDE and a is not None else a for n, a in some})

    @property
    def satisfying(self) -> Ints:
        """What satisfies users, (n, K)."""
        return self.entries if self.items is None else self.items

    @property
    def lengths(self) -> Ints:
        """Positions down to the last one that is present, (n,)."""
        k = self.present.shape[1]
        last = k - self.present[:, ::-1].argmax(axis=1)
        return np.where(self.present.any(axis=1), last, 0)

    @classmethod
    def join(cls, parts: list[Slates]) -> Slates:
        """Put blocks one after the other, the longest slate deciding how wide."""
        k = max(part.entries.shape[1] for part in parts)
        blanks = {"entries": -1, "clicks": 0, "present": 0, "items": -1}
        arrays: dict[str, Any] = {}
        for name in cls._fields:
            some = [getattr(part, name) for part in parts]
            if some[0] is None:
                continue
            if name in blanks:
                some = [_wide(array, k, blanks[name]) for array in some]
            arrays[name] = np.concatenate(some)
        return cls(**arrays)


@dataclass
class Statistics:
    """Counts of slates."""

    table: ClickTable = field(default_factory=ClickTable)
    tails: Tails | None = field(default_factory=Tails)
    """None where there were too many to keep."""
    item_tails: Tails | None = None
    """The same by the item that was clicked last, where entries are no items."""
    impressions: int = 0
    several: int = 0
    """Impressions with more than one click."""
    gaps: int = 0
    """Impressions with a position of which nothing is known above one that is known."""

    def add(self, slates: Slates, coding: Coding) -> None:
        """Count slates of what is coded."""
        if not len(slates):
            return
        self.impressions += len(slates)
        self.several += int((slates.clicks.sum(axis=1) > 1).sum())
        lengths = slates.lengths
        whole = slates.present.sum(axis=1) == lengths
        self.gaps += int((~whole).sum())
        self.table.add(slates.entries, slates.clicks, slates.present, len(coding))
        if self.tails is None:
            return
        some, lengths = slates if whole.all() else slates.take(whole), lengths[whole]
        self.tails.add(some.entries, some.entries, some.clicks, lengths)
        if some.items is not None:
            self.item_tails = self.item_tails or Tails()
            self.item_tails.add(some.entries, some.items, some.clicks, lengths)
        if self._cells > MOST_CELLS:
            self.tails, self.item_tails = _compact(self.tails), _compact(self.item_tails)
            if self._cells > MOST_CELLS // 2:
                self.tails = self.item_tails = None

    @property
    def _cells(self) -> int:
        return sum(tails.cells for tails in (self.tails, self.item_tails) if tails is not None)

    def joined(self, other: Statistics) -> Statistics:
        """Return the sum of two."""
        return Statistics(
            table=self.table.joined(other.table),
            tails=_both(self.tails, other.tails),
            item_tails=_both(self.item_tails, other.item_tails),
            impressions=self.impressions + other.impressions,
            several=self.several + other.several,
            gaps=self.gaps + other.gaps,
        )

    def finished(self, entries: int, k: int) -> Statistics:
        """Return the same with room for all entries and positions, and equal tails put together."""
        self.table.grow(entries, k)
        return replace(self, tails=_compact(self.tails), item_tails=_compact(self.item_tails))

    @property
    def click_rate(self) -> float:
        """Clicks of all positions that were shown."""
        shown, clicks = self.table.totals.sum(axis=1).tolist()
        return clicks / shown if shown else 0.0


class Sample(NamedTuple):
    """A log, as fits see it."""

    train: Statistics
    held_out: Slates | None
    coding: Coding
    k: int


def sample_of(
    log: KnownLog,
    coding: Coding,
    *,
    held_out: float,
    seed: int,
    keep_tails: bool = True,
    progress: Progress | None = None,
) -> Sample:
    """Read a log once. A share of the users is held out, with all of their impressions: fewer, if
    that would be more impressions than are kept in memory."""
    if not 0 <= held_out < 1:
        raise ParameterError("held_out", "must be at least 0 and below 1", held_out)
    share, k = held_out, 1
    train = Statistics(tails=Tails() if keep_tails else None)
    held: list[Slates] = []
    for block in log.blocks(progress):
        k = max(k, block.k)
        for part in _parts(block):
            slates = _slates(part, coding, seed)
            out = slates.lots < share
            train.add(slates.take(~out).narrowed(), coding)
            if out.any():
                held.append(slates.take(out).narrowed())
        while sum(map(len, held)) > MOST_HELD_OUT:
            share /= 2
            for back in (part.take(part.lots >= share) for part in held):
                train.add(back, coding)
            held = [part.take(part.lots < share) for part in held]
    kept = Slates.join(held) if any(map(len, held)) else None
    return Sample(train.finished(len(coding), k), kept, coding, k)


def statistics_of(slates: Slates, coding: Coding, *, keep_tails: bool = True) -> Statistics:
    """Count slates that are in memory."""
    found = Statistics(tails=Tails() if keep_tails else None)
    found.add(slates, coding)
    return found


def _slates(block: Impressions, coding: Coding, seed: int) -> Slates:
    found = coding.entries_of(block)
    present = (found >= 0) & (np.arange(block.k) < block.shown[:, None])
    lots = uniforms(seed, "held out", block.users)
    items = None if coding.of_items else block.items.astype(np.int64)
    return Slates(found, block.clicks & present, present, block.users, lots, items)


def _parts(block: Impressions) -> Iterator[Impressions]:
    """Yield a few impressions at a time where slates are long."""
    if block.items.size <= _AT_ONCE:
        yield block
        return
    size = max(1, _AT_ONCE // (4 * block.k))
    for first in range(0, len(block), size):
        part = block.take(slice(first, first + size))
        yield replace(part, first=block.first + first)


def _both(mine: Tails | None, theirs: Tails | None) -> Tails | None:
    return None if mine is None or theirs is None else mine.joined(theirs)


def _compact(tails: Tails | None) -> Tails | None:
    return None if tails is None else tails.compact()


def _wide(array: NDArray[np.generic], k: int, blank: int) -> NDArray[np.generic]:
    if array.shape[1] == k:
        return array
    wide = np.full((len(array), k), blank, dtype=array.dtype)
    wide[:, : array.shape[1]] = array
    return wide
