"""What a slate says of itself for the event log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faircascade.service.scoring import RankedSlate

LOGGED = "logged"
"""Under which name the note of an impression has what only the event log needs."""


def slate_note(label: str, slate: RankedSlate) -> dict[str, Any]:
    """Return how a slate came about: the label of its policy, scores and propensities."""
    note: dict[str, Any] = {"policy": label}
    if not slate.pinned:  # pinned items have none
        note["scores"] = slate.scores
    if slate.explored:
        note["explored"] = True
    if (known := slate.propensities) is not None:
        note["cascade_propensity"] = known.cascade
        if known.item_position is not None:
            note["item_position_propensity"] = known.item_position
    return note


def log_fields(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the event log that the note of an impression has."""
    found = dict(note.get(LOGGED, {}))
    version = note.get("policy")
    found.setdefault("policy", version or "unknown")
    cascade = found.get("cascade_propensity")
    if cascade is not None:
        found["slate_propensity"] = cascade[-1]
        if not cascade[-1] > 0:  # too small for a number
            for name in ("slate_propensity", "cascade_propensity", "item_position_propensity"):
                found.pop(name, None)
    return {**found, "policy_version": version}
