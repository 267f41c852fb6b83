"""From feedback to updates of users' models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faircascade.policies import Policy
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.messages import FeedbackRequest, Reason, Refused, invalid
from faircascade.service.stores.base import Impression, ModelUpdate
from faircascade.types import Feedback, clicks_at

Outcome = tuple[Impression, int, int]
"""An impression, the clicked position (0 for none), and how many positions were looked at."""


def read_feedback(
    request: FeedbackRequest, impression: Impression | None, catalogue: Catalogue, *, oldest: float
) -> Outcome | Refused:
    """Check feedback against the impression that it is about."""
    if impression is None or impression.time < oldest:
        return Refused(
            Reason.UNKNOWN,
            "impression_id",
            f"{request.impression_id!r} is not known, or its time is over",
        )
    try:
        clicked = _clicked(request, impression, catalogue)
        return impression, *_seen(len(impression.slots), clicked, request.shown)
    except Refused as refused:
        return refused


def _clicked(request: FeedbackRequest, impression: Impression, catalogue: Catalogue) -> int | None:
    """Return the clicked position, whether the position or the item was given."""
    clicked, item = request.clicked_position, request.clicked_item
    if item is None:
        return clicked
    names = catalogue.names(impression.slots)
    if item not in names:
        raise invalid("clicked_item", f"must be an item of the slate, got {item!r}")
    position = names.index(item) + 1
    if clicked not in (None, position):
        raise invalid(
            "clicked_position",
            f"must be {position}, where clicked_item stood, or left out, got {clicked}",
        )
    return position


def _seen(size: int, clicked: int | None, shown: int | None) -> tuple[int, int]:
    """Return (clicked or 0, examined) of feedback on a slate of some size."""
    shown = size if shown is None else shown
    if clicked is not None and not 1 <= clicked <= size:
        raise invalid("clicked_position", f"must be between 1 and {size}, got {clicked}")
    if not 1 <= shown <= size:
        raise invalid("shown", f"must be between 1 and {size}, got {shown}")
    if clicked is not None and clicked > shown:
        raise invalid("shown", f"must be at least {clicked}, the clicked position, got {shown}")
    return clicked or 0, clicked or shown


def model_updates(
    outcomes: Sequence[Outcome | Refused], policy: Policy, now: float
) -> list[ModelUpdate | Refused]:
    """Compute what feedback adds to the sums of its users, slates of one length together."""
    results: dict[int, ModelUpdate | Refused] = {}
    by_length: dict[int, dict[int, Outcome]] = {}
    for place, outcome in enumerate(outcomes):
        if isinstance(outcome, Refused):
            results[place] = outcome
        else:
            by_length.setdefault(len(outcome[0].slots), {})[place] = outcome
    for size, alike in by_length.items():
        try:
            updates = _updates(list(alike.values()), policy, now)
        except ValueError as error:  # handed out by another policy, with weights for other lengths
            refused = invalid("impression_id", f"is of a slate of {size}, which cannot be: {error}")
            results.update(dict.fromkeys(alike, refused))
        else:
            results.update(zip(alike, updates, strict=True))
    return [results[place] for place in range(len(outcomes))]


def _updates(outcomes: Sequence[Outcome], policy: Policy, now: float) -> list[ModelUpdate]:
    feedback = Feedback(
        items=np.stack([impression.slots for impression, _, _ in outcomes]),
        features=np.stack([impression.features for impression, _, _ in outcomes]),
        clicks=clicks_at(
            np.array([clicked for _, clicked, _ in outcomes]), len(outcomes[0][0].slots)
        ),
        shown=np.array([examined for _, _, examined in outcomes]),
        topics=np.zeros((len(outcomes), len(outcomes[0][0].slots), 0)),
    )
    return [
        ModelUpdate(
            impression=impression,
            clicked=clicked,
            examined=examined,
            increments=increments,
            time=now,
        )
        for (impression, clicked, examined), increments in zip(
            outcomes, policy.increments(feedback), strict=True
        )
    ]
