"""Impressions, events and items as bytes: a fixed head, then text and little-endian arrays."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.service.stores.attributes import AttributeChanges
from faircascade.service.stores.base import Event, Impression, ItemPatch, ModelUpdate, StoredItem
from faircascade.types import Floats

_IMPRESSION = struct.Struct("<iiqdIII")  # clicked, examined, round, time, bytes of user and note, K
_ANSWER = struct.Struct("<ii")  # what an impression begins with; several clicks stand at its end
_EVENT = struct.Struct("<diI")  # time, number of clicks, bytes of the note
_ITEM = struct.Struct("<i?dd")  # slot, removed, merit, popularity
_NUMBERS = struct.Struct("<dd")  # merit, popularity; not a number if left out
_LENGTH = struct.Struct("<I")  # bytes of the text that follows
_ATTRIBUTE = "\x1e"
"""Begins the column of an attribute, whose label is its value in JSON; no name has this in it."""
_NOTHING = -1
"""Stands for None."""


def pack_text(text: str) -> bytes:
    """Return UTF-8, also of text with lone surrogates, which a client may send."""
    return text.encode("utf-8", "surrogatepass")


def read_text(packed: bytes) -> str:
    return packed.decode("utf-8", "surrogatepass")


def pack_note(note: Mapping[str, Any]) -> bytes:
    """Return a JSON object as bytes, none for an empty one."""
    return json.dumps(note, separators=(",", ":")).encode() if note else b""


def read_note(packed: bytes | str | None) -> dict[str, Any]:
    """Return what `pack_note` packed; None is nothing."""
    return json.loads(packed) if packed else {}


def widened(sums: Floats, size: int) -> Floats:
    """Return the first `size` numbers of sums; those that are not there are 0."""
    missing = size - len(sums)
    return sums[:size] if missing <= 0 else np.concatenate([sums, np.zeros(missing)])


def moved(sums: Floats, first: int, size: int, into: int | None) -> Floats | None:
    """Return sums with `size` of them added to those from `into` on, or dropped, and 0 instead;
    nothing if they are 0 already."""
    taken = sums[first : first + size]
    if not taken.any():
        return None
    found = sums.copy() if into is None else widened(sums, max(len(sums), into + size)).copy()
    if into is not None:
        own = found[into : into + size]
        own[:] = widened(taken, size) + own
    found[first : first + size] = 0.0
    return found


def fitting(increments: Floats, size: int) -> Floats:
    """Return increments if there are no more than `size` sums."""
    if increments.ndim != 1 or len(increments) > size:
        raise ValueError(f"the store keeps {size} sums, got increments {increments.shape}")
    return increments


def pack_floats(array: Floats, *shape: int) -> bytes:
    """Return the bytes of an array that must have a shape: they do not say which."""
    if array.shape != shape:
        raise ValueError(f"the store keeps arrays of shape {shape} here, got {array.shape}")
    return array.astype("<f8", copy=False).tobytes()


def read_floats(packed: bytes) -> Floats:
    return np.frombuffer(packed, dtype="<f8").astype(np.float64)


def _pack_slots(slots: NDArray[np.int32]) -> bytes:
    return slots.astype("<i4", copy=False).tobytes()


def _read_slots(packed: bytes) -> NDArray[np.int32]:
    return np.frombuffer(packed, dtype="<i4").astype(np.int32)


def pack_impression(impression: Impression, dim: int) -> bytes:
    """Return a slate that has no answer yet; the answer goes over its first bytes."""
    user, note = pack_text(impression.user), pack_note(impression.note)
    k = len(impression.slots)
    head = _IMPRESSION.pack(
        _NOTHING, _NOTHING, impression.round, impression.time, len(user), len(note), k
    )
    slots, features = _pack_slots(impression.slots), pack_floats(impression.features, k, dim)
    return head + user + note + slots + features


def read_impression(name: str, packed: bytes, dim: int) -> Impression:
    clicked, examined, number, time, length, noted, k = _IMPRESSION.unpack_from(packed)
    note = _IMPRESSION.size + length
    slots = note + noted
    features = slots + 4 * k
    answered = clicked != _NOTHING
    end = features + 8 * k * dim
    said = end + (-4 * clicked if answered and clicked < 0 else 0)
    return Impression(
        id=name,
        user=read_text(packed[_IMPRESSION.size : note]),
        slots=_read_slots(packed[slots:features]),
        features=read_floats(packed[features:end]).reshape(k, dim),
        round=number,
        time=time,
        note=read_note(packed[note:slots]),
        clicked=_read_clicked(clicked, packed[end:said]) if answered else None,
        examined=examined if answered else None,
        details=read_note(packed[said:]),
    )


def _read_clicked(head: int, tail: bytes) -> tuple[int, ...]:
    if head < 0:
        return tuple(np.frombuffer(tail, dtype="<i4").tolist())
    return (head,) if head else ()


def pack_feedback(update: ModelUpdate) -> tuple[bytes, bytes]:
    """Return what goes over the first bytes of an impression, and what is added to its end.

    A single click is its position, none is 0; of n clicks, -n goes first and all positions to the
    end. What else the answer says comes last.
    """
    return _pack_answer(update.clicked, update.examined, update.details)


def _pack_answer(
    clicked: tuple[int, ...], examined: int, details: Mapping[str, Any]
) -> tuple[bytes, bytes]:
    said = pack_note(details)
    if len(clicked) > 1:
        tail = np.array(clicked, dtype="<i4").tobytes()
        return _ANSWER.pack(-len(clicked), examined), tail + said
    return _ANSWER.pack(sum(clicked), examined), said


def pack_answered_impression(impression: Impression, dim: int) -> bytes:
    """Return a slate with the answer that it has, if any."""
    packed = pack_impression(impression, dim)
    if impression.clicked is None or impression.examined is None:
        return packed
    head, tail = _pack_answer(impression.clicked, impression.examined, impression.details)
    return head + packed[_ANSWER.size :] + tail


def pack_shown(impression: Impression) -> bytes:
    """Return the event of a slate that is handed out."""
    return _pack_event(impression.time, _NOTHING, impression.counted, impression.slots)


def pack_answered(update: ModelUpdate) -> bytes:
    """Return the event of an answer: the clicked items alone."""
    return _pack_event(update.time, len(update.clicked), update.counted, update.clicked_slots)


def pack_event(event: Event) -> bytes:
    """Return an event as it was packed when it was new."""
    clicked = len(event.slots) if event.answered else _NOTHING
    return _pack_event(event.time, clicked, event.note, event.slots)


def _pack_event(
    time: float, clicked: int, note: Mapping[str, Any], slots: NDArray[np.int32]
) -> bytes:
    noted = pack_note(note)
    return _EVENT.pack(time, clicked, len(noted)) + noted + _pack_slots(slots)


def read_event(packed: bytes) -> Event:
    time, clicked, noted = _EVENT.unpack_from(packed)
    slots = _EVENT.size + noted
    return Event(
        time=time,
        slots=_read_slots(packed[slots:]),
        answered=clicked != _NOTHING,
        note=read_note(packed[_EVENT.size : slots]),
    )


def pack_patch(patch: ItemPatch, dim: int) -> bytes:
    """Return the change of an item; a store puts slot and `removed` before what comes of it."""
    numbers = (math.nan if n is None else n for n in (patch.merit, patch.popularity))
    labels = _labels(patch.groups, patch.attributes)
    return b"".join(
        [_NUMBERS.pack(*numbers), pack_floats(patch.features, dim), *map(pack_part, labels)]
    )


def pack_item(item: StoredItem, dim: int) -> bytes:
    """Return an item as `read_item` takes it."""
    head = _ITEM.pack(item.slot, item.removed, item.merit, item.popularity)
    labels = _labels(item.groups, item.attributes)
    return b"".join([head, pack_floats(item.features, dim), *map(pack_part, labels)])


def _labels(groups: Mapping[str, str], attributes: AttributeChanges) -> Iterator[str]:
    """Yield column, label, column, label, ..."""
    for column, label in groups.items():
        yield from (column, label)
    for name, value in attributes.items():
        yield from (_ATTRIBUTE + name, "" if value is None else json.dumps(value))


def read_item(name: str, packed: bytes, dim: int) -> StoredItem:
    slot, removed, merit, popularity = _ITEM.unpack_from(packed)
    labels = _ITEM.size + 8 * dim
    texts = _read_parts(packed[labels:])
    found = dict(zip(texts, texts, strict=True))  # column, label, column, label, ...
    return StoredItem(
        id=name,
        slot=slot,
        removed=removed,
        features=read_floats(packed[_ITEM.size : labels]),
        merit=merit,
        popularity=popularity,
        groups={column: text for column, text in found.items() if column[:1] != _ATTRIBUTE},
        attributes={
            column[1:]: json.loads(text)
            for column, text in found.items()
            if column[:1] == _ATTRIBUTE
        },
    )


def pack_part(text: str) -> bytes:
    """Return text after its length."""
    packed = pack_text(text)
    return _LENGTH.pack(len(packed)) + packed


def _read_parts(packed: bytes) -> Iterator[str]:
    at = 0
    while at < len(packed):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(packed, at)[0]
        yield read_text(packed[start:at])
