"""The journal: a record for everything that changed in a store, in order, as Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import singledispatchmethod
from typing import Any

import numpy as np
import pyarrow as pa

from faircascade.service.stores.base import Event, Impression, StoredItem
from faircascade.service.stores.changes import (
    Answered,
    Change,
    Erased,
    Expired,
    Imported,
    Moved,
    Shown,
)
from faircascade.service.stores.contents import StoredCohort, StoredUser
from faircascade.service.stores.packing import pack_note, pack_text
from faircascade.types import Floats

_PLAIN = {
    "kind": pa.string(),
    "time": pa.float64(),
    "user": pa.binary(),  # a client may send text that is no UTF-8
    "impression": pa.string(),
    "round": pa.int64(),
    "slots": pa.list_(pa.int32()),
    "units": pa.list_(pa.int64()),
    "note": pa.string(),
    "clicked": pa.list_(pa.int32()),
    "examined": pa.int32(),
    "numbers": pa.binary(),
    "name": pa.binary(),
    "version": pa.int64(),
    "value": pa.string(),
}
"""Columns of a record, but for the features."""
BYTES = frozenset(name for name, kind in _PLAIN.items() if kind == pa.binary())
"""Columns of bytes."""


def floats(numbers: Floats) -> bytes:
    """Return numbers as they stand in a record."""
    return numbers.astype("<f8", copy=False).tobytes()


class Records:
    """Records of a store whose items are described by `dim` numbers."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def _add(self, kind: str, **values: Any) -> None:
        self._rows.append({"kind": kind, **values})

    # what stores keep as changes

    @singledispatchmethod
    def change(self, change: Change) -> None:
        """Add the record of a change."""
        raise TypeError(f"{type(change).__name__} has no record")

    @change.register
    def _(self, change: Shown) -> None:
        units = change.units if len(change.units) else None
        self._slate("shown", change.impression, units=units)

    @change.register
    def _(self, change: Answered) -> None:
        answered = change.impression
        more = {"details": dict(answered.details), "refunds": [*change.refunds.items()]}
        self._add(
            "answered",
            time=change.time,
            user=pack_text(answered.user),
            impression=answered.id,
            clicked=answered.clicked,
            examined=answered.examined,
            numbers=floats(change.increments),
            note=_json(change.note),
            value=json.dumps(more) if any(more.values()) else None,
        )

    @change.register
    def _(self, change: Expired) -> None:
        expired = change.impression
        self._add("expired", user=pack_text(expired.user), impression=expired.id)

    @change.register
    def _(self, change: Erased) -> None:
        self._add("erased", user=pack_text(change.user))

    @change.register
    def _(self, change: Imported) -> None:
        user = pack_text(change.user)
        self._add("imported", user=user, round=change.rounds, numbers=floats(change.sums))

    @change.register
    def _(self, change: Moved) -> None:
        column = "name" if change.cohort else "user"
        places = {"first": change.first, "size": change.size, "into": change.into}
        self._add("moved", **{column: pack_text(change.name)}, value=json.dumps(places))

    # what is read as it is

    def item(self, item: StoredItem, version: int) -> None:
        """Add the record of an item as it is since a version of the catalogue."""
        state = {
            "merit": item.merit,
            "popularity": item.popularity,
            "groups": dict(item.groups),
            "attributes": dict(item.attributes),
            "removed": item.removed,
        }
        self._add(
            "item",
            name=pack_text(item.id),
            slots=[item.slot],
            features=item.features,
            version=version,
            value=json.dumps(state),
        )

    def meta(self, name: str, value: Any) -> None:
        """Add the record of a small value."""
        self._add("meta", name=pack_text(name), value=json.dumps(value))

    # what a journal begins with, if the store has it

    def user(self, user: StoredUser) -> None:
        """Add the record of a user as known."""
        account = {str(slot): units for slot, units in user.account.items()}
        self._add(
            "user",
            user=pack_text(user.user),
            round=user.rounds,
            numbers=floats(user.sums),
            value=json.dumps(account),
        )

    def cohort(self, cohort: StoredCohort) -> None:
        """Add the record of what users with a label have taught."""
        name = pack_text(cohort.name)
        self._add("cohort", name=name, round=cohort.slates, numbers=floats(cohort.sums))

    def impression(self, impression: Impression) -> None:
        """Add the record of a slate that was handed out before, with its answer."""
        answer = {"clicked": impression.clicked, "examined": impression.examined}
        self._slate("impression", impression, **answer, value=_json(impression.details))

    def event(self, event: Event) -> None:
        """Add the record of an event that is not among the counts."""
        self._add(
            "event",
            time=event.time,
            slots=event.slots,
            note=_json(event.note),
            clicked=[] if event.answered else None,
        )

    def counts(self, counts: bytes) -> None:
        """Add the record of what was counted before."""
        self._add("counts", numbers=counts)

    def _slate(self, kind: str, impression: Impression, **more: Any) -> None:
        self._add(
            kind,
            time=impression.time,
            user=pack_text(impression.user),
            impression=impression.id,
            round=impression.round,
            slots=impression.slots,
            features=impression.features,
            note=_json(impression.note),
            **more,
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns of their table."""
        features = pa.list_(pa.binary(8 * self._dim))
        return pa.schema([*_PLAIN.items(), ("features", features)])

    def table(self) -> pa.Table:
        """Return all of them as a table."""
        columns = {
            name: pa.array([row.get(name) for row in self._rows], kind)
            for name, kind in _PLAIN.items()
        }
        features = _features([row.get("features") for row in self._rows], self._dim)
        return pa.table({**columns, "features": features}, schema=self.schema)


def _json(note: Mapping[str, Any]) -> str | None:
    return pack_note(note).decode() or None


def _features(given: Sequence[Floats | None], dim: int) -> pa.ListArray:
    """Return features with a value for each item: files keep equal ones once."""
    width = 8 * dim
    known = [floats(one) for one in given if one is not None]
    count = sum(map(len, known)) // width
    values = pa.Array.from_buffers(pa.binary(width), count, [None, pa.py_buffer(b"".join(known))])
    ends = np.cumsum([0] + [0 if one is None else one.size // dim for one in given])
    starts = [None if one is None else end for one, end in zip(given, ends.tolist(), strict=False)]
    return pa.ListArray.from_arrays(pa.array([*starts, int(ends[-1])], pa.int32()), values)
