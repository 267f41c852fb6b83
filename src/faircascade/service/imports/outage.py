"""A word in the log when a service or a source stops answering, and one when it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

QUIET_SECONDS = 2.0
"""Seconds for which nothing is said: a service that sheds load is back at once."""


class Outage:
    """Counts the time for which something does not answer."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._since: float | None = None
        self._told = False

    @property
    def lasts(self) -> bool:
        """True while there was no answer since the last failure."""
        return self._since is not None

    def failed(self, reason: str) -> None:
        """Take note of an attempt without success."""
        now = self._clock()
        if self._since is None:
            self._since = now
        elif not self._told and now - self._since >= QUIET_SECONDS:
            self._told = True
            log.warning("waiting for the %s: %s", self._what, reason)

    def over(self) -> None:
        """Take note of a success."""
        if self._since is None:
            return
        if self._told:
            log.warning(
                "the %s answers again after %.0f s", self._what, self._clock() - self._since
            )
        self._since, self._told = None, False
