"""From feedback to updates of users' models."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from faircascade.policies import Policy
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.lineup import Lineup
from faircascade.service.messages import FeedbackRequest, Reason, Refused, invalid
from faircascade.service.stores.base import CHARGED, SHOWN, Impression, ModelUpdate
from faircascade.types import Feedback, Floats

OBSERVER = "observer"
"""Under which name the note of an impression has the version that says which positions were seen,
if the policy that made the slate learns nothing: whatever is served when the answer comes, the same
answer means the same."""

log = logging.getLogger(__name__)

_FAILED: set[str] = set()
"""Labels of policies of which was said that they cannot learn."""

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
    alike: dict[tuple[int, str, str], dict[int, Outcome]] = {}
    for place, outcome in enumerate(outcomes):
        if isinstance(outcome, Refused):
            results[place] = outcome
        else:
            note = outcome[0].note
            group = len(outcome[0].slots), note.get("policy", ""), note.get(OBSERVER, "")
            alike.setdefault(group, {})[place] = outcome
    for (size, version, observer), some in alike.items():
        served = lineup.version(observer or version) or lineup.observer or lineup.default
        try:
            updates = _updates(list(some.values()), served.policy, lineup, now, dim)
        except ValueError as error:  # handed out by another policy, with weights for other lengths
            refused = invalid("impression_id", f"is of a slate of {size}, which cannot be: {error}")
            results.update(dict.fromkeys(some, refused))
        else:
            results.update(zip(some, updates, strict=True))
    return [results[place] for place in range(len(outcomes))]


def _updates(
    outcomes: Sequence[Outcome], observer: Policy, lineup: Lineup, now: float, dim: int
) -> list[ModelUpdate]:
    """Return what is learned of slates of one length; one policy says what was seen of them."""
    rows = np.stack([impression.features for impression, _, _ in outcomes])  # (n, K, d + t)
    positions = np.arange(1, len(outcomes[0][0].slots) + 1)
    feedback = Feedback(
        items=np.stack([impression.slots for impression, _, _ in outcomes]),
        features=rows[:, :, :dim],
        clicks=np.stack([np.isin(positions, clicked) for _, clicked, _ in outcomes]),
        shown=np.array([shown for _, _, shown in outcomes]),
        topics=rows[:, :, dim:],
    )
    seen = observer.seen(feedback.clicks, feedback.shown) > 0  # (n, K)
    increments = _increments(feedback, lineup)
    examined = np.where(seen, positions, 0).max(axis=1)
    return [
        ModelUpdate(
            impression=impression,
            clicked=clicked,
            examined=last,
            increments=gained,
            time=now,
            details={SHOWN: shown} if shown < len(positions) else {},
            refunds=_refunds(impression, shown),
        )
        for (impression, clicked, shown), last, gained in zip(
            outcomes, examined.tolist(), increments, strict=True
        )
    ]


def _refunds(impression: Impression, shown: int) -> dict[int, int]:
    """Return what the account of the user was charged for items that were not shown."""
    if not impression.note.get(CHARGED):
        return {}
    units = exposure_units(len(impression.slots))[shown:]
    return dict(zip(impression.slots[shown:].tolist(), units.tolist(), strict=True))


def _increments(feedback: Feedback, lineup: Lineup) -> Floats:
    """Return what feedback adds to the sums of its users, (n, s).

    A policy that cannot learn from slates of this length is left out, unless no other can. So is
    one that fails, if it serves nobody.
    """
    found = np.zeros((len(feedback.clicks), lineup.width))
    reasons, failed = [], 0
    for model, learner in lineup.taught:
        try:
            found[:, model.first : model.end] = learner.increments(feedback)
        except ValueError as error:
            reasons.append(error)
        except Exception:
            if model.first not in lineup.spare:
                raise
            failed += 1
            if learner.label not in _FAILED:  # once, not at every answer
                _FAILED.add(learner.label)
                fields = {"policy": learner.label}
                log.exception("a policy that serves nobody cannot learn", extra=fields)
    if reasons and len(reasons) + failed == len(lineup.taught):
        raise reasons[0]
    return found
