"""Ids become codes, and repeated (user, item) pairs become one rating: the last, or the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Ratings
from faircascade.data.scale import Feedback

UNKNOWN = "unknown"
"""The group of an item that the data says nothing about."""

_REPEATED: dict[Feedback, str] = {
    "explicit": "ratings repeated a user and item: the last one counts",
    "implicit": "rows repeated a user and item: they were merged",
    "counts": "rows repeated a user and item: their counts were added up",
}


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of ids as rows of a table of distinct ids."""

    ids: NDArray[Any]
    """Distinct ids in ascending order, int64 or text, (n_ids,)."""
    codes: NDArray[np.int32]
    """Row in `ids` of each value, (n,)."""


def code_integers(values: NDArray[np.integer[Any]]) -> Coded:
    """Code integer ids; a table instead of a sort where they are dense."""
    if len(values) == 0:
        return Coded(np.empty(0, np.int64), np.empty(0, np.int32))
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1_000_000:
        ids, codes = np.unique(values, return_inverse=True)
        return Coded(ids.astype(np.int64), codes.astype(np.int32))
    offsets = values - values.dtype.type(low) if low else values
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    rows = np.cumsum(present, dtype=np.int32) - 1
    return Coded(np.flatnonzero(present).astype(np.int64) + low, rows[offsets])


def code_dictionary(values: NDArray[Any], indices: NDArray[np.integer[Any]]) -> Coded:
    """Code ids that come as rows of a table that is neither sorted nor free of repeats."""
    used = np.zeros(len(values), dtype=bool)
    used[indices] = True
    ids, rows = np.unique(values[used], return_inverse=True)
    code_of = np.zeros(len(values), dtype=np.int32)
    code_of[used] = rows
    return Coded(ids, code_of[indices])


def last_row_of_each(codes: NDArray[np.int32], n: int) -> NDArray[np.intp]:
    """Return the last row in which each of the codes 0..n-1 occurs, or -1, (n,)."""
    last = np.full(n, -1, dtype=np.intp)
    last[codes] = np.arange(len(codes))
    return last


def assemble(
    *,
    name: str,
    users: Coded,
    items: Coded,
    ratings: NDArray[np.floating[Any]],
    where: Callable[[int], str],
    feedback: Feedback = "explicit",
    bounds: tuple[float, float] | None = None,
    notes: tuple[str, ...] = (),
    item_groups: dict[str, NDArray[np.str_]] | None = None,
    item_merit: NDArray[np.float64] | None = None,
) -> Ratings:
    """Build the table; `where(row)` names the place of a rating that is not finite."""
    with np.errstate(over="ignore"):  # what overflows is refused as infinite
        values = np.asarray(ratings, dtype=np.float32)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise DataError(f"{where(row)}: the rating must be a finite number, got {ratings[row]}")
    pairs = users.codes.astype(np.int64) * len(items.ids) + items.codes  # (n,)
    keep = _last_of_each(pairs)
    if keep is not None:
        notes = (*notes, f"{len(values) - len(keep):,} {_REPEATED[feedback]}")
        if feedback == "counts":
            values = _sums(pairs, values)
    rows: Any = slice(None) if keep is None else keep
    return Ratings(
        name=name,
        user_ids=users.ids,
        item_ids=items.ids,
        users=users.codes[rows],
        items=items.codes[rows],
        ratings=values[rows],
        feedback=feedback,
        bounds=bounds,
        item_groups=item_groups or {},
        item_merit=item_merit,
        notes=notes,
    )


def _last_of_each(pairs: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """Return the rows that no later row repeats, ascending, or None if there are no repeats."""
    ascending = np.sort(pairs)
    if not (ascending[1:] == ascending[:-1]).any():
        return None
    _, from_end = np.unique(pairs[::-1], return_index=True)
    return np.sort(len(pairs) - 1 - from_end)


def _sums(pairs: NDArray[np.int64], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return at each row the sum of all rows with the same pair, (n,)."""
    _, group = np.unique(pairs, return_inverse=True)
    return np.bincount(group, weights=values)[group].astype(np.float32)
