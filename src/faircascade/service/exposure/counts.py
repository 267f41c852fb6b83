"""What was shown and clicked, in whole numbers by slot: they add up to the same in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from faircascade.rerankers.ledger import exposure_units
from faircascade.service.stores.base import Event, Slots
from faircascade.types import Bools, Floats, Ints

TOTALS = 4
"""Numbers that are counted of slates, beside those of items."""
COLUMNS = 3
"""Numbers that are counted of items."""
PAGE = 8
"""Neighbouring slots that share a place."""
_LARGEST = 2**31 - 1
"""Largest number that half the memory holds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EventBatch:
    """Events side by side, ready to be counted."""

    times: Floats
    """When each happened, (n,)."""
    totals: Ints
    """What each adds to the slates, the answers, the clicks and the clicked slates, (n, 4)."""
    owner: Ints
    """Which event each entry belongs to, (e,)."""
    slots: Ints
    """Which item it is about, (e,)."""
    entries: Ints
    """What it adds to appearances, exposure and clicks of that item, (3, e)."""

    @classmethod
    def of(cls, events: Sequence[Event], now: float) -> EventBatch:
        """Lay out events; what another clock puts into the future happened now."""
        answered = np.array([event.answered for event in events], dtype=bool)
        lengths = np.array([len(event.slots) for event in events], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        owner = np.repeat(np.arange(len(events)), lengths)
        position = np.arange(len(owner)) - starts[owner]
        worth = exposure_units(int(lengths.max(initial=0)))
        shown = ~answered[owner]
        clicks = answered * lengths
        times = np.array([event.time for event in events], dtype=np.float64)
        none = np.empty(0, dtype=np.int64)
        return cls(
            times=np.fmax(np.fmin(times, now), 0.0),  # also of a time that is not a number
            totals=np.stack([~answered, answered, clicks, clicks > 0], axis=1).astype(np.int64),
            owner=owner,
            slots=np.concatenate([none, *(event.slots for event in events)]),
            entries=np.stack([shown, shown * worth[position], ~shown]).astype(np.int64),
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


@dataclass(kw_only=True, eq=False)
class Counts:
    """Counts of every slot that was ever shown, and of the slates themselves.

    Slots are kept in pages: those of which no item was shown take no memory.
    """

    totals: Ints = field(default_factory=lambda: np.zeros(TOTALS, dtype=np.int64))
    """Slates handed out, answers, clicks and slates with a click, whatever became of the items."""
    _page_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """Place of each page, -1 for those without counts."""
    _pages: NDArray[np.int32] | Ints = field(
        default_factory=lambda: np.zeros((0, PAGE, COLUMNS), dtype=np.int32)
    )
    """Appearances E_B, exposure E_P in units, and clicks, by page and slot; some are spare."""
    _used: int = 0
    _bound: int = 0
    """No number is larger, up to its sign."""

    @property
    def slates(self) -> int:
        """Slates handed out."""
        return int(self.totals[0])

    @property
    def answers(self) -> int:
        """Slates with feedback."""
        return int(self.totals[1])

    @property
    def clicks(self) -> int:
        """Clicks."""
        return int(self.totals[2])

    @property
    def clicked(self) -> int:
        """Answers with a click."""
        return int(self.totals[3])

    def add(self, batch: EventBatch) -> None:
        """Count events."""
        self.add_entries(batch.slots, batch.entries)
        self.totals += batch.totals.sum(axis=0)

    def add_entries(self, slots: Slots | Ints, entries: Ints) -> None:
        """Add appearances, units and clicks (3, n) to slots, which may be there several times."""
        page, place = np.divmod(np.asarray(slots, dtype=np.int64), PAGE)
        self._make_room(page)
        self._widen(int(np.abs(entries).sum(axis=1).max(initial=0)))
        more = entries.T.astype(self._pages.dtype)
        np.add.at(self._pages, (self._page_of[page], place), more)

    def _widen(self, gain: int) -> None:
        """Let numbers grow by so much."""
        self._bound += gain
        if self._pages.dtype == np.int32 and self._bound > _LARGEST:
            self._bound = int(np.abs(self._pages[: self._used]).max(initial=0)) + gain
            if self._bound > _LARGEST:
                self._pages = self._pages.astype(np.int64)

    def _make_room(self, pages: Ints) -> None:
        """Let every page have a place."""
        missing = int(pages.max(initial=-1)) + 1 - len(self._page_of)
        if missing > 0:
            self._page_of = np.pad(self._page_of, (0, missing), constant_values=-1)
        new = np.unique(pages[self._page_of[pages] < 0])
        needed = self._used + len(new)
        if needed > len(self._pages):
            # spare pages take no memory before they are touched
            larger = np.zeros((2 * needed, PAGE, COLUMNS), dtype=self._pages.dtype)
            larger[: self._used] = self._pages[: self._used]
            self._pages = larger
        self._page_of[new] = np.arange(self._used, needed)
        self._used = needed

    @property
    def shown(self) -> Ints:
        """The slots that something was counted of, ascending, (t,)."""
        pages = np.flatnonzero(self._page_of >= 0)
        counted = self._pages[self._page_of[pages]].any(axis=2)  # (pages, PAGE)
        page, place = np.nonzero(counted)
        return np.asarray(pages[page] * PAGE + place)

    @property
    def by_slot(self) -> Ints:
        """Appearances, units and clicks of all slots up to the last one that was shown, (3, s)."""
        return self.of(np.arange(int(self.shown.max(initial=-1)) + 1))

    def of(self, slots: Slots | Ints) -> Ints:
        """Return appearances, units and clicks of some slots, (3, n); 0 where none was seen."""
        rows, there = self._places(slots)
        found = np.zeros((COLUMNS, len(slots)), dtype=np.int64)
        for column, values in enumerate(found):
            values[there] = self._pages.reshape(-1, COLUMNS)[rows, column]
        return found

    def units_of(self, slots: Slots | Ints) -> Ints:
        """Return the exposure E_P of some slots in units, (n,)."""
        rows, there = self._places(slots)
        found = np.zeros(len(slots), dtype=np.int64)
        found[there] = self._pages.reshape(-1, COLUMNS)[rows, 1]
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
            _pages=self._pages[: self._used].copy(),
            _used=self._used,
            _bound=self._bound,
        )
