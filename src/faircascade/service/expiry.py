"""The time by which impressions expire."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

STATE = "expiry"
"""Under which name a store keeps the state of the clock."""


def seconds_elapsed() -> float:
    """Return a time that nobody can set; on Linux it goes on while the machine sleeps."""
    since_boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if since_boot is None else time.clock_gettime(since_boot)


class ExpiryClock:
    """The machine's clock, but without its leaps ahead: one day for a moment, and every slate of
    the day would be dropped, with the feedback that is still to come.

    It runs as time elapses. It follows the machine's clock back at once, and ahead by what it was
    ahead all through a time to live: what was handed out before a leap is as old as that by then,
    and what was handed out since bears the new time. So nothing expires too early, and nothing more
    than two times to live too late.
    """

    def __init__(
        self, ttl: float, clock: Callable[[], float], elapsed: Callable[[], float]
    ) -> None:
        """Begin with the time of the machine's clock, in seconds since 1970."""
        self._ttl = ttl
        self._clock = clock
        self._elapsed = elapsed
        self._read = elapsed()
        self._now = clock()
        self._ahead = 0.0
        """By how much the machine's clock was ahead, at least, since it is watched."""
        self._watched = 0.0
        """For how many seconds it is."""

    def __call__(self) -> float:
        """Return the time, in seconds since 1970; to be called every few seconds."""
        elapsed = self._elapsed()
        passed, self._read = elapsed - self._read, elapsed
        machine = self._clock()
        self._now = min(self._now + passed, machine)
        self._ahead = min(self._ahead, machine - self._now)
        self._watched += passed
        if self._watched >= self._ttl:
            self._now += self._ahead
            self._ahead, self._watched = machine - self._now, 0.0
        return self._now

    def state(self) -> dict[str, float]:
        """Return what `restore` takes, as JSON: the clock may be wrong at the next start."""
        return {"now": self(), "ahead": self._ahead, "watched": self._watched}

    def restore(self, state: Any) -> None:
        """Go on where another clock was when the service stopped; None changes nothing."""
        if state is not None:
            self._now = min(self._clock(), state["now"])
            self._ahead, self._watched = state["ahead"], state["watched"]
