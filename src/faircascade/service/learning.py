"""From feedback to updates of users' models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faircascade.policies import Policy
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.event_log.notes import SHOWN
from faircascade.service.lineup import Lineup
from faircascade.service.messages import FeedbackRequest, Reason, Refused, invalid
from faircascade.service.stores.base import Impression, ModelUpdate
from faircascade.types import Feedback, Floats

Outcome = tuple[Impression, tuple[int, ...], int]
"""An impression, the clicked positions in order, and how many positions were shown."""

_FORMS = ("clicked_position", "clicked_positions", "clicked_item")
"""The fields of a request that say what was clicked: one of them at most."""


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
        return impression, *_answer(request, impression, catalogue)
    except Refused as refused:
        return refused


def _answer(
    request: FeedbackRequest, impression: Impression, catalogue: Catalogue
) -> tuple[tuple[int, ...], int]:
    """Return the clicked positions in order, and how many were shown."""
    field, clicked = _clicked(request, impression, catalogue)
    size = len(impression.slots)
    shown = size if request.shown is None else request.shown
    for position in clicked:
        if not 1 <= position <= size:
            raise invalid(field, f"must be between 1 and {size}, got {position}")
    if not 1 <= shown <= size:
        raise invalid("shown", f"must be between 1 and {size}, got {shown}")
    last = max(clicked, default=0)
    if last > shown:
        raise invalid("shown", f"must be at least {last}, a clicked position, got {shown}")
    return tuple(sorted(clicked)), shown


def _clicked(
    request: FeedbackRequest, impression: Impression, catalogue: Catalogue
) -> tuple[str, Sequence[int]]:
    """Return which field says what was clicked, and the positions that it names."""
    given = [form for form in _FORMS if getattr(request, form) is not None]
    if len(given) > 1:
        raise invalid(given[1], f"must be left out where {given[0]} is given")
    if request.clicked_positions is not None:
        return "clicked_positions", request.clicked_positions
    if request.clicked_item is not None:
        names = catalogue.names(impression.slots)
        if request.clicked_item not in names:
            rule = f"must be an item of the slate, got {request.clicked_item!r}"
            raise invalid("clicked_item", rule)
        return "clicked_item", [names.index(request.clicked_item) + 1]
    position = request.clicked_position
    return "clicked_position", [] if position is None else [position]


def model_updates(
    outcomes: Sequence[Outcome | Refused], lineup: Lineup, now: float, *, dim: int
) -> list[ModelUpdate | Refused]:
    """Compute what feedback adds to the sums of its users, slates that are alike together.

    Items have `dim` features; the rest of what an impression keeps of them are topics.
    """
    results: dict[int, ModelUpdate | Refused] = {}
    alike: dict[tuple[int, str], dict[int, Outcome]] = {}
    for place, outcome in enumerate(outcomes):
        if isinstance(outcome, Refused):
            results[place] = outcome
        else:
            group = len(outcome[0].slots), outcome[0].note.get("policy", "")
            alike.setdefault(group, {})[place] = outcome
    for (size, version), some in alike.items():
        served = lineup.version(version) or lineup.default
        try:
            updates = _updates(list(some.values()), served.policy, lineup, now, dim)
        except ValueError as error:  # handed out by another policy, with weights for other lengths
            refused = invalid("impression_id", f"is of a slate of {size}, which cannot be: {error}")
            results.update(dict.fromkeys(some, refused))
        else:
            results.update(zip(some, updates, strict=True))
    return [results[place] for place in range(len(outcomes))]


def _updates(
    outcomes: Sequence[Outcome], served: Policy, lineup: Lineup, now: float, dim: int
) -> list[ModelUpdate]:
    """Return what is learned of slates of one length that one policy made."""
    rows = np.stack([impression.features for impression, _, _ in outcomes])  # (n, K, d + t)
    positions = np.arange(1, len(outcomes[0][0].slots) + 1)
    feedback = Feedback(
        items=np.stack([impression.slots for impression, _, _ in outcomes]),
        features=rows[:, :, :dim],
        clicks=np.stack([np.isin(positions, clicked) for _, clicked, _ in outcomes]),
        shown=np.array([shown for _, _, shown in outcomes]),
        topics=rows[:, :, dim:],
    )
    # a policy that learns nothing does not say what was seen: the first that learns does
    watching = served if served.learns or not lineup.taught else lineup.taught[0][1]
    seen = watching.seen(feedback.clicks, feedback.shown) > 0  # (n, K)
    increments = _increments(feedback, lineup)
    examined = np.where(seen, positions, 0).max(axis=1)
    return [
        ModelUpdate(
            impression=impression,
            clicked=clicked,
            examined=last,
            increments=gained,
            time=now,
            note={SHOWN: shown},
        )
        for (impression, clicked, shown), last, gained in zip(
            outcomes, examined.tolist(), increments, strict=True
        )
    ]


def _increments(feedback: Feedback, lineup: Lineup) -> Floats:
    """Return what feedback adds to the sums of its users, (n, s).

    A policy that cannot learn from slates of this length is left out, unless no other can.
    """
    found = np.zeros((len(feedback.clicks), lineup.width))
    reasons = []
    for model, learner in lineup.taught:
        try:
            found[:, model.first : model.end] = learner.increments(feedback)
        except ValueError as error:
            reasons.append(error)
    if reasons and len(reasons) == len(lineup.taught):
        raise reasons[0]
    return found
