"""Ctrl-C never leaves something half done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def uninterrupted(pool: ThreadPoolExecutor, work: Callable[..., None], *arguments: Any) -> None:
    """Call a function in a thread, where Ctrl-C cannot interrupt it."""
    future = pool.submit(work, *arguments)
    try:
        future.result()
    except KeyboardInterrupt:
        future.result()
        raise
