"""From answers to what they teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.policies import Policy
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.messages import Answer, Reason, Refused, invalid
from faircascade.service.stores.base import Impression, ModelUpdate
from faircascade.types import Feedback, clicks_at


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


def teach(
    heard: Sequence[Heard | Refused], policy: Policy, now: float
) -> list[ModelUpdate | Refused]:
    """Work out what answers add to the sums of their users, lists of a length together."""
    taught: dict[int, ModelUpdate | Refused] = {}
    alike: dict[int, list[tuple[int, Heard]]] = {}
    for place, answer in enumerate(heard):
        if isinstance(answer, Refused):
            taught[place] = answer
        else:
            alike.setdefault(len(answer.impression.slots), []).append((place, answer))
    for size, group in alike.items():
        places = [place for place, _ in group]
        try:
            updates = _lessons([answer for _, answer in group], policy, now)
        except ValueError as error:  # handed out by another policy, with weights for other lengths
            refused = invalid("impression_id", f"is of a list of {size}, which cannot be: {error}")
            taught.update(dict.fromkeys(places, refused))
        else:
            taught.update(zip(places, updates, strict=True))
    return [taught[place] for place in range(len(heard))]


def _lessons(heard: Sequence[Heard], policy: Policy, now: float) -> list[ModelUpdate]:
    feedback = Feedback(
        items=np.stack([h.impression.slots for h in heard]),
        features=np.stack([h.impression.features for h in heard]),
        clicks=clicks_at(np.array([h.clicked for h in heard]), len(heard[0].impression.slots)),
        shown=np.array([h.examined for h in heard]),
    )
    return [
        ModelUpdate(
            impression=h.impression,
            clicked=h.clicked,
            examined=h.examined,
            increments=increments,
            time=now,
        )
        for h, increments in zip(heard, policy.increments(feedback), strict=True)
    ]
