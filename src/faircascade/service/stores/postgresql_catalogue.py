"""The catalogue of a PostgreSQL store.

Who changes it locks the row with its version until the change is committed, so that versions appear
in their order, and who follows them misses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from faircascade.service.stores.attributes import (
    Value,
    changed_attributes,
    read_attributes,
    write_attributes,
)
from faircascade.service.stores.base import ItemPatch, StoredItem
from faircascade.service.stores.packing import pack_text, read_floats, read_text
from faircascade.service.stores.postgresql_connection import Connection
from faircascade.service.stores.postgresql_rows import at_once, chunks
from faircascade.service.stores.postgresql_schema import function
from faircascade.types import Floats

COLUMNS = (
    "id",
    "slot",
    "features",
    "merit",
    "popularity",
    "labels",
    "attributes",
    "removed",
    "version",
)
_TYPES = ("bytea", "int", "bytea", "float8", "float8", "text", "text", "boolean", "bigint")
_READ = """
SELECT s.version, i.slot, i.id, i.features, i.merit, i.popularity, i.labels,
    i.attributes, i.removed, i.version
FROM store s LEFT JOIN items i ON i.version > $2 WHERE (SELECT {guard}($1)) ORDER BY i.slot
"""
UPSERT = f"""
INSERT INTO items ({", ".join(COLUMNS)})
SELECT * FROM unnest({", ".join(f"${n}::{kind}[]" for n, kind in enumerate(_TYPES, start=1))})
ON CONFLICT (id) DO UPDATE SET
{", ".join(f"{name} = excluded.{name}" for name in COLUMNS[2:])}
"""


async def read_items(db: Connection, store: str, after: int) -> tuple[int, list[StoredItem]]:
    """Return the version and the items changed after another one, as of one moment."""
    rows = await db.fetch(_READ.format(guard=function("guard")), store, after)
    found = [
        StoredItem(
            slot=slot,
            id=read_text(name),
            features=read_floats(features),
            merit=merit,
            popularity=popularity,
            groups=json.loads(labels),
            attributes=read_attributes(attributes),
            removed=removed,
            version=version,
        )
        for (
            _,
            slot,
            name,
            features,
            merit,
            popularity,
            labels,
            attributes,
            removed,
            version,
        ) in rows
        if name is not None
    ]
    return rows[0][0], found


async def change_items(db: Connection, store: str, changes: Sequence[ItemPatch]) -> None:
    """Add or change items in a transaction that has begun."""
    version = await _lock(db, store) + 1
    ids = [pack_text(change.id) for change in changes]
    known = {
        row["id"]: row
        for row in await db.fetch(
            "SELECT id, slot, merit, popularity, labels, attributes, removed FROM items "
            "WHERE id = ANY ($1)",
            ids,
        )
    }
    slot = await db.fetchval("SELECT coalesce(max(slot), -1) + 1 FROM items")
    new: dict[bytes, _NewItem] = {}
    for name, change in zip(ids, changes, strict=True):
        item = new.get(name)
        if item is None:
            row = known.get(name)
            item = new[name] = _NewItem(slot if row is None else row["slot"])
            slot += row is None
            if row is not None and not row["removed"]:
                item.merit, item.popularity = row["merit"], row["popularity"]
                item.labels = json.loads(row["labels"])
                item.attributes = read_attributes(row["attributes"])
        item.change(change)
    rows = [(name, *item.row(), version) for name, item in new.items()]
    for some in chunks(rows, at_once(max(len(row[2]) for row in rows))):
        await db.execute(UPSERT, *map(list, zip(*some, strict=True)))
    await _publish(db, version)


class _NewItem:
    """An item as it will be."""

    features: Floats

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.merit = 1.0
        self.popularity = 0.0
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, Value] = {}

    def change(self, patch: ItemPatch) -> None:
        """Take in a change; what it leaves out stays as it was."""
        self.features = patch.features
        self.merit = self.merit if patch.merit is None else patch.merit
        self.popularity = self.popularity if patch.popularity is None else patch.popularity
        labels = {**self.labels, **patch.groups}
        self.labels = {column: label for column, label in labels.items() if label}
        self.attributes = changed_attributes(self.attributes, patch.attributes)

    def row(self) -> tuple[Any, ...]:
        packed = self.features.astype("<f8", copy=False).tobytes()
        texts = json.dumps(self.labels), write_attributes(self.attributes)
        return self.slot, packed, self.merit, self.popularity, *texts, False


async def take_out(db: Connection, store: str, ids: Sequence[str]) -> bool:
    """Mark items as removed in a transaction that has begun; False if no other would be left."""
    version = await _lock(db, store) + 1
    names = [pack_text(name) for name in ids]
    going = await db.fetchval(
        "SELECT count(*) FROM items WHERE id = ANY ($1) AND NOT removed", names
    )
    if going == 0:
        return True
    if going == await db.fetchval("SELECT count(*) FROM items WHERE NOT removed"):
        return False
    await db.execute(
        "UPDATE items SET removed = true, version = $2 WHERE id = ANY ($1) AND NOT removed",
        names,
        version,
    )
    await _publish(db, version)
    return True


async def _lock(db: Connection, store: str) -> int:
    """Let nobody else change the catalogue until the transaction ends; return its version."""
    guard = function("guard")
    await db.execute(f"SELECT {guard}($1)", store)
    return int(await db.fetchval("SELECT version FROM store FOR UPDATE"))


async def _publish(db: Connection, version: int) -> None:
    await db.execute("UPDATE store SET version = $1", version)
