"""From answers to what they teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.policies import Policy
from faircascade.service.asking import Answer, Reason, Refused, invalid
from faircascade.service.catalogue import Catalogue
from faircascade.service.stores.base import Impression, Lesson
from faircascade.types import Feedback, Floats


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer that makes sense."""

    impression: Impression
    clicked: int
    """Clicked position, 0 for none."""
    examined: int
    """How many positions were looked at."""


def hear(
    answer: Answer, impression: Impression | None, catalogue: Catalogue, *, oldest: float
) -> Heard | Refused:
    """Check an answer against the list that it is about."""
    if impression is None or impression.time < oldest:
        return Refused(
            Reason.UNKNOWN,
            "impression_id",
            f"{answer.impression_id!r} is not known, or its time is over",
        )
    try:
        clicked = _clicked(answer, impression, catalogue)
        return Heard(impression, *_outcome(len(impression.slots), clicked, answer.shown))
    except Refused as refused:
        return refused


def _clicked(answer: Answer, impression: Impression, catalogue: Catalogue) -> int | None:
    """Return the clicked position, whichever way it was given."""
    clicked, item = answer.clicked_position, answer.clicked_item
    if item is None:
        return clicked
    names = catalogue.names(impression.slots)
    if item not in names:
        raise invalid("clicked_item", f"must be an item of the list, got {item!r}")
    place = names.index(item) + 1
    if clicked not in (None, place):
        raise invalid(
            "clicked_position",
            f"must be {place}, where clicked_item stood, or left out, got {clicked}",
        )
    return place


def _outcome(size: int, clicked: int | None, shown: int | None) -> tuple[int, int]:
    """Return (clicked or 0, examined) of an answer to a list of some size."""
    shown = size if shown is None else shown
    if clicked is not None and not 1 <= clicked <= size:
        raise invalid("clicked_position", f"must be between 1 and {size}, got {clicked}")
    if not 1 <= shown <= size:
        raise invalid("shown", f"must be between 1 and {size}, got {shown}")
    if clicked is not None and clicked > shown:
        raise invalid("shown", f"must be at least {clicked}, the clicked position, got {shown}")
    return clicked or 0, clicked or shown


def lessons_of(heard: Sequence[Heard], policy: Policy, now: float) -> list[Lesson]:
    """Work out what answers add to the sums of their users, lists of a length together."""
    increments: dict[int, Floats] = {}
    for size in {len(h.impression.slots) for h in heard}:
        places = [place for place, h in enumerate(heard) if len(h.impression.slots) == size]
        feedback = Feedback(
            features=np.stack([heard[p].impression.features for p in places]),
            clicked=np.array([heard[p].clicked for p in places]),
            examined=np.array([heard[p].examined for p in places]),
        )
        increments.update(zip(places, policy.increments(feedback), strict=True))
    return [
        Lesson(
            impression=h.impression,
            clicked=h.clicked,
            examined=h.examined,
            increments=increments[place],
            time=now,
        )
        for place, h in enumerate(heard)
    ]
