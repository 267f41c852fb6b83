"""What was shown and clicked, in whole numbers by slot: they add up to the same in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from faircascade.rerankers.ledger import exposure_units
from faircascade.service.stores.base import Event, Slots
from faircascade.types import Bools, Floats, Ints

TOTALS = 4
"""Numbers that are counted of slates, beside those of items."""


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


@dataclass(kw_only=True, eq=False)
class Counts:
    """Counts of every slot that was ever shown, and of the slates themselves."""

    by_slot: Ints = field(default_factory=lambda: np.zeros((3, 0), dtype=np.int64))
    """Appearances E_B, exposure E_P in units, and clicks of each slot, (3, s)."""
    totals: Ints = field(default_factory=lambda: np.zeros(TOTALS, dtype=np.int64))
    """Slates handed out, answers, clicks and slates with a click, whatever became of the items."""

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
        self.grow(int(batch.slots.max(initial=-1)) + 1)
        for counts, more in zip(self.by_slot, batch.entries, strict=True):
            np.add.at(counts, batch.slots, more)
        self.totals += batch.totals.sum(axis=0)

    def grow(self, slots: int) -> None:
        """Make room for as many slots."""
        missing = slots - self.by_slot.shape[1]
        if missing > 0:
            self.by_slot = np.pad(self.by_slot, ((0, 0), (0, missing)))

    def of(self, slots: Slots | Ints) -> Ints:
        """Return appearances, units and clicks of some slots, (3, n); 0 where none was seen."""
        known = slots < self.by_slot.shape[1]
        found = np.zeros((3, len(slots)), dtype=np.int64)
        found[:, known] = self.by_slot[:, slots[known]]
        return found

    def units_of(self, slots: Slots | Ints) -> Ints:
        """Return the exposure E_P of some slots in units, (n,)."""
        units = self.by_slot[1]
        if len(slots) and slots.max() < len(units):
            return np.asarray(units[slots])
        return np.asarray(self.of(slots)[1])

    def copy(self) -> Counts:
        """Return an independent copy."""
        return Counts(by_slot=self.by_slot.copy(), totals=self.totals.copy())
