"""Stores by their address."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from faircascade.service.stores.base import Store

SQLITE = "sqlite:"
REDIS = ("redis://", "rediss://", "unix://")


def store_of(address: str, *, ttl: float) -> Store:
    """Return the store at an address, not opened yet; lists are kept for `ttl` seconds."""
    if address.startswith(REDIS):
        from faircascade.service.stores.redis import RedisStore

        return RedisStore(address, ttl=ttl)
    from faircascade.service.stores.sqlite import SQLiteStore

    return SQLiteStore(_sqlite_path(address))


def name_of(address: str) -> str:
    """Return the address without user and password, to be shown.

    A query may hold a password too, so there is none.
    """
    if not address.startswith(REDIS):
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _sqlite_path(address: str) -> Path:
    path = address.removeprefix(SQLITE)
    if not address.startswith(SQLITE) or path in ("", ":memory:"):
        hint = "" if "://" in address or not path else f" (did you mean '{SQLITE}{path}'?)"
        raise ValueError(
            f"store must be sqlite:PATH or redis://HOST:PORT/NUMBER{hint}, got {address!r}"
        )
    return Path(path).expanduser()
