"""What stands below the last click of slates: all that sequential models cannot count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.fitting.click_table import totals
from faircascade.random import draws
from faircascade.types import Bools, Floats, Ints

MOST_CELLS = 1 << 29
"""Positions below last clicks that are kept at most: 2 GiB."""
_AT_ONCE = 1 << 14
"""Tails that are worked on at a time, so that they stay in the processor's cache."""
_NONE = -1

Codes = NDArray[np.int32]


class TailGroup(NamedTuple):
    """Different tails of one length, each with the number of impressions that have it."""

    tails: Codes
    """Entries below the last click, from the top, (L, n)."""
    heads: Codes
    """What was clicked last, -1 without a click, (n,): an entry, or its item."""
    positions: Codes
    """Its position from 0 on, -1 without a click, (n,)."""
    weights: Floats

    def take(self, rows: slice) -> TailGroup:
        return TailGroup(
            self.tails[:, rows], self.heads[rows], self.positions[rows], self.weights[rows]
        )


@dataclass
class PassedCounts:
    """Positions up to the last click, which users of a sequential model have looked at."""

    clicks: Floats
    """By entry."""
    passed: Floats
    """Looked at and not clicked, above the last click, by entry."""
    went_on: Floats
    """Clicks with another one below, by what was clicked, an entry or its item."""
    went_on_at: Floats
    """The same by position, (K,)."""

    @classmethod
    def empty(cls) -> PassedCounts:
        return cls(*(np.zeros(0) for _ in range(4)))

    def add(self, other: PassedCounts) -> PassedCounts:
        """Return the sum of two."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return PassedCounts(*(_sum(mine, theirs) for mine, theirs in pairs))


@dataclass
class Tails:
    """Slates as sequential models need them: counts up to the last click, then its tail."""

    counts: PassedCounts = field(default_factory=PassedCounts.empty)
    parts: dict[int, list[TailGroup]] = field(default_factory=dict)
    """Groups by the length of tails."""
    cells: int = 0

    def add(self, entries: Ints, heads: Ints, clicks: Bools, lengths: Ints) -> None:
        """Count slates of entries (n, K), whose first `lengths` positions were shown; `heads` are
        what satisfies users at each position, (n, K)."""
        n, k = entries.shape
        columns = np.arange(k)
        clicks = clicks & (columns < lengths[:, None])
        last = np.where(clicks.any(axis=1), k - 1 - clicks[:, ::-1].argmax(axis=1), _NONE)
        above = columns < last[:, None]
        again = clicks & above
        ignored = ~clicks & above
        self.counts = self.counts.add(
            PassedCounts(
                clicks=np.bincount(entries[clicks]).astype(np.float64),
                passed=np.bincount(entries[ignored]).astype(np.float64),
                went_on=np.bincount(heads[again]).astype(np.float64),
                went_on_at=again.sum(axis=0).astype(np.float64),
            )
        )
        size = lengths - 1 - last
        clicked = np.where(last >= 0, heads[np.arange(n), np.maximum(last, 0)], _NONE)
        for length in np.unique(size[size > 0]).tolist():
            rows = np.flatnonzero(size == length)
            where = last[rows, None] + 1 + np.arange(length)
            group = TailGroup(
                np.ascontiguousarray(entries[rows[:, None], where].T, dtype=np.int32),
                clicked[rows].astype(np.int32),
                last[rows].astype(np.int32),
                np.ones(len(rows)),
            )
            self.parts.setdefault(length, []).append(group)
            self.cells += group.tails.size

    def compact(self) -> Tails:
        """Return the same with equal tails put together."""
        parts = {length: [_distinct(_joined(some))] for length, some in self.parts.items()}
        cells = sum(group.tails.size for (group,) in parts.values())
        return Tails(self.counts, dict(sorted(parts.items())), cells)

    def joined(self, other: Tails) -> Tails:
        """Return both together."""
        parts = {
            length: [*self.parts.get(length, []), *other.parts.get(length, [])]
            for length in sorted({*self.parts, *other.parts})
        }
        return Tails(self.counts.add(other.counts), parts, self.cells + other.cells)

    def sample(self, every: int) -> Tails:
        """Return each so-many-th tail, and the counts divided by as many."""
        parts = {
            length: [group.take(slice(0, None, every)) for group in some]
            for length, some in self.parts.items()
        }
        counts = PassedCounts(*(values / every for values in vars(self.counts).values()))
        return Tails(counts, parts, self.cells // every)

    def groups(self, size: int = _AT_ONCE) -> Iterator[TailGroup]:
        """Yield tails in blocks of so many."""
        for some in self.parts.values():
            for group in some:
                for first in range(0, len(group.heads), size):
                    yield group.take(slice(first, first + size))

    def last_clicks(self, heads: int, k: int) -> tuple[Floats, Floats]:
        """Return last clicks with something below them, by what was clicked and by position."""
        of_heads, of_positions = np.zeros(heads + 1), np.zeros(k + 1)
        for some in self.parts.values():
            for group in some:
                of_heads += np.bincount(group.heads + 1, group.weights, minlength=heads + 1)
                of_positions += np.bincount(group.positions + 1, group.weights, minlength=k + 1)
        return of_heads[1:], of_positions[1:]


def _joined(groups: list[TailGroup]) -> TailGroup:
    if len(groups) == 1:
        return groups[0]
    tails, *others = zip(*groups, strict=True)
    return TailGroup(np.concatenate(tails, axis=1), *(np.concatenate(some) for some in others))


def _distinct(group: TailGroup) -> TailGroup:
    """Put equal tails together, if that makes them fewer by much."""
    words = draws(0, "tail", group.heads + 1, group.positions + 1, *group.tails)
    order = np.argsort(words, kind="stable")
    new = np.ones(len(order), dtype=bool)
    new[1:] = words[order[1:]] != words[order[:-1]]
    first, of = order[new], np.cumsum(new) - 1
    if len(first) > 0.8 * len(order):
        return group
    alike = first[of]  # of each one in order, the first with its hash
    equal = group.heads[order] == group.heads[alike]
    equal &= group.positions[order] == group.positions[alike]
    equal &= (group.tails[:, order] == group.tails[:, alike]).all(axis=0)
    if not equal.all():  # two tails with one hash, once in 10^19 pairs
        return group
    weights = totals(of, group.weights[order])
    return TailGroup(group.tails[:, first], group.heads[first], group.positions[first], weights)


def _sum(mine: Floats, theirs: Floats) -> Floats:
    total = np.zeros(max(len(mine), len(theirs)))
    total[: len(mine)] += mine
    total[: len(theirs)] += theirs
    return total
