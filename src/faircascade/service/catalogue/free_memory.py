"""Memory that was freed goes back to the system: glibc keeps what lies between things in use."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from time import monotonic
from typing import Any

EVERY = 10.0
"""Seconds between two times that memory is given back: it takes some milliseconds."""


@lru_cache(maxsize=1)
def _trim() -> Any:
    """Return the function of the C library that does it, None if there is none."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc
        return None


class FreeMemory:
    """Gives memory back now and then."""

    def __init__(self) -> None:
        self._last = -EVERY

    def give_back(self) -> None:
        """Give back what is free, unless that was done a moment ago."""
        now = monotonic()
        trim = _trim()
        if trim is not None and now - self._last >= EVERY:
            self._last = now
            trim(0)
