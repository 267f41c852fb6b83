"""Recommend and learn over HTTP, and show who gets exposure.

These names are for programs that run the service themselves.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faircascade.service.http.app import create_app
    from faircascade.service.service import Service
    from faircascade.service.settings import ServiceSettings
    from faircascade.service.stores.postgresql import PostgreSQLStore
    from faircascade.service.stores.redis import RedisStore
    from faircascade.service.stores.sqlite import SQLiteStore

_HOME = {
    "PostgreSQLStore": "stores.postgresql",
    "RedisStore": "stores.redis",
    "SQLiteStore": "stores.sqlite",
    "Service": "service",
    "ServiceSettings": "settings",
    "create_app": "http.app",
}

__all__ = [
    "PostgreSQLStore",
    "RedisStore",
    "SQLiteStore",
    "Service",
    "ServiceSettings",
    "create_app",
]


def __getattr__(name: str) -> Any:
    """Import a name on first use: not every program has FastAPI and Redis."""
    if name not in _HOME:
        raise AttributeError(f"module 'faircascade.service' has no attribute {name!r}")
    return getattr(import_module(f"faircascade.service.{_HOME[name]}"), name)
