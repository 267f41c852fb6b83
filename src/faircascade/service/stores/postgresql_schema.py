"""Tables and functions of a PostgreSQL store: made when it is new, checked when it is not."""

from __future__ import annotations

import hashlib
import json
import secrets
from functools import cache
from importlib.resources import files

from faircascade.service.stores.base import StoreShape
from faircascade.service.stores.postgresql_connection import Connection

FORMAT = 4
"""Format of tables and values; a store in another one is refused."""
_OPENING = 0x66616972
"""Advisory lock of who makes tables and functions."""
_OLDEST = 14
"""The oldest PostgreSQL that is known to work."""
_KEPT = "SELECT id, format, shape FROM store"


@cache
def functions() -> tuple[str, str]:
    """Return the text of the functions, and the digest that their names end in."""
    text = _script("functions")
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return text.replace("$v", digest), digest


def function(name: str) -> str:
    """Return the full name of a function."""
    return f"{name}_{functions()[1]}"


def _script(name: str) -> str:
    return files(__package__).joinpath("scripts", f"postgresql_{name}.sql").read_text("utf-8")


async def stored_shape(db: Connection) -> StoreShape | None:
    """Return the shape of the store in the schema, None if there is none."""
    if not await _exists(db):
        return None
    row = await db.fetchrow(_KEPT)
    if row is None:
        raise ValueError("its tables were emptied; restore them, or drop the schema")
    _check_format(row["format"])
    return StoreShape(**json.loads(row["shape"]))


async def prepare(db: Connection, schema: str, shape: StoreShape) -> str:
    """Make the tables of a new store; check those of an old one. Return the id of the store."""
    version = db.get_server_version().major
    if version < _OLDEST:
        raise ValueError(f"needs version {_OLDEST} or newer, this is {version}")
    await db.execute(f"SELECT pg_advisory_xact_lock({_OPENING})")
    if not await _exists(db):
        if not await db.fetchval("SELECT to_regnamespace($1) IS NOT NULL", schema):
            await db.execute(f'CREATE SCHEMA "{schema}"')
        await db.execute(_script("tables"))
        await db.execute(
            "INSERT INTO store (id, format, shape) VALUES ($1, $2, $3)",
            secrets.token_urlsafe(12),
            FORMAT,
            json.dumps(shape.plain()),
        )
    if not await db.fetchval("SELECT to_regproc($1) IS NOT NULL", function("guard")):
        await db.execute(functions()[0])
    row = await db.fetchrow(_KEPT)
    if row is None:
        raise ValueError("its tables were emptied; restore them, or drop the schema")
    _check_format(row["format"])
    if reason := StoreShape(**json.loads(row["shape"])).refuses(shape):
        raise ValueError(reason)
    return str(row["id"])


async def widen(db: Connection, store: str, sums: int) -> None:
    """Let a store have at least so many sums for each user."""
    kept = await db.fetchval("SELECT shape FROM store WHERE id = $1 FOR UPDATE", store)
    wider = json.dumps(StoreShape(**json.loads(kept)).widened(sums).plain())
    await db.execute("UPDATE store SET shape = $1", wider)


async def _exists(db: Connection) -> bool:
    return bool(await db.fetchval("SELECT to_regclass('store') IS NOT NULL"))


def _check_format(found: int) -> None:
    if found != FORMAT:
        raise ValueError(f"store version {found}; this release reads version {FORMAT}")


async def durability(db: Connection) -> str | None:
    """Return a warning if the server's settings allow data loss."""
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if await db.fetchval("SELECT current_setting($1)", name) == "off":
            return f"postgresql may lose feedback in a power cut ({name} off); set {name} to on"
    return None
