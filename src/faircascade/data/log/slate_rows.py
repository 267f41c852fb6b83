"""From rows of a log to impressions: what both layouts have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log.faults import Faults
from faircascade.data.log.id_columns import missing
from faircascade.data.log.impressions import NOTHING, Impressions
from faircascade.data.log.log_columns import LogColumns
from faircascade.data.log.values import flags, numbers, raw, times
from faircascade.data.log.vocabulary import Vocabulary
from faircascade.data.log.whole_ids import MISSING
from faircascade.types import Bools, Floats, Ints

MOST_POSITIONS = 1000
"""Of a slate."""
_CELLS = 1 << 21
"""Positions, empty ones included, of one block of impressions."""
IN_RANGE = "must be above 0 and at most 1"
PROPENSITIES = ("cascade_propensity", "item_position_propensity")
"""Those with a value for each position."""

Codes = NDArray[np.int32]


class Rows(NamedTuple):
    """A row for each position of each impression, in any order within it."""

    which: Ints
    """The impression, ascending from 0 on, (rows,)."""
    position: Ints
    """From 0 on."""
    items: Codes
    clicks: Bools
    cascade: Floats | None
    item_position: Floats | None


@dataclass
class SlateRows(ABC):
    """Reads tables with the columns of a log."""

    columns: LogColumns
    users: Vocabulary
    items: Vocabulary
    contexts: Vocabulary
    faults: Faults
    first_position: int | None
    """What the first position is called, 0 or 1; None is found out from the first block."""
    zero_allowed: bool = False
    """True if a propensity may be 0: that of a policy that did not show the slate."""

    @abstractmethod
    def whole(self, table: Any) -> int:
        """Return how many rows of a table are impressions that cannot go on in the next one."""

    @abstractmethod
    def impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
        """Yield the impressions of a table that begins with row `first_row` of the log."""

    def _checked_users(self, table: Any) -> Codes | None:
        if self.columns.user is None:
            return None
        column = table[self.columns.user]
        codes = self.users.codes(column)
        rule = f"column {self.columns.user!r} must name a user, by text or a whole number"
        self.faults.check(codes == MISSING, rule, lambda row: raw(column, row))
        return codes

    def _checked_contexts(self, table: Any) -> Codes | None:
        if self.columns.context is None:
            return None
        column = table[self.columns.context]
        codes = self.contexts.codes(column)
        rule = f"column {self.columns.context!r} must be text or a whole number"
        self.faults.check(codes == MISSING, rule, lambda row: raw(column, row))
        return codes

    def _checked_times(self, table: Any) -> Floats | None:
        if self.columns.time is None:
            return None
        column = table[self.columns.time]
        found = times(column)
        rule = (
            f"column {self.columns.time!r} must be a time: a number, or as in 2026-11-18T12:00:00Z"
        )
        self.faults.check(~np.isfinite(found), rule, lambda row: raw(column, row))
        return found

    def _checked_propensity(self, table: Any, role: str) -> Floats | None:
        """Return a propensity of each row; missing ones are NaN."""
        name = getattr(self.columns, role)
        if name is None:
            return None
        column = table[name]
        found = numbers(column)
        wrong = ~missing(column) & ~self._in_range(found)
        self.faults.check(wrong, f"column {name!r} {IN_RANGE}", lambda row: raw(column, row))
        return found

    def _in_range(self, propensity: Floats) -> Bools:
        possible = propensity >= 0 if self.zero_allowed else propensity > 0
        return np.asarray(possible & (propensity <= 1))

    def _checked_shown(self, table: Any) -> Ints | None:
        """Return how many positions were on the screen at most; a missing number is all."""
        if self.columns.shown is None:
            return None
        column = table[self.columns.shown]
        found = numbers(column) if flags(column) is None else np.full(len(column), np.nan)
        everything = missing(column)
        wrong = ~everything & ~((found >= 0) & (found <= MOST_POSITIONS) & (found % 1 == 0))
        rule = f"column {self.columns.shown!r} must be a whole number of positions"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        return np.where(everything | wrong, MOST_POSITIONS, found).astype(np.int64)

    def _checked_answered(self, table: Any, clicked: Bools) -> Bools | None:
        """Return whether feedback came, which it did where nothing is said."""
        name = self.columns.answered
        if name is None:
            return None
        column = table[name]
        found = numbers(column)
        wrong = ~missing(column) & (found != 0) & (found != 1)
        self.faults.check(wrong, f"column {name!r} must be 0 or 1", lambda row: raw(column, row))
        answered = np.asarray(found != 0)
        self.faults.check(clicked & ~answered, f"column {name!r} must be 1 where a click is")
        return answered

    def _blocks(
        self,
        n: int,
        rows: Rows,
        row_of: Ints,
        *,
        users: Codes | None,
        shown: Ints | None,
        **others: NDArray[Any] | None,
    ) -> Iterator[Impressions]:
        """Yield n impressions in blocks, without the bad ones.

        `row_of` is the row of the table that a row stands in. What is not in `rows` has an entry
        for each impression; `others` go into `Impressions` as they are.
        """
        last = np.zeros(n, dtype=np.int64)
        np.maximum.at(last, rows.which, rows.position + 1)
        shown_here = last if shown is None else np.minimum(shown, last)
        beyond = rows.clicks & (rows.position >= shown_here[rows.which])
        self._check_rows(beyond, "a click must be on a position that was shown", row_of)
        for what, values in (("a position", rows.position), ("an item", rows.items)):
            self._check_rows(_repeated(rows, values), f"{what} must be in a slate once", row_of)
        bad = self.faults.impressions(self._which_of_rows(rows, row_of), n)
        good = np.flatnonzero(~bad)
        rows = _without(rows, bad)
        k = int(last[good].max(initial=1))
        step = max(1, _CELLS // k)
        for first in range(0, len(good), step):
            chosen = good[first : first + step]
            ends = np.searchsorted(rows.which, (first, first + len(chosen)))
            inside = slice(*ends)
            cells = (rows.which[inside] - first) * k + rows.position[inside]
            known: dict[str, Any] = {
                name: None if values is None else values[chosen] for name, values in others.items()
            }

            def matrix(
                values: NDArray[Any] | None, blank: float, dtype: type,
                n: int = len(chosen), cells: Ints = cells, inside: slice = inside,
            ) -> Any:  # fmt: skip
                if values is None:
                    return None
                flat: NDArray[Any] = np.full(n * k, blank, dtype=dtype)
                flat[cells] = values[inside]
                return flat.reshape(n, k)

            yield Impressions(
                users=chosen.astype(np.int32) if users is None else users[chosen],
                items=matrix(rows.items, NOTHING, np.int32),
                clicks=matrix(rows.clicks, 0, np.bool_),
                shown=shown_here[chosen].astype(np.int32),
                cascade=matrix(rows.cascade, np.nan, np.float64),
                item_position=matrix(rows.item_position, np.nan, np.float64),
                **known,
            )

    def _check_rows(self, wrong: Bools, rule: str, row_of: Ints) -> None:
        """Check something of `rows`, which need not be rows of the table."""
        if wrong.any():
            in_table = np.zeros(self._table_rows, dtype=bool)
            in_table[row_of[wrong]] = True
            self.faults.check(in_table, rule)

    def _which_of_rows(self, rows: Rows, row_of: Ints) -> Ints:
        """Return the impression of each row of the table."""
        which = np.zeros(self._table_rows, dtype=np.int64)
        which[row_of] = rows.which
        return which

    def _begin(self, table: Any, first_row: int) -> None:
        self._table_rows = table.num_rows
        self.faults.begin(first_row)


def _without(rows: Rows, bad: Bools) -> Rows:
    """Return the rows of the good impressions, which are numbered anew."""
    if not bad.any():
        return rows
    stay = ~bad[rows.which]
    number = np.cumsum(~bad) - 1
    kept: list[Any] = [None if array is None else array[stay] for array in rows]
    return Rows(*kept)._replace(which=number[rows.which[stay]])


def _repeated(rows: Rows, values: NDArray[Any]) -> Bools:
    """Return the rows whose value was there before in their impression."""
    same = rows.which[1:] == rows.which[:-1]
    if not (same & (values[1:] <= values[:-1])).any():
        return np.zeros(len(values), dtype=bool)
    keys = rows.which * (int(values.max()) + 2) + values + 1  # MISSING is -1
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.zeros(len(values), dtype=bool)
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(values), dtype=bool)
    again[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    return again & (values >= 0)
