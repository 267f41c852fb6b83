"""Rows of the event log: impressions whose outcome is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import pyarrow as pa

from faircascade.data.log.event_log import PER_POSITION, event_schema
from faircascade.service.event_log.notes import log_fields
from faircascade.service.stores.base import DEFAULT, SHOWN, VALUES, Impression
from faircascade.service.stores.changes import Answered, Change, Expired

SCHEMA = event_schema()

Outcome = tuple[Impression, int | None]
"""A slate, and how many of its positions were shown; None if nobody knows."""


def outcome_of(change: Change) -> Outcome | None:
    """Return the outcome that a change tells, if it tells one."""
    if isinstance(change, Answered):
        answered = change.impression
        return answered, int(answered.details.get(SHOWN, len(answered.slots)))
    if isinstance(change, Expired):
        return change.impression, None
    return None


def row_of(impression: Impression, shown: int | None, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the row of a slate; items have their names by slot."""
    fields = log_fields(impression.note)
    for name in PER_POSITION:
        numbers = fields.get(name)
        if numbers is not None and not all(map(isfinite, numbers)):
            del fields[name]
    return {
        "explored": False,
        **fields,
        "impression": impression.id,
        "time": impression.time,
        "user": _text(impression.user),
        "items": [_text(names[slot]) for slot in impression.slots.tolist()],
        "clicked_positions": impression.clicked or (),
        "shown": len(impression.slots) if shown is None else shown,
        "answered": impression.clicked is not None and DEFAULT not in impression.details,
        "context": _context(impression.details),
    }


def _context(details: Mapping[str, Any]) -> str | None:
    """Return what else an answer says, as text: a default outcome, or what clicks led to."""
    said = {name: details[name] for name in (DEFAULT, VALUES) if name in details}
    return json.dumps(said) if said else None


def table_of(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return rows as a table."""
    return pa.table(
        [pa.array([row.get(field.name) for row in rows], field.type) for field in SCHEMA],
        schema=SCHEMA,
    )


def _text(given: str) -> str:
    """Return text that can be written; a client may send what is no UTF-8."""
    return given if given.isascii() else given.encode("utf-8", "backslashreplace").decode()
