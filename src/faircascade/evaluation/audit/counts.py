"""Counts of a log in one pass: by item, position, block of users and period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import Impressions, Log
from faircascade.evaluation.audit.item_cells import ItemCells
from faircascade.evaluation.audit.periods import Periods, is_calendar
from faircascade.evaluation.audit.position_counts import PositionCounter, PositionCounts, Strip
from faircascade.evaluation.user_blocks import UserBlocks
from faircascade.metrics.tally import UNIT, discounts
from faircascade.types import Bools, Floats, Ints

MOST_CELLS = 1 << 26
"""Items times periods times blocks, above which exposure is not counted by period."""
_AT_ONCE = 1 << 22
"""Positions of impressions that are counted at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodCounts:
    """What each period had; b blocks of users, p periods."""

    starts: Floats
    """Where each begins: seconds since 1970, another time, or the number of an impression, (p,)."""
    length: float
    kind: str
    """"calendar", "time" or "impressions": what these numbers are."""
    served: Ints
    """Slates shown, (p, b)."""
    clicks: Ints
    """Clicks on them, (p, b)."""
    exposure: Floats | None
    """Exposure (P) of each item, (m, p, b); None if there are too many items."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LogCounts:
    """What a log had; m items, K positions, b blocks of users."""

    appearances: PositionCounts
    item_clicks: PositionCounts
    served: Ints
    """Slates shown, (b,)."""
    clicks: Ints
    """Clicks on them, on unknown items too, (b,)."""
    clicked: Ints
    """Slates with a click, (b,)."""
    periods: PeriodCounts | None

    @property
    def blocks(self) -> Ints:
        """The blocks in which there is anything."""
        return np.flatnonzero(self.served)


def count(log: Log, *, blocks: int, periods: int, progress: Progress | None = None) -> LogCounts:
    """Read a log once and count."""
    counter, users = _Counter(blocks, periods), UserBlocks(log, blocks)
    for impressions in log.blocks(progress):
        for part in _parts(impressions):
            counter.add(part, users.of(part.users))
    return counter.counts(len(log.item_ids))


def _parts(impressions: Impressions) -> Iterator[Impressions]:
    """Yield a few impressions at a time: each takes the memory of the longest slate."""
    size = max(1, _AT_ONCE // max(impressions.k, 1))
    for first in range(0, len(impressions), size):
        part = impressions.take(slice(first, first + size))
        yield replace(part, first=impressions.first + first)


class _Counter:
    def __init__(self, blocks: int, periods: int) -> None:
        self.b, self.k, self.most = blocks, 0, periods
        self.positions = PositionCounter(blocks)
        self.totals = np.zeros((3, blocks), dtype=np.int64)  # served, clicks, clicked
        self.periods: Periods | None = None
        self.timed: bool | None = None
        self.by_period = np.zeros((2, periods, blocks), dtype=np.int64)  # served, clicks
        self.exposure: ItemCells | None = ItemCells((periods, blocks), np.int64)

    def add(self, impressions: Impressions, block: Ints) -> None:
        """Count impressions whose users are in these blocks, (n,)."""
        hits = impressions.clicks.sum(axis=1)  # (n,)
        self.k = max(self.k, impressions.k)
        strip = _strip(impressions, block)
        self.positions.add(strip)
        for row, more in zip(self.totals, (np.ones_like(hits), hits, hits > 0), strict=True):
            row += np.bincount(block, more, self.b).astype(np.int64)
        if self.most:
            self._add_periods(impressions, strip, hits)

    def _add_periods(self, impressions: Impressions, strip: Strip, hits: Ints) -> None:
        times = self._times(impressions)
        if self.periods is None:
            calendar = self.timed is True and is_calendar(times)
            self.periods = Periods(self.most, calendar=calendar, whole=not self.timed)
        moved = self.periods.stretch(times)
        if moved is not None:
            self._move(moved)
        period = self.periods.rows(times)
        place = period * self.b + strip.block
        size = self.most * self.b
        for row, more in zip(self.by_period, (np.ones_like(hits), hits), strict=True):
            row += np.bincount(place, more, size).astype(np.int64).reshape(self.most, self.b)
        self._add_exposure(strip, place)

    def _times(self, impressions: Impressions) -> Floats:
        """Return the times, or the numbers of the impressions if the log has none."""
        if self.timed is None:
            self.timed = impressions.times is not None
        if self.timed and impressions.times is not None:
            return impressions.times
        return np.arange(impressions.first, impressions.first + len(impressions), dtype=float)

    def _add_exposure(self, strip: Strip, place: Ints) -> None:
        if self.exposure is None:
            return
        items, there = strip.items, strip.there
        size = int(items.max(initial=-1)) + 1
        if size * self.most * self.b > MOST_CELLS:
            self.exposure = None
            return
        self.exposure.grow(size, (self.most, self.b))
        cell = items.astype(np.int64) * (self.most * self.b) + place[:, None]
        units = np.rint(discounts(items.shape[1]) / UNIT).astype(np.int64)
        self.exposure.add(cell[there], np.broadcast_to(units, cell.shape)[there])

    def _move(self, moved: Ints) -> None:
        """Put the old periods into the rows that they have now."""
        if np.array_equal(moved, np.arange(len(moved))):
            return
        for counts in self.by_period:
            old = counts[: len(moved)].copy()
            counts[:] = 0
            np.add.at(counts, moved, old)
        if self.exposure is not None:
            before = self.exposure.array[:, : len(moved)].copy()
            self.exposure.array[:] = 0
            for row, into in enumerate(moved.tolist()):
                self.exposure.array[:, into] += before[:, row]

    def counts(self, items: int) -> LogCounts:
        """Return what was counted, of so many items."""
        served, clicks, clicked = self.totals
        appearances, item_clicks = self.positions.counts(items, self.k)
        return LogCounts(
            appearances=appearances,
            item_clicks=item_clicks,
            served=served,
            clicks=clicks,
            clicked=clicked,
            periods=self._period_counts(items),
        )

    def _period_counts(self, items: int) -> PeriodCounts | None:
        if self.periods is None:
            return None
        starts, exposure = self.periods.starts, None
        if self.exposure is not None and items * self.most * self.b <= MOST_CELLS:
            self.exposure.grow(items, (self.most, self.b))
            exposure = self.exposure.array[:items, : len(starts)] * UNIT
        kind = "calendar" if self.periods.calendar else "time" if self.timed else "impressions"
        return PeriodCounts(
            starts=starts,
            length=self.periods.length,
            kind=kind,
            served=self.by_period[0, : len(starts)],
            clicks=self.by_period[1, : len(starts)],
            exposure=exposure,
        )


def _strip(impressions: Impressions, block: Ints) -> Strip:
    """Return what was shown, as wide as the longest slate among these."""
    items, clicks = impressions.items, impressions.clicks
    there: Bools = items >= 0
    there &= np.arange(impressions.k) < impressions.shown[:, None]
    used = np.flatnonzero(there.any(axis=0))
    width = int(used[-1]) + 1 if len(used) else 0
    return Strip(items[:, :width], there[:, :width], clicks[:, :width], block)
