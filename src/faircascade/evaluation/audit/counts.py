"""Counts of a log in one pass: by item, position, block of users and period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import Progress
from faircascade.data.log import Impressions, Log
from faircascade.evaluation.audit.periods import Periods, is_calendar
from faircascade.evaluation.user_blocks import UserBlocks
from faircascade.metrics.tally import UNIT, discounts
from faircascade.types import Floats, Ints

MOST_CELLS = 1 << 26
"""Items times periods times blocks, above which exposure is not counted by period."""


class ItemCells:
    """Integers for each item and some further axes; the number of items grows."""

    def __init__(self, shape: tuple[int, ...], kind: type[np.signedinteger[Any]]) -> None:
        self.array: NDArray[Any] = np.zeros((0, *shape), dtype=kind)

    def grow(self, items: int, shape: tuple[int, ...]) -> None:
        """Make room for more items, or longer axes."""
        old = self.array
        if items <= len(old) and shape == old.shape[1:]:
            return
        rows = max(items, 2 * len(old)) if items > len(old) else len(old)
        self.array = np.zeros((rows, *shape), dtype=old.dtype)
        self.array[tuple(map(slice, old.shape))] = old

    def add(self, cells: Ints, more: Any) -> None:
        """Add to flat cells, which may repeat."""
        np.add.at(self.array.reshape(-1), cells, more)


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

    appearances: Ints
    """(m, K, b)."""
    item_clicks: Ints
    """(m, K, b)."""
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
        counter.add(impressions, users.of(impressions.users))
    return counter.counts(len(log.item_ids))


class _Counter:
    def __init__(self, blocks: int, periods: int) -> None:
        self.b, self.k, self.most = blocks, 0, periods
        self.appearances = ItemCells((0, blocks), np.int32)
        self.item_clicks = ItemCells((0, blocks), np.int32)
        self.totals = np.zeros((3, blocks), dtype=np.int64)  # served, clicks, clicked
        self.periods: Periods | None = None
        self.timed: bool | None = None
        self.by_period = np.zeros((2, periods, blocks), dtype=np.int64)  # served, clicks
        self.exposure: ItemCells | None = ItemCells((periods, blocks), np.int64)

    def add(self, impressions: Impressions, block: Ints) -> None:
        """Count impressions whose users are in these blocks, (n,)."""
        items, clicks, k = impressions.items, impressions.clicks, impressions.k
        at = np.arange(k)
        there = (items >= 0) & (at < impressions.shown[:, None])  # (n, K)
        self.k = max(self.k, k)
        size = int(items.max(initial=-1)) + 1
        for cells in (self.appearances, self.item_clicks):
            cells.grow(size, (self.k, self.b))
        cell = (items.astype(np.int64) * self.k + at) * self.b + block[:, None]
        everything = bool(there.all())
        self.appearances.add(cell.reshape(-1) if everything else cell[there], 1)
        self.item_clicks.add(cell[clicks & there], 1)
        hits = clicks.sum(axis=1)  # (n,)
        for row, more in zip(self.totals, (np.ones_like(hits), hits, hits > 0), strict=True):
            row += np.bincount(block, more, self.b).astype(np.int64)
        if self.most:
            self._add_periods(impressions, block, there, hits)

    def _add_periods(
        self, impressions: Impressions, block: Ints, there: NDArray[np.bool_], hits: Ints
    ) -> None:
        times = self._times(impressions)
        if self.periods is None:
            calendar = self.timed is True and is_calendar(times)
            self.periods = Periods(self.most, calendar=calendar, whole=not self.timed)
        moved = self.periods.stretch(times)
        if moved is not None:
            self._move(moved)
        period = self.periods.rows(times)
        place = period * self.b + block
        size = self.most * self.b
        for row, more in zip(self.by_period, (np.ones_like(hits), hits), strict=True):
            row += np.bincount(place, more, size).astype(np.int64).reshape(self.most, self.b)
        self._add_exposure(impressions, place, there)

    def _times(self, impressions: Impressions) -> Floats:
        """Return the times, or the numbers of the impressions if the log has none."""
        if self.timed is None:
            self.timed = impressions.times is not None
        if self.timed and impressions.times is not None:
            return impressions.times
        return np.arange(impressions.first, impressions.first + len(impressions), dtype=float)

    def _add_exposure(self, impressions: Impressions, place: Ints, there: Any) -> None:
        if self.exposure is None:
            return
        items = impressions.items
        size = int(items.max(initial=-1)) + 1
        if size * self.most * self.b > MOST_CELLS:
            self.exposure = None
            return
        self.exposure.grow(size, (self.most, self.b))
        cell = items.astype(np.int64) * (self.most * self.b) + place[:, None]
        units = np.rint(discounts(impressions.k) / UNIT).astype(np.int64)
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
        for cells in (self.appearances, self.item_clicks):
            cells.grow(items, (self.k, self.b))
        served, clicks, clicked = self.totals
        return LogCounts(
            appearances=self.appearances.array[:items],
            item_clicks=self.item_clicks.array[:items],
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
