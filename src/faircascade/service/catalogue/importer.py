"""Import the items and users of a source into a store, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from faircascade.service.catalogue.item_patches import item_patches
from faircascade.service.catalogue.sources import RankerFile, Source, SourceContents
from faircascade.service.history import LEARNED, why_in_use
from faircascade.service.messages import ItemChange
from faircascade.service.service import Service
from faircascade.service.stores.base import Store, StoredItem

CHUNK = 2_000
"""Items that are written at once; a store answers nobody else meanwhile."""


async def import_items(
    service: Service, source: Source, contents: SourceContents | None = None
) -> str:
    """Put the items and users of a source into the store, and return a summary.

    Nothing is removed. A source that was imported last time is skipped, so that later changes and
    removals stay. `contents` is what was already read of it.
    """
    store = service.store
    kept = await store.get_meta(source.kind)
    ours = {"from": source.label, "fingerprint": source.fingerprint}
    if kept is not None and kept["fingerprint"] == ours["fingerprint"] and kept["complete"]:
        return (
            f"{source.label}: unchanged since the last import; the catalogue in the store is kept"
        )
    if isinstance(source, RankerFile):
        await _check_place(service, source, kept)
    contents = contents or source.contents()
    given, kept_here = (contents.dim, contents.topics), (service.dim, service.topics)
    if given != kept_here:
        raise ValueError(
            f"{source.label}: has {_described(*given)} per item, the store has "
            f"{_described(*kept_here)}; {await _way_out(store)}"
        )
    await store.set_meta(source.kind, {**ours, "complete": False})
    if contents.users:
        sums = service.sums_of(contents.sums)
        await store.put_users(contents.users, sums, contents.rounds)
    said = await _put(service, contents.items)
    await store.set_meta(source.kind, {**ours, "complete": True})
    users = f"{len(contents.users):,} users" if contents.users else ""
    return f"{source.label}: {', '.join(filter(None, [said, users, *contents.notes]))}"


async def _way_out(store: Store) -> str:
    """Return what to do about a store that was made for other items."""
    used = await why_in_use(store, await store.get_meta(LEARNED))
    if used or not store.removal:
        return "use another --store"
    return f"nothing was learned in it yet, so make it anew with '{store.removal}'"


def _described(features: int, topics: int) -> str:
    return f"{features} features" + (f" and {topics} topics" if topics else "")


async def _check_place(service: Service, source: RankerFile, kept: Any) -> None:
    """Refuse a ranker if the store has other users: what was learned of them would be lost."""
    begun = kept is not None and kept["fingerprint"] == source.fingerprint
    if begun or len(service.catalogue) == 0:
        return
    had = f"has the ranker {kept['from']}" if kept is not None else "is in use"
    raise ValueError(
        f"{source.label}: a ranker needs an empty store, and this one {had}; use another "
        "--store, or leave --ranker out to continue with what is there"
    )


async def _put(service: Service, items: Sequence[ItemChange]) -> str:
    """Add and change items; those that would not change are left alone."""
    there = service.catalogue.at
    new = [item for item in items if there(item.item) is None]
    changed = [item for item in items if (known := there(item.item)) and _differs(item, known)]
    for piece in _pieces([*new, *changed]):
        await service.store.put_items(item_patches(piece, service.catalogue))
    await service.follow_catalogue()
    parts = {"new": len(new), "changed": len(changed)}
    parts["as before"] = len(items) - sum(parts.values())
    return f"{len(items):,} items ({', '.join(f'{n:,} {what}' for what, n in parts.items() if n)})"


def _pieces(items: Sequence[ItemChange]) -> Iterator[Sequence[ItemChange]]:
    for begin in range(0, len(items), CHUNK):
        yield items[begin : begin + CHUNK]


def _differs(item: ItemChange, known: StoredItem) -> bool:
    given = {
        "merit": (item.merit, known.merit),
        "popularity": (item.popularity, known.popularity),
        "group": (item.group, known.groups.get("group")),
        "supplier": (item.supplier, known.groups.get("supplier")),
    }
    same = all(value is None or value == had for value, had in given.values())
    same = same and {**known.attributes, **item.attributes} == known.attributes
    return not (same and np.array_equal([*item.features, *item.topics], known.features))
