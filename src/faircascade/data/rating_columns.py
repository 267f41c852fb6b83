"""Which columns of a table are user, item and rating, and what kind of feedback that makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.data.columns import (
    USUAL_NAMES,
    find_column,
    missing,
    number_column,
    other_id_column,
    usual_column,
)
from faircascade.data.scale import Feedback
from faircascade.data.tables import Role, Table, TableRows

_TIMES = 1e8
"""Numbers from here on are seconds since 1970, not ratings."""
_HIGHEST = 100.0
"""No scale of ratings goes beyond this; counts do."""
_EVERY = "every row counts as liked"
_EVERY_COUNT = "every row with at least one counts as liked"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingColumns:
    """The names of the columns, and how the rating is to be read."""

    user: str
    item: str
    rating: str | None
    """None if there is none: implicit feedback."""
    feedback: Feedback
    certain: bool
    """True if the user said what the rating is."""
    notes: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, Role]:
        """What to read."""
        rating: dict[str, Role] = {} if self.rating is None else {self.rating: "number"}
        return {self.user: "id", self.item: "id", **rating}

    def values(
        self, columns: Mapping[str, Any], table: Table
    ) -> tuple[NDArray[np.float64], RatingColumns]:
        """Return the ratings, and what they turned out to be: if all are equal, implicit."""
        if self.rating is None:
            return np.ones(len(columns[self.user])), self
        least = 0.0 if self.feedback == "counts" else None
        values = number_column(columns[self.rating], table, self.rating, at_least=least)
        if self.certain or self.feedback != "explicit":
            return values, self
        low, high = values.min(), values.max()
        if low == high or low >= _TIMES:
            said = f"is always {low:g}" if low == high else "has times, not ratings"
            return np.ones(len(values)), self._as("implicit", f"{said}: {_EVERY}")
        if low >= 0 and high > _HIGHEST:
            return values, self._as("counts", f"goes up to {high:g}: {_EVERY_COUNT}")
        return values, self

    def _as(self, feedback: Feedback, said: str) -> RatingColumns:
        note = f"column {self.rating!r} {said} ({feedback} feedback)"
        return replace(self, feedback=feedback, notes=(*self.notes, note))


def find_rating_columns(
    table: Table,
    *,
    user: str | None,
    item: str | None,
    rating: str | None,
    feedback: Feedback | None,
) -> RatingColumns:
    """Find the columns: those named, or those with the usual names."""
    who = find_column(table, "user", user, USUAL_NAMES["user"])
    what, notes = _item(table, item, who)
    value, kind, said = _rating(table, rating, feedback)
    if len({who, what, value}) < 3:
        raise DataError(
            f"{table.label}: user, item and rating must be three columns, "
            f"got {who!r}, {what!r} and {value!r}"
        )
    return RatingColumns(
        user=who,
        item=what,
        rating=value,
        feedback=kind,
        certain=rating is not None or feedback is not None,
        notes=(*notes, *said),
    )


def _item(table: Table, given: str | None, user: str) -> tuple[str, tuple[str, ...]]:
    usual = USUAL_NAMES["item"]
    if given is None and usual_column(table, usual) is None:
        other = other_id_column(table, user)
        if other is not None:
            return other, (f"items are taken from the column {other!r}",)
    return find_column(table, "item", given, usual), ()


def _rating(
    table: Table, given: str | None, feedback: Feedback | None
) -> tuple[str | None, Feedback, tuple[str, ...]]:
    """Return the column, the kind of feedback, and notes on what was guessed."""
    if given is not None:
        return find_column(table, "rating", given), feedback or "explicit", ()
    if feedback == "implicit":
        return None, "implicit", ()
    found = usual_column(table, USUAL_NAMES["rating"])
    if found is not None:
        return found, feedback or "explicit", ()
    found = usual_column(table, USUAL_NAMES["counts"])
    if found is not None and feedback != "explicit":
        return found, "counts", (f"column {found!r} has counts: {_EVERY_COUNT}",)
    if feedback is not None:
        return find_column(table, "rating", None, USUAL_NAMES["rating"]), feedback, ()
    return None, "implicit", (f"there is no column of ratings: {_EVERY} (implicit feedback)",)


def drop_missing(
    table: Table, columns: Mapping[str, Any], names: Mapping[str, Any]
) -> tuple[Table, dict[str, Any], tuple[str, ...]]:
    """Leave out the rows in which one of some columns has no value; return a note on them."""
    gone = np.zeros(len(next(iter(columns.values()))), dtype=bool)
    for name in names:
        gone |= missing(columns[name]).to_numpy(zero_copy_only=False)
    if not gone.any():
        return table, dict(columns), ()
    rows = np.flatnonzero(~gone)
    note = f"{int(gone.sum()):,} rows without a {' or '.join(names)} were left out"
    kept = {name: column.take(rows) for name, column in columns.items()}
    return TableRows(table, rows), kept, (note,)
