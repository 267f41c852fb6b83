"""Events, catalogues and a slow account that tests share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from hypothesis import strategies as st

from faircascade.metrics import Record
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.exposure import Recipients
from faircascade.service.exposure.counts import Counts
from faircascade.service.stores.base import ANSWER, Event

NOW = 1_700_000_000.0
"""Some time; not at the begin of any step."""


def listed(time: float, *slots: int) -> Event:
    """A slate that was handed out."""
    return Event(time=time, slots=np.array(slots, dtype=np.int32))


def answered(time: float, *slots: int) -> Event:
    """An answer: the items that were clicked."""
    return Event(time=time, slots=np.array(slots, dtype=np.int32), answered=True)


@dataclass(frozen=True)
class Unshown:
    """What an answer says of a slate that was handed out before: these were not shown."""

    time: float
    below: int
    slots: list[int]


def told(time: float, *slots: int, unshown: Unshown) -> Event:
    """An answer that says what was not shown."""
    return replace(answered(time, *slots), note={ANSWER: {"unshown": asdict(unshown)}})


def pieces(event: Event) -> list[Event | Unshown]:
    """What happened at one time: an answer, and that a slate was not shown as a whole."""
    unshown = event.note.get(ANSWER, {}).get("unshown")
    return [event] if unshown is None else [replace(event, note={}), Unshown(**unshown)]


def catalogue(m: int, *, first: int = 0, seed: int = 0, **columns) -> Recipients:
    """A catalogue of m items in slots from `first` on, with random merit."""
    return Recipients(
        slots=np.arange(first, first + m, dtype=np.int32),
        ids=[f"item-{slot}" for slot in range(first, first + m)],
        merit=np.random.default_rng(seed).uniform(0.1, 1.0, m),
        **columns,
    )


def events_at(
    times: st.SearchStrategy[float], *, items: int = 8, partly: bool = True
) -> st.SearchStrategy[Event]:
    """Slates, answers and clicks at given times; some slates were shown in part only."""
    slots = st.lists(st.integers(0, items - 1), max_size=5, unique=True)
    unshown = st.builds(Unshown, times, st.integers(1, 3), slots)
    parts = st.builds(
        lambda t, slots, unshown: told(t, *slots, unshown=unshown), times, slots, unshown
    )
    return st.one_of(
        st.builds(lambda time, slots: listed(time, *slots), times, slots),
        st.builds(lambda time, slots: answered(time, *slots), times, slots),
        *([parts] if partly else []),
    )


def slowly(events: Sequence[Event | Unshown], slots: int) -> tuple[list[list[int]], list[int]]:
    """Count events one by one: by slot (3, slots), and in total (7,)."""
    by_slot = [[0] * slots for _ in range(5)]
    totals = [0] * 7
    for event in [part for whole in events for part in as_pieces(whole)]:
        if isinstance(event, Unshown):
            totals[5] += len(event.slots)
            units = exposure_units(event.below + len(event.slots))
            for position, slot in enumerate(event.slots, event.below):
                by_slot[3][slot] += 1
                by_slot[4][slot] += int(units[position])
            continue
        if not event.answered:
            totals[0] += 1
            totals[4] += len(event.slots)
            units = exposure_units(len(event.slots))
            for position, slot in enumerate(event.slots.tolist()):
                by_slot[0][slot] += 1
                by_slot[1][slot] += int(units[position])
            continue
        totals[1] += 1
        totals[2] += len(event.slots)
        totals[3] += len(event.slots) > 0
        for slot in event.slots.tolist():
            by_slot[2][slot] += 1
    for column, unshown in ((0, 3), (1, 4)):
        pairs = zip(by_slot[column], by_slot[unshown], strict=True)
        by_slot[column] = [max(n - missed, 0) for n, missed in pairs]
    return by_slot[:3], totals


def as_pieces(event: Event | Unshown) -> list[Event | Unshown]:
    return [event] if isinstance(event, Unshown) else pieces(event)


def plainly(counts: Counts, slots: int) -> tuple[list[list[int]], list[int]]:
    """Counts in the form of `slowly`; slots beyond must be empty."""
    assert counts.by_slot.dtype == counts.totals.dtype == np.int64
    assert not counts.by_slot[:, slots:].any()
    return counts.of(np.arange(slots)).tolist(), counts.totals.tolist()


def record_of(events: Sequence[Event], recipients: Recipients, k: int) -> Record:
    """What the library's own metrics measure, over the items of a catalogue."""
    row = {slot: r for r, slot in enumerate(recipients.slots.tolist())}
    appearances = np.zeros((len(recipients), k), dtype=np.int64)
    clicks = np.zeros_like(appearances)
    for event in events:
        for position, slot in enumerate(event.slots.tolist()):
            if slot in row:
                into = clicks if event.answered else appearances
                into[row[slot], position] += 1
    return Record(
        appearances=appearances,
        item_clicks=clicks,
        merit=recipients.merit,
        popularity=np.zeros(len(recipients)),
        served=sum(not event.answered for event in events),
        clicks=int(clicks.sum()),
        clicked=sum(event.answered and len(event.slots) > 0 for event in events),
        regret=np.nan,
        realised_regret=np.nan,
        fairness_regret=np.nan,
        eligible_fairness_regret=np.nan,
        eligible=np.ones(len(recipients), dtype=bool),
    )
