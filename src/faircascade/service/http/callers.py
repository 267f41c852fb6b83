"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

CALLER = "faircascade.caller"
"""Where a scope has who asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The key of a request, and where it came from."""

    key: str | None
    """Name of the key; None without one that is known."""
    administrator: bool = False
    """Whether it may change what is served."""
    address: str
    """Of the other end of the connection, which may be a proxy."""
