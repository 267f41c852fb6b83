"""Answers and events from before a slate could have several clicks."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from faircascade.service.stores import packing
from faircascade.service.stores.base import Store, UpdateOutcome
from faircascade.testing.stores import SHAPE, hand_out, new_impression, new_update
from tests.service.stores.locations import SQLiteLocation


@pytest.mark.parametrize(("stored", "clicked"), [(0, ()), (2, (2,))])
def test_an_old_answer_in_redis_is_a_click_or_none(stored: int, clicked: tuple[int, ...]) -> None:
    """The first four bytes of an impression were the clicked position, and nothing came last."""
    shown = new_impression("ada", (4, 7))
    packed = packing.pack_impression(shown, SHAPE.dim)
    answered = struct.pack("<ii", stored, 2) + packed[8:]
    found = packing.read_impression("x", answered, SHAPE.dim)
    assert (found.clicked, found.examined) == (clicked, 2)
    assert np.array_equal(found.features, shown.features)
    update = new_update(shown, *clicked, examined=2)
    assert packing.pack_feedback(update) == (answered[:8], b"")  # so that it is known again


def test_old_events_in_redis_are_answers() -> None:
    """They had the position where the number of clicks is now."""
    found = packing.read_event(struct.pack("<di", 1.5, 9) + np.array([7], dtype="<i4").tobytes())
    assert (found.time, found.slots.tolist(), found.answered) == (1.5, [7], True)
    found = packing.read_event(struct.pack("<di", 1.5, 0))
    assert (found.slots.tolist(), found.answered) == ([], True)


def test_old_answers_and_events_in_a_file_are_read(tmp_path: Path) -> None:
    location = SQLiteLocation(tmp_path)
    ids = []

    async def show(store: Store) -> None:
        ids.extend(await hand_out(store, "ada", 2))

    async def read(store: Store) -> None:
        kept = await store.impressions([one.id for one in ids])
        assert [one.clicked for one in kept if one is not None] == [(2,), ()]
        again = [new_update(ids[0], 2), new_update(ids[1])]
        assert await store.learn(again) == [UpdateOutcome.REPEATED] * 2
        events = [event for _, event in await store.events("", 10)]
        assert [e.answered for e in events] == [False, False, True, True]
        assert [e.slots.tolist() for e in events[2:]] == [[1], []]

    location.tell(show)
    slot = np.array([1], dtype=np.int32).tobytes()
    with sqlite3.connect(location.path) as db:
        db.execute("UPDATE impressions SET clicked = 2, examined = 2 WHERE number = 1")
        db.execute("UPDATE impressions SET clicked = 0, examined = 2 WHERE number = 2")
        db.execute("INSERT INTO events (time, clicked, slots) VALUES (1.0, 2, ?)", [slot])
        db.execute("INSERT INTO events (time, clicked, slots) VALUES (2.0, 0, x'')")
    db.close()
    location.tell(read)
