"""A store made from the journal of its event log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeVar

from faircascade.service.event_log.folder import FORMAT, JournalFile, journal_files
from faircascade.service.event_log.state import StoreState
from faircascade.service.exposure.encoding import to_bytes
from faircascade.service.stores.base import StoreShape
from faircascade.service.stores.contents import ContentCounts
from faircascade.service.stores.copy import COPYING, make_room, opened
from faircascade.service.stores.registry import public_address, store_at

T = TypeVar("T")

_AT_ONCE = 500
Watch = Callable[[str, float], None]
"""Called with what is being done and the share of the whole that is."""


async def rebuild_store(
    folder: Path, target: str, *, watch: Watch = lambda *_: None
) -> ContentCounts:
    """Make the store at an address, which must be empty, from the event log in a folder."""
    files = latest_log(journal_files(folder), folder)
    state = read_state(files, watch)
    last = files[-1].head
    shape = StoreShape(dim=last["dim"], sums=max(state.sums, last["sums"]), topics=last["topics"])
    store = store_at(target, ttl=last["ttl"])
    await make_room(store, target)
    state.sums = shape.sums
    async with opened(store, shape) as contents:
        await store.set_meta(COPYING, {"from": str(folder)})
        for items in _some(state.items.values()):
            await contents.add_items(items)
        for users in _some(state.users()):
            await contents.add_users(users)
        for cohorts in _some(state.cohorts()):
            await contents.add_cohorts(cohorts)
        for impressions in _some(state.slates.values()):
            await contents.add_impressions(impressions)
        await store.keep_counts("", to_bytes(state.counters))
        for name, value in state.meta.items():
            if value is not None:
                await store.set_meta(name, value)
        found = await contents.count()
        made = (len(state.items), len(state.known), len(state.slates), len(state.taught))
        if (found.items, found.users, found.impressions, found.cohorts) != made:
            raise ValueError(
                f"{public_address(target)}: holds {found}, the journal tells of {made} items, "
                "users, impressions and cohorts; does somebody else use it?"
            )
        await store.set_meta(COPYING, None)
    return found


def latest_log(files: Sequence[JournalFile], folder: Path) -> list[JournalFile]:
    """Return the files of the log that began last, if none is missing."""
    begins = [place for place, file in enumerate(files) if file.head.get("base")]
    if not begins:
        raise ValueError(f"{folder}: the first file of the journal is missing; it holds the state")
    found = list(files[begins[-1] :])
    for before, file in pairwise(found):
        if file.head["after"] != before.head["cursor"] or file.head["log"] != before.head["log"]:
            raise ValueError(
                f"{file.path}: does not go on where {before.path.name} ends; a file between them "
                "is missing"
            )
    for file in found:
        if file.head["format"] != FORMAT:
            rule = f"format {file.head['format']}; this release reads {FORMAT}"
            raise ValueError(f"{file.path}: {rule}")
    return found


def read_state(files: Sequence[JournalFile], watch: Watch = lambda *_: None) -> StoreState:
    """Return the state that files of a journal tell."""
    head = files[-1].head
    state = StoreState(dim=head["dim"], topics=head["topics"], ttl=head["ttl"])
    for place, file in enumerate(files):
        watch(file.path.name, place / len(files))
        state.apply(file.read())
    state.finish()
    return state


def _some(things: Iterable[T]) -> Iterator[Sequence[T]]:
    rest = iter(things)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
