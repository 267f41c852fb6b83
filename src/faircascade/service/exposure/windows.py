"""Sliding windows: the running step and the ones before it, as many as the window is long."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.service.exposure.counts import COLUMNS, Counts, EventBatch
from faircascade.service.exposure.fairness import MEASURES, fairness
from faircascade.service.exposure.recipients import Recipients
from faircascade.types import Floats, Ints

Packed = NDArray[np.unsignedinteger[Any]]
"""Numbers in the smallest type that holds them all."""

_LEVEL = 1
"""Of deflating: a third to a half of what numbers take, in 60 ms for a million items."""
_AT_ONCE = 16_384
"""Items that are added at a time."""
UNSETTLED = np.full(len(MEASURES), np.nan)
"""Fairness of a step that is measured when it is asked for."""
LATE_AT_ONCE = 2
"""Steps, oldest first, to which what came late is added when the window moves on: requests wait for
that."""
OPEN = 2
"""Steps that are easy to add to: the running one, and the one before it for those who are late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """How long a window is, and how finely it slides."""

    name: str
    seconds: int
    """Length of a step; steps begin at multiples of it since 1970."""
    steps: int


SPANS = {
    span.name: span
    for span in (
        Span(name="1h", seconds=60, steps=60),
        Span(name="24h", seconds=30 * 60, steps=48),
        Span(name="7d", seconds=6 * 3600, steps=28),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """Counts of the slots that were touched. Never changed, so that threads may share it."""

    size: int
    """Slots that were touched, t."""
    packed: bytes
    """Deflated: what is counted of each, see `Counts.columns`, after the distance of each slot from
    the one before, the first one from 0; each column in the smallest type that holds it."""
    totals: Ints
    """What is counted of slates, see `Counts.totals`, (7,)."""
    fairness: Floats
    """By notion, over the catalogue at the time it was over, (5,); not numbers where it is measured
    when it is asked for."""

    @classmethod
    def pack(cls, counts: Counts, fairness: Floats) -> Step:
        """Return counts made small."""
        slots = counts.shown
        columns = [smallest(c) for c in (np.diff(slots, prepend=0), *counts.columns(slots))]
        sizes = bytes(column.itemsize for column in columns)
        return cls(
            size=len(slots),
            packed=zlib.compress(b"".join([sizes, *(c.tobytes() for c in columns)]), _LEVEL),
            totals=counts.totals.copy(),
            fairness=fairness,
        )

    @property
    def entries(self) -> tuple[Ints, Ints]:
        """The slots that were touched, ascending, (t,), and what is counted of each, (5, t)."""
        slots, columns = self._unpacked
        return slots, np.stack([column.astype(np.int64) for column in columns])

    @property
    def _unpacked(self) -> tuple[Ints, list[Packed]]:
        """The same, with each column in its own type."""
        try:
            unpacked = memoryview(zlib.decompress(self.packed))
        except zlib.error as error:
            raise ValueError(f"a step cannot be unpacked ({error})") from error
        sizes, body = unpacked[: COLUMNS + 1], unpacked[COLUMNS + 1 :]
        if len(body) != sum(sizes) * self.size:
            raise ValueError(f"a step of {self.size} items has {len(body)} bytes")
        ends = np.cumsum([0, *sizes]) * self.size
        gaps, *columns = (
            np.frombuffer(body[first:last], dtype=f"u{size}")
            for size, first, last in zip(sizes, ends, ends[1:], strict=False)
        )
        return np.cumsum(gaps, dtype=np.int64), columns

    @property
    def measured(self) -> Floats | Counts:
        """Its fairness, or what to measure it from."""
        if not np.isnan(self.fairness).all():
            return self.fairness
        counts = Counts()
        self.add_to(counts)
        return counts

    def add_to(self, counts: Counts, sign: int = 1) -> None:
        """Add what was counted here to other counts; -1 takes it away again."""
        slots, columns = self._unpacked
        for first in range(0, self.size, _AT_ONCE):  # little memory besides, and in the cache
            part = slice(first, first + _AT_ONCE)
            entries = np.stack([column[part].astype(np.int64) for column in columns])
            counts.add_entries(slots[part], sign * entries, distinct=True)
        counts.totals += sign * self.totals


@dataclass(kw_only=True, eq=False)
class Window:
    """Counts of the last steps, each and together.

    Only a clock moves it on: events from before it are left out, and those of a step that is over
    go where they belong as long as that step is kept. The fairness of such a step is measured anew
    when somebody asks for it: to measure it for each event would take too long.
    """

    span: Span
    running: int = 0
    """Number of the running step: its start in units of its length."""
    total: Counts = field(default_factory=Counts)
    """The sum of all steps."""
    open: dict[int, Counts] = field(default_factory=dict)
    """The last `OPEN` steps, by number; one in which nothing happened is missing. Of the steps
    before those, what came late and is not in `closed` yet."""
    closed: dict[int, Step] = field(default_factory=dict)
    """The steps before those, by number."""

    @property
    def first(self) -> int:
        """Number of the first step that is kept."""
        return self.running - self.span.steps + 1

    @property
    def since(self) -> float:
        """When it begins."""
        return float(self.first * self.span.seconds)

    def until(self, now: float) -> float:
        """Return when it ends: now, or a little later if the clock was set back."""
        return max(now, float(self.running * self.span.seconds))

    def count(self, batch: EventBatch, recipients: Recipients) -> None:
        """Count events that are not in the future."""
        numbers = (batch.times // self.span.seconds).astype(np.int64)
        for number in np.unique(numbers).tolist():
            self._move(number, recipients)
            if number >= self.first:
                part = batch.where(numbers == number)
                self.open.setdefault(number, Counts()).add(part)
                self.total.add(part)

    def step(self, number: int) -> Step | Counts:
        """Return what was counted of a step: a copy, or what never changes."""
        known = self.closed.get(number)
        return self.copied(number) if number in self.open or known is None else known

    def copied(self, number: int) -> Counts:
        """Return a copy of what was counted of a step."""
        counts = self.open[number].copy() if number in self.open else Counts()
        if number in self.closed:
            self.closed[number].add_to(counts)
        return counts

    def advance(self, now: float, recipients: Recipients) -> None:
        """Move on to a time."""
        self._move(int(now // self.span.seconds), recipients)

    def rewind(self, now: float) -> None:
        """Start afresh if the clock was set back by a whole window; less than that is waited for.

        Otherwise a clock that was once years ahead would keep the window empty for years.
        """
        number = int(now // self.span.seconds)
        if number <= self.running - self.span.steps:
            self.running = number
            self.total, self.open, self.closed = Counts(), {}, {}

    def _move(self, number: int, recipients: Recipients) -> None:
        """Make a step the running one, unless a later one is."""
        if number <= self.running:
            return
        before, self.running = self.running, number
        late = sorted(n for n in self.open if n <= before - OPEN)
        for old in late[:LATE_AT_ONCE]:
            self.closed[old] = Step.pack(self.copied(old), UNSETTLED)
            del self.open[old]
        for old in [n for n in self.open if before - OPEN < n <= number - OPEN]:
            counts = self.open.pop(old)
            self.closed[old] = Step.pack(counts, fairness(counts, recipients))
        for old in [n for n in self.open if n < self.first]:
            Step.pack(self.open.pop(old), UNSETTLED).add_to(self.total, sign=-1)
        for old in [n for n in self.closed if n < self.first]:
            self.closed.pop(old).add_to(self.total, sign=-1)

    def copy(self) -> Window:
        """Return an independent copy."""
        return Window(
            span=self.span,
            running=self.running,
            total=self.total.copy(),
            open={number: counts.copy() for number, counts in self.open.items()},
            closed=dict(self.closed),
        )


def smallest(values: Ints | Packed) -> Packed:
    """Return numbers >= 0 in the smallest type that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
