"""How much each caller may ask for: token buckets, of which only one number each is kept.

A bucket holds the tokens of a second and fills up at a steady rate. A request takes one token and a
batch takes one for each entry, so it is all the same how requests are divided into batches or over
connections. A batch begins if the bucket is not empty and may leave it in debt, so that none is too
large ever to be let in; whoever is in debt waits until it is paid.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil, floor
from typing import Any

MOST_CALLERS = 10_000
"""Buckets that are kept; those of further callers are one and the same."""
ALLOWANCE = "faircascade.allowance"
"""Where a scope has how much its caller may ask for, if that is limited."""
OTHERS = "others"
"""The caller that all are taken for who come while there is no room for a bucket."""


class TooFast(Exception):  # noqa: N818 - it says what the caller is
    """A caller asks for more than it may."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.retry_after = max(1, ceil(seconds))
        """Whole seconds after which there is a token."""
        super().__init__(
            f"more than {rate:g} a second, of which a batch counts as many as it has entries; "
            f"nothing was done, try again in {self.retry_after} s"
        )


class RateLimits:
    """The buckets of all callers.

    Of a bucket is kept when it will be full: one that is full need not be kept.
    """

    def __init__(
        self,
        *,
        seconds: float = 1.0,
        most: int = MOST_CALLERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Let a bucket hold what comes in so many seconds, and keep so many buckets."""
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, caller: str, rate: float, tokens: int = 1, *, begun: bool = False) -> None:
        """Take tokens from the bucket of a caller, or raise `TooFast`.

        There must be one token; if the request has begun, and so has paid for one, then no debt.
        """
        now = self._clock()
        bucket, full_at = self._bucket(caller, now)
        full_at = max(full_at, now)
        most = max(1.0, floor(rate * self._seconds))
        left = most - (full_at - now) * rate
        needed = 0.0 if begun else 1.0
        if left < needed - _ROUNDING:
            raise TooFast(rate, (1.0 - left) / rate)
        self._keep(bucket, full_at + tokens / rate)

    def _bucket(self, caller: str, now: float) -> tuple[Any, float]:
        """Return which bucket a caller has, and when it is full."""
        if caller not in self._full_at and not self._has_room(now):
            caller = OTHERS
        return caller, self._full_at.get(caller, now)

    def _keep(self, bucket: Any, full_at: float) -> None:
        self._full_at[bucket] = full_at
        self._full_at.move_to_end(bucket)

    def _has_room(self, now: float) -> bool:
        """Drop some buckets that are full; return whether there is room for one more."""
        for _ in range(_LOOKED_AT):
            if not self._full_at:
                break
            caller, full_at = next(iter(self._full_at.items()))
            if full_at > now:
                self._full_at.move_to_end(caller)  # the others have their turn
            else:
                del self._full_at[caller]
        return len(self._full_at) < self._most


_LOOKED_AT = 4
_ROUNDING = 1e-9


class Allowance:
    """What one caller may ask for."""

    __slots__ = ("_caller", "_limits", "_rate")

    def __init__(self, limits: RateLimits, caller: str, rate: float) -> None:
        self._limits = limits
        self._caller = caller
        self._rate = rate

    def begin(self) -> None:
        """Take a token for a request."""
        self._limits.take(self._caller, self._rate)

    def go_on(self, entries: int) -> None:
        """Take the tokens for the other entries of a batch, before any of it is done."""
        if entries > 1:
            self._limits.take(self._caller, self._rate, entries - 1, begun=True)
