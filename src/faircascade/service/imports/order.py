"""Which events may be sent at the same time, and which have to wait for others.

- Feedback on different slates may come in any order; on one slate, the first answer stays.
- Changes of items are sent one after the other. They do not touch feedback, which is learned from
  what the slate showed.
- An erasure waits for the feedback before it, and feedback after it waits for the erasure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from faircascade.service.imports.events import (
    Event,
    FeedbackEvent,
    ItemChange,
    ItemRemoval,
    Record,
    UserErasure,
)

Parsed = tuple[Record, Event]


@dataclass
class Stage:
    """Feedback and changes of items, and erasures once these are done."""

    feedback: list[Parsed] = field(default_factory=list)
    items: list[Parsed] = field(default_factory=list)
    erasures: list[Parsed] = field(default_factory=list)


def stages(events: Iterable[Parsed]) -> Iterator[Stage]:
    """Divide events into stages, each of which has to be done before the next one begins."""
    stage = Stage()
    for parsed in events:
        match parsed[1]:
            case UserErasure():
                stage.erasures.append(parsed)
                continue
            case FeedbackEvent():
                if stage.erasures:
                    yield stage
                    stage = Stage()
                stage.feedback.append(parsed)
            case _:
                stage.items.append(parsed)
    yield stage


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
