"""From feedback to updates of users' models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.rerankers.ledger import exposure_units
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.graded_rewards import GradedRewards
from faircascade.service.lineup import Lineup
from faircascade.service.messages import FeedbackRequest, Reason, Refused, invalid
from faircascade.service.stores.base import (
    CHARGED,
    DEFAULT,
    SHOWN,
    VALUES,
    Impression,
    ModelUpdate,
)
from faircascade.types import Bools, Feedback, Floats

OBSERVER = "observer"
"""Under which name the note of an impression has the version that says which positions were seen,
if the policy that made the slate learns nothing: whatever is served when the answer comes, the same
answer means the same."""

log = logging.getLogger(__name__)

_FAILED: set[str] = set()
"""Labels of policies of which was said that they cannot learn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What became of an impression."""

    impression: Impression
    clicked: tuple[int, ...]
    """The clicked positions in order."""
    shown: int
    """How many positions were shown."""
    values: tuple[tuple[int, dict[str, float]], ...] = ()
    """What positions led to beyond clicks, by position."""
    worth: Floats | None = None
    """What each position is worth, (K,); None if clicks are worth 1."""
    default: bool = False
    """Whether nobody said so: no feedback came in time."""

    @property
    def details(self) -> dict[str, Any]:
        """What the store keeps of it, beside clicks."""
        if self.default:
            return {DEFAULT: True}
        found: dict[str, Any] = {}
        if self.shown < len(self.impression.slots):
            found[SHOWN] = self.shown
        if self.values:
            found[VALUES] = [[position, named] for position, named in self.values]
        return found

    @property
    def refunds(self) -> dict[int, int]:
        """What the account of the user was charged for items that were not shown."""
        slots = self.impression.slots
        if self.default or not self.impression.note.get(CHARGED):
            return {}
        units = exposure_units(len(slots))[self.shown :]
        return dict(zip(slots[self.shown :].tolist(), units.tolist(), strict=True))

    def update(self, examined: int, increments: Floats, now: float) -> ModelUpdate:
        """Return what it teaches."""
        return ModelUpdate(
            impression=self.impression,
            clicked=self.clicked,
            examined=examined,
            increments=increments,
            time=now,
            details=self.details,
            refunds=self.refunds,
            reward=None if self.worth is None else float(self.worth.sum()),
        )


_FORMS = ("clicked_position", "clicked_positions", "clicked_item")
"""The fields of a request that say what was clicked: one of them at most."""


def read_feedback(
    request: FeedbackRequest,
    impression: Impression | None,
    catalogue: Catalogue,
    *,
    oldest: float,
    rewards: GradedRewards | None = None,
) -> Answer | Refused:
    """Check feedback against the impression that it is about."""
    if impression is None or impression.time < oldest:
        return Refused(
            Reason.UNKNOWN,
            "impression_id",
            f"{request.impression_id!r} is not known, or its time is over",
        )
    try:
        clicked, shown = _answer(request, impression, catalogue)
        values = _values(request, shown, rewards)
    except Refused as refused:
        return refused
    worth = None
    if rewards is not None:
        named = dict(values)
        positions = range(1, len(impression.slots) + 1)
        worth = np.array([rewards.reward(p in clicked, named.get(p, {})) for p in positions])
    return Answer(impression=impression, clicked=clicked, shown=shown, values=values, worth=worth)


def _values(
    request: FeedbackRequest, shown: int, rewards: GradedRewards | None
) -> tuple[tuple[int, dict[str, float]], ...]:
    """Return values by position, if they can be rewarded."""
    given = sorted(request.values or (), key=lambda one: one.position)
    if given and rewards is None:
        raise invalid("values", "must be left out: this service rewards clicks alone")
    for before, one in pairwise(given):
        if before.position == one.position:
            raise invalid("values", f"must name each position once, got {one.position} twice")
    for one in given:
        if one.position > shown:
            rule = f"must be of positions from 1 to {shown}, which were shown"
            raise invalid("values", f"{rule}, got {one.position}")
        for name in one.named:
            if rewards is not None and name not in rewards.values:
                known = ", ".join(sorted(rewards.values))
                raise invalid("values", f"must be among {known}, got {name!r}")
    return tuple((one.position, one.named) for one in given)


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
    answers: Sequence[Answer | Refused], lineup: Lineup, now: float, *, dim: int
) -> list[ModelUpdate | Refused]:
    """Compute what feedback adds to the sums of its users, slates that are alike together.

    Items have `dim` features; the rest of what an impression keeps of them are topics.
    """
    results: dict[int, ModelUpdate | Refused] = {}
    alike: dict[tuple[int, str, str], dict[int, Answer]] = {}
    for place, answer in enumerate(answers):
        if isinstance(answer, Refused):
            results[place] = answer
        else:
            impression = answer.impression
            policy, observer = (impression.note.get(name, "") for name in ("policy", OBSERVER))
            group = len(impression.slots), policy, observer
            alike.setdefault(group, {})[place] = answer
    for (size, version, observer), some in alike.items():
        served = lineup.version(observer or version) or lineup.observer or lineup.default
        try:
            updates = _updates(list(some.values()), served.policy, lineup, now, dim)
        except ValueError as error:  # handed out by another policy, with weights for other lengths
            refused = invalid("impression_id", f"is of a slate of {size}, which cannot be: {error}")
            results.update(dict.fromkeys(some, refused))
        else:
            results.update(zip(some, updates, strict=True))
    return [results[place] for place in range(len(answers))]


def _updates(
    answers: Sequence[Answer], observer: Policy, lineup: Lineup, now: float, dim: int
) -> list[ModelUpdate]:
    """Return what is learned of slates of one length; one policy says what was seen of them."""
    rows = np.stack([answer.impression.features for answer in answers])  # (n, K, d + t)
    positions = np.arange(1, len(answers[0].impression.slots) + 1)
    feedback = Feedback(
        items=np.stack([answer.impression.slots for answer in answers]),
        features=rows[:, :, :dim],
        clicks=_clicks(answers, len(positions)),
        shown=np.array([answer.shown for answer in answers]),
        topics=rows[:, :, dim:],
        values=_worth(answers),
    )
    seen = observer.seen(feedback.clicks, feedback.shown) > 0  # (n, K)
    increments = _increments(feedback, lineup)
    examined = np.where(seen, positions, 0).max(axis=1)
    return [
        answer.update(last, gained, now)
        for answer, last, gained in zip(answers, examined.tolist(), increments, strict=True)
    ]


def _clicks(answers: Sequence[Answer], size: int) -> Bools:
    """Return which positions were clicked, (n, size)."""
    clicks = np.zeros((len(answers), size), dtype=bool)
    rows = np.repeat(np.arange(len(answers)), [len(answer.clicked) for answer in answers])
    columns = [position - 1 for answer in answers for position in answer.clicked]
    clicks[rows, np.array(columns, dtype=np.int64)] = True
    return clicks


def _worth(answers: Sequence[Answer]) -> Floats | None:
    """Return what positions are worth, (n, K), if that is said of any."""
    if all(answer.worth is None for answer in answers):
        return None
    nothing = np.zeros(len(answers[0].impression.slots))  # of slates that nobody answered
    return np.stack([nothing if answer.worth is None else answer.worth for answer in answers])


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
