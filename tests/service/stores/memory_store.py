"""A store of one's own, in one file: everything in memory, by the name in `memory:NAME`."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from faircascade.service.stores.attributes import changed_attributes
from faircascade.service.stores.base import (
    CohortStates,
    Event,
    Impression,
    ItemPatch,
    ModelUpdate,
    Store,
    StoredItem,
    StoreShape,
    UpdateOutcome,
    UserRecord,
    UserStates,
)
from faircascade.service.stores.changes import (
    Answered,
    Change,
    Erased,
    Expired,
    Imported,
    Moved,
    Shown,
    read_change,
)
from faircascade.service.stores.packing import fitting, moved, widened
from faircascade.service.stores.registry import register_store
from faircascade.types import Floats, Ints


@dataclass
class User:
    sums: Floats
    rounds: int = 0
    account: dict[int, int] = field(default_factory=lambda: defaultdict(int))


@register_store("memory")
class MemoryStore(Store):
    """Keeps everything as long as the process lives."""

    address_form = "memory:NAME"
    _by_address: ClassVar[dict[str, MemoryStore]] = {}

    def __init__(self) -> None:
        self._kept: StoreShape | None = None
        self._shape: StoreShape | None = None
        self._meta: dict[str, Any] = {}
        self._items: dict[str, tuple[int, StoredItem]] = {}  # with the version of its last change
        self._version = 0
        self._users: dict[str, User] = {}
        self._cohorts: dict[str, User] = {}
        self._impressions: dict[str, Impression] = {}
        self._events: list[Event] = []
        self._counts: tuple[str, bytes | None] = ("", None)
        self._logged = False
        self._changes: list[tuple[int, bytes]] = []
        self._changed = 0

    @classmethod
    def from_address(cls, address: str, *, ttl: float) -> MemoryStore:
        return cls._by_address.setdefault(address, cls())

    async def stored_shape(self) -> StoreShape | None:
        return self._kept

    async def open(self, shape: StoreShape) -> None:
        kept = self._kept or shape
        if reason := kept.refuses(shape):
            raise ValueError(reason)
        self._kept, self._shape = kept, shape

    async def widen(self, sums: int) -> None:
        assert self._kept is not None
        assert self._shape is not None
        self._kept = self._kept.widened(sums)
        self._shape = self._shape.widened(sums)

    async def move_sums(self, first: int, size: int, into: int | None, after: str) -> str | None:
        for some, cohort in ((self._users, False), (self._cohorts, True)):
            for name, one in some.items():
                if (sums := moved(one.sums, first, size, into)) is not None:
                    one.sums = sums
                    self._log(Moved(name=name, cohort=cohort, first=first, size=size, into=into))
        return None

    async def close(self) -> None: ...

    async def ping(self) -> None: ...

    async def get_meta(self, name: str) -> Any:
        return self._meta.get(name)

    async def set_meta(self, name: str, value: Any) -> None:
        self._meta[name] = value

    async def replace_meta(self, name: str, before: Any, value: Any) -> bool:
        if self._meta.get(name) not in (before, value):
            return False
        self._meta[name] = value
        return True

    async def catalogue_version(self) -> int:
        return self._version

    async def items(self, after: int = 0) -> tuple[int, list[StoredItem]]:
        some = [pair for pair in self._items.values() if pair[0] > after]
        return self._version, [replace(item, version=version) for version, item in some]

    async def put_items(self, changes: Sequence[ItemPatch]) -> None:
        for change in changes:
            self._version += 1
            _, old = self._items.get(change.id, (0, None))
            slot = len(self._items) if old is None else old.slot
            if old is None or old.removed:
                old = StoredItem(id=change.id, features=change.features, slot=slot)
            labels = {**old.groups, **change.groups}
            new = replace(
                old,
                features=change.features,
                merit=old.merit if change.merit is None else change.merit,
                popularity=old.popularity if change.popularity is None else change.popularity,
                groups={column: label for column, label in labels.items() if label},
                attributes=changed_attributes(old.attributes, change.attributes),
            )
            self._items[change.id] = self._version, new

    async def remove_items(self, ids: Sequence[str]) -> bool:
        live = {name for name, (_, item) in self._items.items() if not item.removed}
        gone = live & set(ids)
        if gone and gone == live:
            return False
        self._version += bool(gone)
        for name in gone:
            self._items[name] = self._version, replace(self._items[name][1], removed=True)
        return True

    def _user(self, name: str) -> User:
        return self._users.setdefault(name, User(np.zeros(0)))

    def _first(self, sums: Floats) -> Floats:
        assert self._shape is not None
        return widened(sums, self._shape.sums)

    async def begin_round(self, users: Sequence[str], *, accounts: bool = False) -> UserStates:
        assert self._shape is not None
        found = [self._user(name) for name in users]
        rounds = np.empty(len(users), dtype=np.int64)
        for place, user in enumerate(found):
            user.rounds += 1
            rounds[place] = user.rounds
        return UserStates(
            sums=np.array([self._first(user.sums) for user in found]).reshape(
                len(users), self._shape.sums
            ),
            rounds=rounds,
            accounts=[dict(user.account) for user in found] if accounts else (),
        )

    async def record(self, impressions: Sequence[Impression], *, units: Ints | None) -> list[str]:
        ids = [secrets.token_urlsafe(16) for _ in impressions]
        for name, shown in zip(ids, impressions, strict=True):
            self._impressions[name] = replace(shown, id=name)
            self._events.append(Event(time=shown.time, slots=shown.slots, note=shown.counted))
            user = self._user(shown.user)
            user.rounds = max(user.rounds, shown.round)
            gains = () if units is None else units.tolist()
            for slot, gain in zip(shown.slots.tolist(), gains, strict=False):
                user.account[slot] += gain
            self._log(Shown.of(shown, name, units))
        return ids

    async def impressions(self, ids: Sequence[str]) -> list[Impression | None]:
        return [self._impressions.get(name) for name in ids]

    async def unanswered(self, before: float, limit: int) -> list[Impression]:
        found = [i for i in self._impressions.values() if i.clicked is None and i.time < before]
        return sorted(found, key=lambda i: i.time)[:limit]

    async def learn(self, updates: Sequence[ModelUpdate]) -> list[UpdateOutcome]:
        assert self._shape is not None
        for update in updates:
            fitting(update.increments, self._shape.sums)
        return [self._learn(update) for update in updates]

    def _learn(self, update: ModelUpdate) -> UpdateOutcome:
        shown = self._impressions.get(update.impression.id)
        if shown is None:
            return UpdateOutcome.UNKNOWN
        if shown.clicked is not None:
            before = (shown.clicked, shown.examined, shown.details)
            same = before == (update.clicked, update.examined, update.details)
            return UpdateOutcome.REPEATED if same else UpdateOutcome.CONFLICT
        answered = replace(
            shown, clicked=update.clicked, examined=update.examined, details=update.details
        )
        self._impressions[shown.id] = answered
        user = self._user(shown.user)
        cohorts = [self._cohorts.setdefault(name, User(np.zeros(0))) for name in update.cohorts]
        for one in (user, *cohorts):
            more, size = update.increments, max(len(one.sums), len(update.increments))
            one.sums = widened(one.sums, size) + widened(more, size)
        for one in cohorts:
            one.rounds += 1
        for slot, units in update.refunds.items():
            user.account[slot] -= units
        self._events.append(
            Event(time=update.time, slots=update.clicked_slots, answered=True, note=update.counted)
        )
        self._log(Answered.of(update))
        return UpdateOutcome.LEARNED

    async def cohorts(self, names: Sequence[str]) -> CohortStates:
        assert self._shape is not None
        found = [self._cohorts.get(name, User(np.zeros(0))) for name in names]
        sums = np.array([self._first(one.sums) for one in found])
        return CohortStates(
            sums=sums.reshape(len(names), self._shape.sums),
            slates=np.array([one.rounds for one in found], dtype=np.int64),
        )

    async def user(self, user: str, *, impressions: int) -> UserRecord | None:
        if user not in self._users:
            return None
        kept = [one for one in self._impressions.values() if one.user == user]
        return UserRecord(
            user=user,
            sums=self._first(self._users[user].sums),
            rounds=self._users[user].rounds,
            impressions=kept[::-1][:impressions],
            count=len(kept),
        )

    async def erase(self, user: str) -> bool:
        kept = {name: one for name, one in self._impressions.items() if one.user != user}
        self._impressions = kept
        known = self._users.pop(user, None) is not None
        if known:
            self._log(Erased(user=user))
        return known

    async def put_users(self, users: Sequence[str], sums: Floats, rounds: Ints) -> None:
        for name, row, number in zip(users, sums, rounds.tolist(), strict=True):
            if name not in self._users:
                self._users[name] = User(row.copy(), number)
                self._log(Imported(user=name, sums=row, rounds=number))

    async def events(self, after: str, limit: int) -> list[tuple[str, Event]]:
        first = int(after or 0)
        some = self._events[first : first + limit]
        return [(str(number), event) for number, event in enumerate(some, first + 1)]

    async def counts(self) -> tuple[str, bytes | None]:
        return self._counts

    async def keep_counts(self, cursor: str, counts: bytes) -> None:
        if int(cursor or 0) >= int(self._counts[0] or 0):
            self._counts = cursor, counts

    def log_changes(self, on: bool) -> None:
        self._logged = on

    def _log(self, change: Change) -> None:
        if self._logged:
            assert self._shape is not None
            self._changed += 1
            self._changes.append((self._changed, change.pack(self._shape.dim)))

    async def changes(self, after: str, limit: int) -> list[tuple[str, Change]]:
        assert self._shape is not None
        dim, first = self._shape.dim, int(after or 0)
        some = [(number, body) for number, body in self._changes if number > first][:limit]
        return [(str(number), read_change(body, dim)) for number, body in some]

    async def drop_changes(self, until: str) -> None:
        self._changes = [one for one in self._changes if one[0] > int(until or 0)]

    async def expire(self, before: float) -> int:
        old = [name for name, one in self._impressions.items() if one.time < before]
        for name in old:
            one = self._impressions.pop(name)
            if one.clicked is None:
                self._log(Expired(impression=one))
        return len(old)
