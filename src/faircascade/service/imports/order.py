"""Which events may be sent at the same time, and which have to wait for others.

- Feedback on different slates may come in any order; on one slate, the first answer stays.
- Changes of items are sent one after the other. They do not touch feedback, which is learned from
  what the slate showed.
- An erasure waits until all before it is done and committed, and all after it waits until the
  erasure is. Otherwise, after a crash, feedback from before it would come once more and meet a user
  who is gone; or the erasure would come once more and take with it what was learned since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from faircascade.service.imports.events import (
    Event,
    FeedbackEvent,
    ItemChange,
    ItemRemoval,
    Malformed,
    Record,
    UserErasure,
    read_event,
)

Parsed = tuple[Record, Event]
Read = tuple[Record, Event | Malformed]


def spans(records: Iterable[Record]) -> Iterator[tuple[bool, list[Read]]]:
    """Divide records into those up to an erasure, and erasures that come one after the other;
    with whether they are erasures."""
    events = ((record, _event(record)) for record in records)
    for erasures, span in groupby(events, lambda read: isinstance(read[1], UserErasure)):
        yield erasures, list(span)


def _event(record: Record) -> Event | Malformed:
    try:
        return read_event(record)
    except Malformed as error:
        return error


def feedback_batches(feedback: Sequence[Parsed], most: int) -> list[list[Parsed]]:
    """Divide feedback into batches for any order: all that is about one slate is in one of them."""
    batches: list[list[Parsed]] = []
    batch_of: dict[str, int] = {}
    for parsed in feedback:
        assert isinstance(parsed[1], FeedbackEvent)
        name = parsed[1].impression_id
        if name in batch_of:
            batches[batch_of[name]].append(parsed)
            continue
        if not batches or len(batches[-1]) >= most:
            batches.append([])
        batch_of[name] = len(batches) - 1
        batches[-1].append(parsed)
    return batches


def item_runs(items: Sequence[Parsed], most: int) -> Iterator[list[Parsed]]:
    """Divide changes of items into runs of one kind, in which no item occurs twice."""
    run: list[Parsed] = []
    names: set[str] = set()
    for parsed in items:
        event = parsed[1]
        assert isinstance(event, ItemChange | ItemRemoval)
        if run and (type(event) is not type(run[0][1]) or event.item in names or len(run) >= most):
            yield run
            run, names = [], set()
        run.append(parsed)
        names.add(event.item)
    if run:
        yield run
