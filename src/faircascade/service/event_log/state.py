"""The state of a store, as its journal tells it: the records one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

import numpy as np

from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.expiry import STATE as EXPIRY
from faircascade.service.exposure.counters import Counters
from faircascade.service.exposure.encoding import from_bytes
from faircascade.service.stores.base import COUNTED, LABELS, Event, Impression, StoredItem
from faircascade.service.stores.contents import ItemVersion, StoredCohort, StoredUser
from faircascade.service.stores.item_columns import ItemColumns
from faircascade.service.stores.packing import moved, read_floats, read_note, read_text, widened
from faircascade.types import Floats

Record = Mapping[str, Any]
_TOGETHER = 1_000
"""Events that are counted at a time."""


@dataclass(eq=False)
class KnownUser:
    """What is known of a user."""

    sums: Floats = field(default_factory=lambda: np.zeros(0))
    rounds: int = 0
    account: dict[int, int] = field(default_factory=dict)
    slates: set[str] = field(default_factory=set)
    """Ids of impressions."""


class StoreState:
    """What a store holds, so far."""

    def __init__(self, *, dim: int, topics: int, ttl: float) -> None:
        """Begin with nothing; impressions are known for `ttl` seconds."""
        self._dim = dim
        self._ttl = ttl
        self.sums = 0
        """Numbers of each user."""
        self.items: dict[str, ItemVersion] = {}
        self.known: dict[str, KnownUser] = {}
        self.taught: dict[str, tuple[int, Floats]] = {}
        """Slates that taught a cohort, and its sums."""
        self.slates: dict[str, Impression] = {}
        self.meta: dict[str, Any] = {}
        self.counters = Counters()
        self._catalogue = Catalogue.empty(dim - topics, topics)
        self._changed: list[StoredItem] = []
        self._events: list[Event] = []
        self._now = 0.0
        self._oldest = 0.0

    def apply(self, records: Iterable[Record]) -> None:
        """Let happen what records tell, in order."""
        for record in records:
            _APPLY[record["kind"]](self, record)
        self._count()

    def finish(self) -> None:
        """Forget the slates whose time is over."""
        for slate in [one.id for one in self.slates.values() if one.time < self._oldest]:
            self._forget(slate)

    def users(self) -> Iterator[StoredUser]:
        """Yield users as a store keeps them."""
        for name, user in self.known.items():
            sums = widened(user.sums, self.sums)
            yield StoredUser(user=name, sums=sums, rounds=user.rounds, account=user.account)

    def cohorts(self) -> Iterator[StoredCohort]:
        """Yield cohorts as a store keeps them."""
        for name, (slates, sums) in self.taught.items():
            yield StoredCohort(name=name, slates=slates, sums=widened(sums, self.sums))

    # slates

    def shown(self, record: Record) -> None:
        """A slate was handed out."""
        impression = self._kept(record)
        user = self.known[impression.user]
        user.rounds = max(user.rounds, impression.round)
        for slot, units in zip(record["slots"], record.get("units") or (), strict=False):
            user.account[slot] = user.account.get(slot, 0) + units
        note = impression.note.get(COUNTED, {})
        self._happened(Event(time=impression.time, slots=impression.slots, note=note))

    def impression(self, record: Record) -> None:
        """A slate had been handed out, and perhaps answered, before the journal began."""
        clicked, examined = record.get("clicked"), record.get("examined")
        shown = self._kept(record)
        if clicked is not None:
            self.slates[shown.id] = replace(
                shown,
                clicked=tuple(clicked),
                examined=examined,
                details=read_note(record.get("value")),
            )

    def _kept(self, record: Record) -> Impression:
        """Keep the slate of a record without its answer."""
        slots = np.array(record["slots"], dtype=np.int32)
        name = record["impression"]
        self.slates[name] = impression = Impression(
            id=name,
            user=read_text(record["user"]),
            slots=slots,
            features=read_floats(b"".join(record["features"])).reshape(len(slots), self._dim),
            round=record["round"],
            time=record["time"],
            note=read_note(record.get("note")),
        )
        self.known.setdefault(impression.user, KnownUser()).slates.add(name)
        return impression

    def answered(self, record: Record) -> None:
        """A slate was answered, and the answer learned."""
        name = record["impression"]
        clicked = tuple(record.get("clicked") or ())
        shown = self.slates[name]
        more = json.loads(record.get("value") or "{}")
        self.slates[name] = replace(
            shown, clicked=clicked, examined=record["examined"], details=more.get("details", {})
        )
        user = self.known[shown.user]
        for slot, units in more.get("refunds", ()):
            if slot in user.account:
                user.account[slot] -= units
        increments = read_floats(record["numbers"])
        user.sums = _grown(user.sums, increments)
        self.sums = max(self.sums, len(user.sums))
        for cohort in shown.note.get(LABELS, ()) if len(increments) else ():
            taught, sums = self.taught.get(cohort, (0, np.zeros(0)))
            self.taught[cohort] = taught + 1, _grown(sums, increments)
        slots = shown.slots[[position - 1 for position in clicked]]
        note = read_note(record.get("note"))
        self._happened(Event(time=record["time"], slots=slots, answered=True, note=note))

    def expired(self, record: Record) -> None:
        """The time of a slate was over before it was answered."""
        self._forget(record["impression"])

    def _forget(self, name: str) -> None:
        if (gone := self.slates.pop(name, None)) is not None:
            self.known[gone.user].slates.discard(name)

    # users

    def erased(self, record: Record) -> None:
        """A user was forgotten."""
        gone = self.known.pop(read_text(record["user"]), None)
        for name in gone.slates if gone is not None else ():
            del self.slates[name]

    def imported(self, record: Record) -> None:
        """A user came in, with what was known."""
        sums = read_floats(record["numbers"])
        account = json.loads(record.get("value") or "{}")
        self.sums = max(self.sums, len(sums))
        self.known.setdefault(
            read_text(record["user"]),
            KnownUser(
                sums=sums,
                rounds=record["round"],
                account={int(slot): units for slot, units in account.items()},
            ),
        )

    def cohort(self, record: Record) -> None:
        """Users with a label had taught this before the journal began."""
        sums = read_floats(record["numbers"])
        self.sums = max(self.sums, len(sums))
        self.taught[read_text(record["name"])] = record["round"], sums

    def moved(self, record: Record) -> None:
        """Numbers of a user or of a cohort were added to others, or dropped."""
        places = json.loads(record["value"])
        if (name := record.get("user")) is not None:
            user = self.known[read_text(name)]
            user.sums = self._moved(user.sums, **places)
        else:
            cohort = read_text(record["name"])
            slates, sums = self.taught[cohort]
            self.taught[cohort] = slates, self._moved(sums, **places)

    def _moved(self, sums: Floats, **places: Any) -> Floats:
        found = moved(sums, **places)
        self.sums = max(self.sums, 0 if found is None else len(found))
        return sums if found is None else found

    # the rest

    def item(self, record: Record) -> None:
        """An item is like this since a version of the catalogue."""
        self._count()
        item = StoredItem(
            id=read_text(record["name"]),
            slot=record["slots"][0],
            features=read_floats(record["features"][0]),
            version=record["version"],
            **json.loads(record["value"]),
        )
        self.items[item.id] = ItemVersion(item=item, version=item.version)
        self._changed.append(item)

    def small_value(self, record: Record) -> None:
        """A small value is like this."""
        name, value = read_text(record["name"]), json.loads(record["value"])
        self.meta[name] = value
        if name == EXPIRY and value is not None:
            self._oldest = value["now"] - self._ttl
            slates = iter(self.slates.values())  # about in the order of their times
            old = takewhile(lambda one: one.time < self._oldest, slates)
            # an answer may have come before this, and its record after
            for slate in [one.id for one in old if one.clicked is not None]:
                self._forget(slate)

    def counts(self, record: Record) -> None:
        """This was counted before the journal began."""
        self.counters = from_bytes(record["numbers"])

    def event(self, record: Record) -> None:
        """This had happened before the journal began, and was not counted."""
        self._happened(
            Event(
                time=record["time"],
                slots=np.array(record["slots"], dtype=np.int32),
                answered=record.get("clicked") is not None,
                note=read_note(record.get("note")),
            )
        )

    def _happened(self, event: Event) -> None:
        """Count an event, as others, when they are enough."""
        self._events.append(event)
        if len(self._events) >= _TOGETHER:
            self._count()

    def _count(self) -> None:
        """Count what happened, over the catalogue of that time."""
        events, self._events = self._events, []
        if events:
            if self._changed:
                columns = ItemColumns.of(self._changed, self._dim)
                self._catalogue = self._catalogue.changed(columns)
            self._changed = []
            self._now = max(self._now, *(event.time for event in events))
            self.counters.count(events, self._now, self._catalogue.recipients)
            self.counters.advance(self._now, self._catalogue.recipients)


def _grown(sums: Floats, increments: Floats) -> Floats:
    total = widened(sums, max(len(sums), len(increments))).copy()
    total[: len(increments)] += increments
    return total


_APPLY: Mapping[str, Callable[[StoreState, Record], None]] = {
    "shown": StoreState.shown,
    "impression": StoreState.impression,
    "answered": StoreState.answered,
    "expired": StoreState.expired,
    "erased": StoreState.erased,
    "imported": StoreState.imported,
    "user": StoreState.imported,
    "cohort": StoreState.cohort,
    "moved": StoreState.moved,
    "item": StoreState.item,
    "meta": StoreState.small_value,
    "counts": StoreState.counts,
    "event": StoreState.event,
}
"""By the kinds of records."""
