"""What fits need to know of a log: counts, and of sequential models what is below last clicks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import Progress
from faircascade.data.log import Log
from faircascade.data.log.impressions import Impressions
from faircascade.errors import ParameterError
from faircascade.fitting.click_table import ClickTable
from faircascade.fitting.entries import Entries
from faircascade.fitting.tails import MOST_CELLS, Tails
from faircascade.random import uniforms
from faircascade.types import Bools, Floats, Ints

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

    def __len__(self) -> int:
        return len(self.entries)

    def take(self, rows: Bools) -> Slates:
        some: Any = (array[rows] for array in self)
        return Slates(*some)

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
        blanks = {"entries": -1, "clicks": 0, "present": 0}
        arrays: dict[str, Any] = {}
        for name in cls._fields:
            some = [getattr(part, name) for part in parts]
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
    impressions: int = 0
    several: int = 0
    """Impressions with more than one click."""
    gaps: int = 0
    """Impressions with a position of which nothing is known above one that is known."""

    def add(self, slates: Slates, entries: int) -> None:
        """Count slates; `entries` is how many there are."""
        if not len(slates):
            return
        self.impressions += len(slates)
        self.several += int((slates.clicks.sum(axis=1) > 1).sum())
        lengths = slates.lengths
        whole = slates.present.sum(axis=1) == lengths
        self.gaps += int((~whole).sum())
        self.table.add(slates.entries, slates.clicks, slates.present, entries)
        if self.tails is not None:
            some = slates if whole.all() else slates.take(whole)
            self.tails.add(some.entries, some.clicks, lengths[whole], entries)
            if self.tails.cells > MOST_CELLS:
                self.tails = self.tails.compact()
                if self.tails.cells > MOST_CELLS // 2:
                    self.tails = None

    def joined(self, other: Statistics) -> Statistics:
        """Return the sum of two."""
        tails = None
        if self.tails is not None and other.tails is not None:
            tails = self.tails.joined(other.tails)
        return Statistics(
            table=self.table.joined(other.table),
            tails=tails,
            impressions=self.impressions + other.impressions,
            several=self.several + other.several,
            gaps=self.gaps + other.gaps,
        )

    def finished(self, entries: int, k: int) -> Statistics:
        """Return the same with room for all entries and positions, and equal tails put together."""
        self.table.grow(entries, k)
        return replace(self, tails=None if self.tails is None else self.tails.compact())

    @property
    def click_rate(self) -> float:
        """Clicks of all positions that were shown."""
        shown, clicks = self.table.counts.sum(axis=(1, 2)).tolist()
        return clicks / shown if shown else 0.0


class Sample(NamedTuple):
    """A log, as fits see it."""

    train: Statistics
    held_out: Slates | None
    entries: Entries
    k: int


def sample_of(
    log: Log,
    *,
    by_context: bool,
    held_out: float,
    seed: int,
    keep_tails: bool = True,
    progress: Progress | None = None,
) -> Sample:
    """Read a log once. A share of the users is held out, with all of their impressions: fewer, if
    that would be more impressions than are kept in memory."""
    if not 0 <= held_out < 1:
        raise ParameterError("held_out", "must be at least 0 and below 1", held_out)
    entries, share, k = Entries(by_context), held_out, 1
    train = Statistics(tails=Tails() if keep_tails else None)
    held: list[Slates] = []
    for block in log.blocks(progress):
        slates = _slates(block, entries, seed)
        k = max(k, block.k)
        out = slates.lots < share
        train.add(slates.take(~out), len(entries))
        if out.any():
            held.append(slates.take(out))
        while sum(map(len, held)) > MOST_HELD_OUT:
            share /= 2
            for back in (part.take(part.lots >= share) for part in held):
                train.add(back, len(entries))
            held = [part.take(part.lots < share) for part in held]
    total = len(entries)
    kept = Slates.join(held) if any(map(len, held)) else None
    return Sample(train.finished(total, k), kept, entries, k)


def statistics_of(slates: Slates, entries: int, *, keep_tails: bool = True) -> Statistics:
    """Count slates that are in memory."""
    found = Statistics(tails=Tails() if keep_tails else None)
    found.add(slates, entries)
    return found


def _slates(block: Impressions, entries: Entries, seed: int) -> Slates:
    found = entries.of(block.items, block.contexts)
    present = (found >= 0) & (np.arange(block.k) < block.shown[:, None])
    lots = uniforms(seed, "held out", block.users)
    return Slates(found, block.clicks & present, present, block.users, lots)


def blocks_of(slates: Slates, size: int) -> Iterator[Slates]:
    """Yield slates in blocks."""
    for first in range(0, len(slates), size):
        some: Any = (array[first : first + size] for array in slates)
        yield Slates(*some)


def _wide(array: NDArray[np.generic], k: int, blank: int) -> NDArray[np.generic]:
    if array.shape[1] == k:
        return array
    wide = np.full((len(array), k), blank, dtype=array.dtype)
    wide[:, : array.shape[1]] = array
    return wide
