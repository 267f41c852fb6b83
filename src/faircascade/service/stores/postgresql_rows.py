"""Values of a PostgreSQL store as bytes, and rows as what the service works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from faircascade.service.stores.base import Event, Impression, ModelUpdate, StoreShape, UserRecord
from faircascade.service.stores.packing import (
    fitting,
    pack_floats,
    pack_note,
    pack_text,
    read_floats,
    read_note,
    read_text,
    widened,
)
from faircascade.types import Floats

T = TypeVar("T")

IMPRESSION = "id, name, round, time, slots, features, note, clicked, examined, details"
"""Columns that `read_impression` takes."""
USER = f"""
SELECT u.rounds, array_send(u.sums),
  (SELECT count(*) FROM impressions c WHERE c.name = $2), i.*
FROM users u LEFT JOIN LATERAL (
  SELECT {IMPRESSION} FROM impressions WHERE name = $2 ORDER BY round DESC, id DESC LIMIT $3
) i ON true
WHERE {{guard}} AND u.name = $2
"""
"""Rows that `read_user` takes: the newest impressions of a user, or one without any."""

EXPIRED = f"""
DELETE FROM impressions WHERE id = ANY (ARRAY(
  SELECT i.id FROM impressions i WHERE i.time < $1 ORDER BY i.time LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING {IMPRESSION}
"""
"""Drops some impressions and returns what `read_impression` takes."""

SUMS = """
SELECT name, cardinality(sums), array_send(sums) FROM {table}
WHERE name > $1 AND cardinality(sums) > $2 ORDER BY name LIMIT $3 FOR UPDATE
"""
"""Some users or cohorts with more than so many sums, in the order in which others lock them."""

_MANY = 500
"""Rows sent together at most."""
_MUCH = 2**20
"""Bytes sent together, roughly."""
_HEADER = 20
"""Bytes before the numbers of an array of one dimension, as `array_send` returns it."""
_NUMBER = np.dtype([("size", ">i4"), ("value", ">f8")])


def at_once(size: int) -> int:
    """Return how many things of a size to send together."""
    return max(1, min(_MANY, _MUCH // max(1, size)))


def chunks(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield chunks in order."""
    return (things[start : start + size] for start in range(0, len(things), size))


def read_sums(sent: bytes | None, size: int) -> Floats:
    """Return the first numbers of an array that the server sends; None has none."""
    if sent is None:
        return np.zeros(size)
    return widened(np.frombuffer(sent, dtype=_NUMBER, offset=_HEADER)["value"].astype(float), size)


def slot_bytes(slots: NDArray[np.int32]) -> bytes:
    return slots.astype("<i4", copy=False).tobytes()


def _read_slots(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, dtype="<i4").astype(np.int32)


def clicked_bytes(clicked: tuple[int, ...]) -> bytes:
    """Return clicked positions as they are stored; no bytes say that nothing was clicked."""
    return np.array(clicked, dtype="<i4").tobytes()


def read_impression(row: Sequence[Any], dim: int) -> Impression:
    name, user, number, time, slots, features, note, clicked, examined, details = row
    shown = _read_slots(slots)
    return Impression(
        id=read_text(name),
        user=read_text(user),
        slots=shown,
        features=read_floats(features).reshape(len(shown), dim),
        round=number,
        time=time,
        note=read_note(note),
        clicked=None if clicked is None else tuple(_read_slots(clicked).tolist()),
        examined=examined,
        details=read_note(details),
    )


def read_user(user: str, rows: Sequence[Any], shape: StoreShape) -> UserRecord:
    """Return what is known of a user."""
    rounds, packed, count = rows[0][:3]
    return UserRecord(
        user=user,
        sums=read_sums(packed, shape.sums),
        rounds=rounds,
        impressions=[read_impression(row[3:], shape.dim) for row in rows if row[3] is not None],
        count=count,
    )


def read_event(row: Sequence[Any]) -> tuple[str, Event]:
    """Return an event and its cursor."""
    number, time, answered, slots, note = row
    return str(number), Event(
        time=time, slots=_read_slots(slots), answered=answered, note=read_note(note)
    )


def slate_values(
    ids: Sequence[str], impressions: Sequence[Impression], gains: Sequence[int], dim: int
) -> list[list[Any]]:
    """Return what the function `record` takes; each position adds to the account of its user."""
    names = [pack_text(impression.user) for impression in impressions]
    account: Counter[tuple[bytes, int]] = Counter()
    for name, impression in zip(names, impressions, strict=True):
        for slot, gained in zip(impression.slots.tolist(), gains, strict=False):
            account[name, slot] += gained
    return [
        [pack_text(name) for name in ids],
        names,
        [impression.round for impression in impressions],
        [impression.time for impression in impressions],
        [slot_bytes(impression.slots) for impression in impressions],
        [pack_floats(one.features, len(one.slots), dim) for one in impressions],
        [pack_note(one.note) for one in impressions],
        [pack_note(one.counted) for one in impressions],
        [name for name, _ in account],
        [slot for _, slot in account],
        list(account.values()),
    ]


def update_values(updates: Sequence[ModelUpdate], size: int) -> list[Any]:
    """Return what the function `learn` takes of updates with up to `size` increments each."""
    increments = [widened(fitting(update.increments, size), size) for update in updates]
    refunds = [
        (n, slot, units)
        for n, update in enumerate(updates, 1)
        for slot, units in update.refunds.items()
    ]
    taught = [(n, name) for n, update in enumerate(updates, 1) for name in update.cohorts]
    return [
        [pack_text(update.impression.id) for update in updates],
        [clicked_bytes(update.clicked) for update in updates],
        [update.examined for update in updates],
        [pack_note(update.details) for update in updates],
        size,
        np.concatenate(increments).tolist(),
        [update.time for update in updates],
        [slot_bytes(update.clicked_slots) for update in updates],
        [pack_note(update.counted) for update in updates],
        [n for n, _, _ in refunds],
        [slot for _, slot, _ in refunds],
        [units for _, _, units in refunds],
        [n for n, _ in taught],
        [pack_text(name) for _, name in taught],
    ]
