"""How long policies in the shadow may let users wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.2
"""Shadows may take one part in five of the time: a slow one ranks for fewer slates."""
MOST = 0.1
"""Seconds that are saved up at most while nobody comes."""


class ShadowBudget:
    """Time that is saved up for shadows, and spent by them."""

    def __init__(
        self,
        dropped: Callable[[int], None] = lambda slates: None,
        elapsed: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Say how many slates were `dropped`, for which no shadow ranked."""
        self.dropped = dropped
        self._elapsed = elapsed
        self._saved = MOST
        self._read = elapsed()

    @property
    def is_spent(self) -> bool:
        """Whether shadows have to wait until there is time for them again."""
        now = self._elapsed()
        self._saved = min(MOST, self._saved + SHARE * (now - self._read))
        self._read = now
        return self._saved <= 0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Take what the block takes."""
        began = self._elapsed()
        try:
            yield
        finally:
            self._saved -= self._elapsed() - began
