"""How many requests came in each minute of a week, and how long they took.

Each worker counts in a file of its own, and all of them read all files: so each of them can say
what all did, and a worker that is started again goes on where it was.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faircascade.service.exposure.windows import SPANS
from faircascade.service.worker import Worker
from faircascade.types import Ints

MINUTE = 60
MINUTES = 7 * 24 * 60
"""Minutes that are remembered."""
BOUNDS = (
    *(0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075),
    *(0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0),
)
"""Seconds up to which requests of a kind are counted together."""

_KIND = {
    "/v1/recommendations": 0,
    "/v1/recommendations/batch": 0,
    "/v1/feedback": 1,
    "/v1/feedback/batch": 1,
}
_OTHER = 2
_TIMED = "/v1/recommendations"
"""The route whose times are counted: what people wait for."""
_MINUTE, _REQUESTS, _ERRORS, _REFUSED, _TIMES = 0, 1, 4, 5, 6
"""Columns: the number of the minute, since 1970; requests by kind; failures; refusals; times."""
_COLUMNS = _TIMES + len(BOUNDS) + 1
_BYTES = MINUTES * _COLUMNS * 8
_TOO_MANY = 429


@dataclass(frozen=True, kw_only=True, eq=False)
class TrafficMoment:
    """The requests of one step."""

    since: float
    until: float
    counts: Ints
    """Requests for slates, feedback, others; failed ones, refused ones, (5,)."""
    times: Ints
    """Single requests for a slate by how long they took, (b,)."""

    def seconds(self, share: float) -> float | None:
        """Return the time within which a share was answered; None if there was no request."""
        total = int(self.times.sum())
        if not total:
            return None
        up_to = np.cumsum(self.times)
        at = int(np.searchsorted(up_to, share * total))
        low, high = (0.0, *BOUNDS)[at], (*BOUNDS, BOUNDS[-1])[at]
        within = (share * total - (up_to[at] - self.times[at])) / self.times[at]
        return float(low + within * (high - low))


class Traffic:
    """Counts requests by minute."""

    def __init__(self, clock: Callable[[], float], worker: Worker | None = None) -> None:
        self._clock = clock
        self._worker = worker
        memory = bytearray(_BYTES) if worker is None else _shared(_file(worker, worker.number))
        self._counts = memoryview(memory).cast("q")

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer; only those of the API."""
        if not route.startswith("/v1/"):
            return
        row = self._row()
        self._counts[row + _REQUESTS + _KIND.get(route, _OTHER)] += 1
        if status >= 500:
            self._counts[row + _ERRORS] += 1
        elif status == _TOO_MANY:
            self._counts[row + _REFUSED] += 1
        elif route == _TIMED:
            self._counts[row + _TIMES + bisect_left(BOUNDS, seconds)] += 1

    def refused(self, route: str) -> None:
        """Count a request that was refused at once, as there were too many."""
        row = self._row()
        self._counts[row + _REQUESTS + _KIND.get(route, _OTHER)] += 1
        self._counts[row + _REFUSED] += 1

    def _row(self) -> int:
        """Return where the running minute begins; what was there a week ago is forgotten."""
        minute = int(self._clock() // MINUTE)
        row = minute % MINUTES * _COLUMNS
        if self._counts[row] != minute:
            self._counts[row] = 0  # who reads meanwhile sees nothing
            for column in range(1, _COLUMNS):
                self._counts[row + column] = 0
            self._counts[row] = minute
        return row

    def timeline(self, window: str) -> list[TrafficMoment]:
        """Return the steps of a window of `SPANS`, oldest first; the last one is not over yet."""
        span, now = SPANS[window], self._clock()
        running = int(now // span.seconds)
        first = running - span.steps + 1
        each = span.seconds // MINUTE
        minutes = np.arange(first * each, (running + 1) * each)
        rows = sum(_of(minutes, counts) for counts in self._everybody())
        steps = np.asarray(rows).reshape(span.steps, each, _COLUMNS).sum(axis=1)
        return [
            TrafficMoment(
                since=float(number * span.seconds),
                until=min(float((number + 1) * span.seconds), now),
                counts=step[_REQUESTS:_TIMES],
                times=step[_TIMES:],
            )
            for number, step in zip(range(first, running + 1), steps, strict=True)
        ]

    def _everybody(self) -> Sequence[Ints]:
        """Return the counts of all workers."""
        if self._worker is None:
            return [np.frombuffer(self._counts, np.int64).reshape(MINUTES, _COLUMNS)]
        files = [_file(self._worker, number) for number in range(self._worker.count)]
        return [
            np.fromfile(file, np.int64, MINUTES * _COLUMNS).reshape(MINUTES, _COLUMNS)
            for file in files
            if file.exists()
        ]


def _of(minutes: Ints, counts: Ints) -> Ints:
    """Return the rows of minutes, zeros where nothing was counted."""
    rows = counts[minutes % MINUTES]
    return np.where((rows[:, _MINUTE] == minutes)[:, None], rows, 0)


def _file(worker: Worker, number: int) -> Path:
    return Path(worker.folder, f"traffic-{number}")


def _shared(path: Path) -> mmap.mmap:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(file, _BYTES)
        return mmap.mmap(file, _BYTES)
    finally:
        os.close(file)
