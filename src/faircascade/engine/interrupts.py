"""Ctrl-C comes between two things that are whole, and never in the middle of one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def uninterrupted(pool: ThreadPoolExecutor, work: Callable[..., None], *arguments: Any) -> None:
    """Do something as a whole: in a thread, where no Ctrl-C can come between its parts."""
    future = pool.submit(work, *arguments)
    try:
        future.result()
    except KeyboardInterrupt:
        future.result()
        raise
