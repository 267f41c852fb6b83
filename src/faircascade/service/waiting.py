"""Answers to those who wait for a future; one that was cancelled waits no more."""

from __future__ import annotations

import asyncio
from typing import Any


def succeed(waiting: asyncio.Future[Any], result: Any) -> None:
    """Hand over a result, if anybody still waits for it."""
    if not waiting.done():
        waiting.set_result(result)


def fail(waiting: asyncio.Future[Any], error: BaseException) -> None:
    """Hand over an error, if anybody still waits."""
    if not waiting.done():
        waiting.set_exception(error)
