"""What was shown and clicked, in whole numbers by slot: they add up to the same in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.rerankers.ledger import exposure_units
from faircascade.service.stores.base import ANSWER, DEFAULT, Event, Slots
from faircascade.types import Bools, Floats, Ints

TOTALS = 7
"""Numbers that are counted of slates, beside those of items."""
COLUMNS = 5
"""Numbers that are counted of items."""
PAGE = 8
"""Neighbouring slots that share a place."""

Column = NDArray[np.signedinteger[Any]]
"""Whole numbers, of as few bytes as the largest needs."""
_NOTHING: Column = np.empty(0, dtype=np.int8)


@dataclass(frozen=True, kw_only=True, eq=False)
class EventBatch:
    """Events side by side, ready to be counted."""

    times: Floats
    """When each happened, (n,)."""
    totals: Ints
    """What each adds to the slates, the answers, the clicks, the clicked slates, the positions that
    were handed out, and those that were not shown, and to the answers that nobody gave, (n, 7)."""
    owner: Ints
    """Which event each entry belongs to, (e,)."""
    slots: Ints
    """Which item it is about, (e,)."""
    entries: Ints
    """What it adds to appearances, exposure and clicks of that item, and to the appearances and the
    exposure that were not shown, (5, e)."""

    @classmethod
    def of(cls, events: Sequence[Event], now: float) -> EventBatch:
        """Lay out events; what another clock puts into the future happened now.

        What an answer says of positions that were not shown happened when the slate was handed out.
        """
        batch = cls._of(events, now)
        unshown = [part for event in events if (part := _unshown(event)) is not None]
        return batch.joined(cls._of_unshown(unshown, now)) if unshown else batch

    @classmethod
    def _of(cls, events: Sequence[Event], now: float) -> EventBatch:
        answered = np.array([event.answered for event in events], dtype=bool)
        lengths = np.array([len(event.slots) for event in events], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        owner = np.repeat(np.arange(len(events)), lengths)
        position = np.arange(len(owner)) - starts[owner]
        worth = exposure_units(int(lengths.max(initial=0)))
        shown = ~answered[owner]
        clicks, positions = answered * lengths, ~answered * lengths
        default = np.array([DEFAULT in event.note.get(ANSWER, {}) for event in events], dtype=bool)
        unshown = np.zeros_like(lengths)
        totals = [~answered, answered, clicks, clicks > 0, positions, unshown, default]
        nothing = np.zeros_like(owner)
        entries = [shown, shown * worth[position], ~shown, nothing, nothing]
        none = np.empty(0, dtype=np.int64)
        return cls(
            times=_times([event.time for event in events], now),
            totals=np.stack(totals, axis=1).astype(np.int64),
            owner=owner,
            slots=np.concatenate([none, *(event.slots for event in events)]),
            entries=np.stack(entries).astype(np.int64),
        )

    @classmethod
    def _of_unshown(cls, parts: Sequence[Mapping[str, Any]], now: float) -> EventBatch:
        """Lay out what answers say of positions that were not shown."""
        lengths = np.array([len(part["slots"]) for part in parts], dtype=np.int64)
        totals = np.zeros((len(parts), TOTALS), dtype=np.int64)
        totals[:, 5] = lengths
        worth = [exposure_units(p["below"] + len(p["slots"]))[p["below"] :] for p in parts]
        entries = np.zeros((COLUMNS, int(lengths.sum())), dtype=np.int64)
        entries[3], entries[4] = 1, np.concatenate(worth)
        return cls(
            times=_times([part["time"] for part in parts], now),
            totals=totals,
            owner=np.repeat(np.arange(len(parts)), lengths),
            slots=np.concatenate([np.array(part["slots"], dtype=np.int64) for part in parts]),
            entries=entries,
        )

    def joined(self, other: EventBatch) -> EventBatch:
        """Return these events and others."""
        return EventBatch(
            times=np.concatenate([self.times, other.times]),
            totals=np.concatenate([self.totals, other.totals]),
            owner=np.concatenate([self.owner, other.owner + len(self.times)]),
            slots=np.concatenate([self.slots, other.slots]),
            entries=np.concatenate([self.entries, other.entries], axis=1),
        )

    def where(self, chosen: Bools) -> EventBatch:
        """Return some of the events."""
        if chosen.all():
            return self
        kept = chosen[self.owner]
        return EventBatch(
            times=self.times[chosen],
            totals=self.totals[chosen],
            owner=(np.cumsum(chosen) - 1)[self.owner[kept]],
            slots=self.slots[kept],
            entries=self.entries[:, kept],
        )

    def of_slots(self, most: int) -> EventBatch:
        """Return the same events with entries of the first so many slots only."""
        kept = self.slots < most
        if kept.all():
            return self
        return replace(
            self,
            owner=self.owner[kept],
            slots=self.slots[kept],
            entries=self.entries[:, kept],
        )


def _unshown(event: Event) -> Mapping[str, Any] | None:
    """Return what an answer says of positions that were not shown, if it does."""
    part: Mapping[str, Any] | None = event.note.get(ANSWER, {}).get("unshown")
    return part


def _times(times: Sequence[float], now: float) -> Floats:
    """Return times that are not in the future, also of one that is not a number."""
    return np.asarray(np.fmax(np.fmin(np.array(times, dtype=np.float64), now), 0.0))


@dataclass(kw_only=True, eq=False)
class Counts:
    """Counts of every slot that was ever handed out, and of the slates themselves.

    What was handed out counts as shown, unless an answer says that it was not.

    Slots are kept in pages: those of which no item was shown take no memory. So do columns in
    which nothing was counted; others take as many bytes as their largest number needs.
    """

    totals: Ints = field(default_factory=lambda: np.zeros(TOTALS, dtype=np.int64))
    """Slates handed out, answers, clicks, slates with a click, positions handed out, positions that
    were not shown, and answers that nobody gave in time, whatever became of the items."""
    _page_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """Place of each page, -1 for those without counts."""
    _columns: list[Column] = field(default_factory=lambda: [_NOTHING] * COLUMNS)
    """Appearances E_B and exposure E_P in units that were handed out, clicks, and the appearances
    and units that were not shown, of the slots of all pages; some are spare."""
    _most: list[int] = field(default_factory=lambda: [0] * COLUMNS)
    """No number of a column is larger, up to its sign."""
    _used: int = 0
    """Pages with counts."""

    @property
    def slates(self) -> int:
        """Slates handed out."""
        return int(self.totals[0])

    @property
    def answers(self) -> int:
        """Slates with feedback, and those that are learned as not clicked without."""
        return int(self.totals[1])

    @property
    def clicks(self) -> int:
        """Clicks."""
        return int(self.totals[2])

    @property
    def clicked(self) -> int:
        """Answers with a click."""
        return int(self.totals[3])

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return self._page_of.nbytes + sum(column.nbytes for column in self._columns)

    def add(self, batch: EventBatch) -> None:
        """Count events."""
        self.add_entries(batch.slots, batch.entries)
        self.totals += batch.totals.sum(axis=0)

    def add_entries(self, slots: Slots | Ints, entries: Ints, *, distinct: bool = False) -> None:
        """Add to the columns (5, n) of slots, which may be there several times unless they are
        said to be distinct."""
        page, place = np.divmod(np.asarray(slots, dtype=np.int64), PAGE)
        self._make_room(page)
        rows = self._page_of[page].astype(np.int64) * PAGE + place
        for number, values in enumerate(entries):
            gain = _largest(values) if distinct else int(np.abs(values).sum())
            if gain:
                self._widen(number, rows, values, gain, distinct=distinct)
                column = self._columns[number]
                values = values.astype(column.dtype)  # what wraps around comes back
                if distinct:
                    column[rows] += values
                else:
                    np.add.at(column, rows, values)

    def _widen(self, number: int, rows: Ints, values: Ints, gain: int, *, distinct: bool) -> None:
        """Let a column hold what is added to it: its numbers may grow by as much as `gain`."""
        column = self._columns[number]
        if not len(column):
            column = np.zeros(self._room, dtype=np.int8)
        if self._most[number] + gain > np.iinfo(column.dtype).max:  # looks closer
            gains = values
            if not distinct:
                rows, of = np.unique(rows, return_inverse=True)
                gains = np.zeros(len(rows), dtype=np.int64)
                np.add.at(gains, of, values)
            most = max(_largest(column[: PAGE * self._used]), _largest(column[rows] + gains))
            kind = np.promote_types(column.dtype, np.min_scalar_type(~most))
            if kind != column.dtype:
                column, narrow = np.zeros(self._room, dtype=kind), column
                column[: PAGE * self._used] = narrow[: PAGE * self._used]
            self._most[number], gain = most, 0
        self._most[number] += gain
        self._columns[number] = column

    @property
    def _room(self) -> int:
        """Slots for which there is room with some to spare, whose memory nothing touches."""
        return PAGE * (self._used + self._used // 4 + 1)

    def _make_room(self, pages: Ints) -> None:
        """Let every page have a place; they may be there several times."""
        missing = int(pages.max(initial=-1)) + 1 - len(self._page_of)
        if missing > 0:
            self._page_of = np.pad(self._page_of, (0, missing), constant_values=-1)
        new = np.unique(pages[self._page_of[pages] < 0])
        if not len(new):
            return
        used, self._used = self._used, self._used + len(new)
        self._page_of[new] = np.arange(used, self._used)
        for number, column in enumerate(self._columns):
            if 0 < len(column) < PAGE * self._used:
                larger = np.zeros(self._room, dtype=column.dtype)
                larger[: PAGE * used] = column[: PAGE * used]
                self._columns[number] = larger

    @property
    def shown(self) -> Ints:
        """The slots that something was counted of, ascending, (t,)."""
        pages = np.flatnonzero(self._page_of >= 0)
        counted = np.zeros((len(pages), PAGE), dtype=bool)
        for column in self._columns:
            if len(column):
                counted |= column.reshape(-1, PAGE)[self._page_of[pages]] != 0
        page, place = np.nonzero(counted)
        return np.asarray(pages[page] * PAGE + place)

    @property
    def by_slot(self) -> Ints:
        """What `of` returns of all slots up to the last one that was shown, (3, s)."""
        return self.of(np.arange(int(self.shown.max(initial=-1)) + 1))

    def of(self, slots: Slots | Ints) -> Ints:
        """Return appearances and units that were shown, and clicks, of some slots, (3, n)."""
        columns = self.columns(slots)
        columns[:2] = np.maximum(columns[:2] - columns[3:], 0)  # the slate may have been forgotten
        return columns[:3]

    def columns(self, slots: Slots | Ints) -> Ints:
        """Return all that is counted of some slots, (5, n); 0 where nothing was."""
        return self._found(range(COLUMNS), slots)

    def units_of(self, slots: Slots | Ints) -> Ints:
        """Return the exposure E_P of some slots that was shown, in units, (n,)."""
        handed_out, unshown = self._found((1, 4), slots)
        return np.asarray(np.maximum(handed_out - unshown, 0))

    def _found(self, numbers: Sequence[int], slots: Slots | Ints) -> Ints:
        """Return some columns of some slots, (c, n)."""
        rows, there = self._places(slots)
        found = np.zeros((len(numbers), len(slots)), dtype=np.int64)
        for values, number in zip(found, numbers, strict=True):
            if len(column := self._columns[number]):
                values[there] = column[rows]
        return found

    def _places(self, slots: Slots | Ints) -> tuple[Ints, Bools]:
        """Return where the counts of slots are, of those that have some, and which these are."""
        page, place = np.divmod(slots, PAGE)
        there = page < len(self._page_of)
        at = np.full(len(slots), -1, dtype=np.int64)
        at[there] = self._page_of[page[there]]
        there = at >= 0
        return at[there] * PAGE + place[there], there

    def copy(self) -> Counts:
        """Return an independent copy."""
        return Counts(
            totals=self.totals.copy(),
            _page_of=self._page_of.copy(),
            _columns=[column[: PAGE * self._used].copy() for column in self._columns],
            _most=list(self._most),
            _used=self._used,
        )


def _largest(column: Column | Ints) -> int:
    """Return the largest number up to its sign."""
    return max(int(column.max(initial=0)), -int(column.min(initial=0)))
