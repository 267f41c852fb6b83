"""Memory that was freed goes back to the system: glibc keeps what lies between things in use.

So what stays for long has pages of its own, and the rest is given back now and then.
"""

from __future__ import annotations

import ctypes
import gc
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Ints

Array = TypeVar("Array", bound=NDArray[Any])

_MAPPING = {}
if hasattr(mmap, "MAP_PRIVATE"):  # all pages at once: one by one they take much longer
    populate = getattr(mmap, "MAP_POPULATE", 0)
    _MAPPING = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate}
_SETTINGS = {-3: 5 * 2**20, -1: 16 * 2**20, -8: 1}
"""Of glibc: bytes from which on memory is mapped, more than scores of 64 users for a segment take;
free bytes at the end of the heap that stay; heaps. Unless set, the first grows to 32 MiB."""
_PAGES = 2**14
"""Bytes from which on an array gets pages of its own."""

EVERY = 10.0
"""Seconds between two times that memory is given back: it takes some milliseconds."""


def in_own_pages(array: Array) -> Array:
    """Return a copy of an array whose memory goes back to the system as soon as it is let go."""
    copy = _empty(array, array.shape)
    copy[...] = array
    return copy


def taken(array: Array, rows: Ints) -> Array:
    """Return what the last axis of an array has in some rows, in pages of its own."""
    copy = _empty(array, (*array.shape[:-1], len(rows)))
    np.take(array, rows, axis=-1, out=copy, mode="clip")  # without a copy in between
    return copy


def _empty(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of a shape and the type of another, in pages of its own if it is large."""
    size = math.prod(shape) * array.itemsize
    if size < _PAGES:
        return np.empty(shape, dtype=array.dtype)  # type: ignore[return-value]
    pages = mmap.mmap(-1, size, **_MAPPING)
    return np.frombuffer(pages, dtype=array.dtype).reshape(shape)  # type: ignore[return-value]


def keep_little() -> None:
    """Let the C library keep little that is free: large arrays go back at once, threads share."""
    try:
        setting = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    for number, value in _SETTINGS.items():
        setting(number, value)


@contextmanager
def without_collector() -> Iterator[None]:
    """Make many objects that go by themselves, without looking for cycles among them each time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


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
