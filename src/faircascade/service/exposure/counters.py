"""All that was counted: since the first slate, and in each sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from faircascade.errors import ParameterError
from faircascade.service.exposure.counts import Counts, EventBatch
from faircascade.service.exposure.recipients import Recipients
from faircascade.service.exposure.tally import Tallies
from faircascade.service.exposure.windows import SPANS, Window
from faircascade.service.stores.base import Event
from faircascade.types import Floats, Ints

ALL = "all"
"""Name of the window without an end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExposureSnapshot:
    """A window as it stood, for whoever takes longer to read it."""

    window: str
    since: float | None
    """None if nothing was ever shown."""
    until: float
    counts: Counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """One step of a window as it stood."""

    since: float
    until: float
    totals: Ints
    """What is counted of slates, see `Counts.totals`, (7,)."""
    fairness: Floats | Counts
    """By notion, (5,), or of a step that is not settled yet what to measure it from."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """The steps of a window as they stood."""

    window: str
    since: float
    until: float
    seconds: int
    """Length of a step."""
    moments: tuple[Moment, ...]
    """Oldest first; the last one is not over yet."""


@dataclass(kw_only=True, eq=False)
class Counters:
    """Counts of all time and of the windows."""

    first: float | None = None
    """When the first slate was handed out."""
    counts: Counts = field(default_factory=Counts)
    """Of all time."""
    windows: dict[str, Window] = field(
        default_factory=lambda: {name: Window(span=span) for name, span in SPANS.items()}
    )

    tallies: Tallies = field(default_factory=Tallies)
    """Of experiments."""

    def count(self, events: Sequence[Event], now: float, recipients: Recipients) -> None:
        """Count events, which come roughly in their order."""
        self.tallies.count(events, now)
        batch = EventBatch.of(events, now)
        slates = batch.times[batch.totals[:, 0] > 0]
        if len(slates):
            earliest = float(slates.min())
            self.first = earliest if self.first is None else min(self.first, earliest)
        self.counts.add(batch)
        for window in self.windows.values():
            window.rewind(now)
            window.count(batch, recipients)

    def advance(self, now: float, recipients: Recipients) -> None:
        """Let time pass."""
        for window in self.windows.values():
            window.rewind(now)
            window.advance(now, recipients)

    def snapshot(self, name: str, now: float) -> ExposureSnapshot:
        """Return a copy of the counts of a window, or of "all"."""
        if name == ALL:
            return ExposureSnapshot(
                window=ALL, since=self.first, until=now, counts=self.counts.copy()
            )
        window = self._window(name, ALL)
        return ExposureSnapshot(
            window=name,
            since=window.since,
            until=window.until(now),
            counts=window.total.copy(),
        )

    def timeline(self, name: str, now: float) -> Timeline:
        """Return a copy of the steps of a window."""
        window = self._window(name)
        seconds, until = window.span.seconds, window.until(now)
        moments = []
        for number in range(window.first, window.running + 1):
            step = window.step(number)
            moments.append(
                Moment(
                    since=float(number * seconds),
                    until=min(float((number + 1) * seconds), until),
                    totals=step.totals,
                    fairness=step if isinstance(step, Counts) else step.measured,
                )
            )
        return Timeline(
            window=name,
            since=window.since,
            until=until,
            seconds=seconds,
            moments=tuple(moments),
        )

    def _window(self, name: str, *others: str) -> Window:
        if name not in self.windows:
            names = ", ".join([*others, *self.windows])
            raise ParameterError("window", f"must be one of {names}", name)
        return self.windows[name]

    def copy(self) -> Counters:
        """Return an independent copy."""
        return Counters(
            first=self.first,
            counts=self.counts.copy(),
            windows={name: window.copy() for name, window in self.windows.items()},
            tallies=self.tallies.copy(),
        )
