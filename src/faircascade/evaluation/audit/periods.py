"""Periods of a log that nobody knows the length of: they get longer as it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from faircascade.types import Floats, Ints

CALENDAR = (1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400)
"""Lengths in seconds that people count in: each is a multiple of the one before."""
_SINCE_1970 = (1e8, 1e11)
"""Numbers that are taken as seconds since 1970: from 1973 on, and no milliseconds."""


def is_calendar(times: Floats) -> bool:
    """Tell whether times are seconds since 1970."""
    low, high = _SINCE_1970
    return bool(len(times)) and low <= float(times.min()) and float(times.max()) < high


def lengths(calendar: bool) -> Iterator[float]:
    """Yield ever longer periods; each is a multiple of the one before."""
    if not calendar:
        return (2.0**power for power in count(-20))
    return (float(each) for each in _calendar_lengths())


def _calendar_lengths() -> Iterator[int]:
    yield from CALENDAR
    for power in count(1):
        yield CALENDAR[-1] << power


class Periods:
    """Equal periods, at most so many, from the first to the last time that was seen.

    They begin at multiples of their length. When there are too many, the next length is taken and
    some are put together, so that the outcome depends on the first and the last time alone.
    """

    def __init__(self, most: int, *, calendar: bool, whole: bool = False) -> None:
        self.most, self.calendar = most, calendar
        self._lengths = lengths(calendar)
        self.length = next(self._lengths)
        if whole:  # impressions are counted, and none is cut in two
            while self.length < 1:
                self.length = next(self._lengths)
        self.first = self.last = 0
        self._begun = False

    @property
    def starts(self) -> Floats:
        """Where each period begins, (periods,)."""
        return np.asarray(np.arange(self.first, self.last + 1) * self.length, dtype=np.float64)

    def stretch(self, times: Floats) -> Ints | None:
        """Take in more times; return the new row of each old period, None if there was none."""
        low, high = float(times.min()), float(times.max())
        before = self.starts if self._begun else None
        if before is not None:
            low, high = min(low, before[0]), max(high, before[-1])
        while np.floor(high / self.length) - np.floor(low / self.length) >= self.most:
            self.length = next(self._lengths)
        self.first, self.last = (int(np.floor(end / self.length)) for end in (low, high))
        self._begun = True
        return None if before is None else self.rows(before)

    def rows(self, times: Floats) -> Ints:
        """Return the period of each time, counted from the first, (n,)."""
        return np.floor(times / self.length).astype(np.int64) - self.first
