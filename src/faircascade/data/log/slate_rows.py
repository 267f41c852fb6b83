"""From rows of a log to impressions: one row a position, or one row an impression."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.data.log.faults import Faults
from faircascade.data.log.impressions import NOTHING, Impressions
from faircascade.data.log.log_columns import LogColumns
from faircascade.data.log.values import lists, numbers, one_array, raw, times
from faircascade.data.log.vocabulary import MISSING, Vocabulary
from faircascade.types import Bools, Floats, Ints

MOST_POSITIONS = 1000
"""Of a slate."""
_CELLS = 1 << 24
"""Positions, empty ones included, of one block of impressions."""
_PROPENSITY = "must be above 0 and at most 1"
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

    def _checked_times(self, table: Any) -> Floats | None:
        if self.columns.time is None:
            return None
        column = table[self.columns.time]
        found = times(column)
        rule = f"column {self.columns.time!r} must be a time: a number or as in 2026-11-18T12:00"
        self.faults.check(~np.isfinite(found), rule, lambda row: raw(column, row))
        return found

    def _checked_propensity(self, table: Any, role: str) -> Floats | None:
        """Return a propensity of each row; missing ones are NaN."""
        name = getattr(self.columns, role)
        if name is None:
            return None
        column = table[name]
        found = numbers(column)
        there = one_array(column).is_valid().to_numpy(zero_copy_only=False)
        wrong = there & ~(self._possible(found) & (found <= 1))
        self.faults.check(wrong, f"column {name!r} {_PROPENSITY}", lambda row: raw(column, row))
        return found

    def _possible(self, propensity: Floats) -> Bools:
        return np.asarray(propensity >= 0 if self.zero_allowed else propensity > 0)

    def _checked_shown(self, table: Any) -> Ints | None:
        """Return how many positions were on the screen at most; a missing number is all."""
        if self.columns.shown is None:
            return None
        column = table[self.columns.shown]
        found = numbers(column)
        everything = ~one_array(column).is_valid().to_numpy(zero_copy_only=False)
        wrong = ~everything & ~((found >= 0) & (found <= MOST_POSITIONS) & (found % 1 == 0))
        rule = f"column {self.columns.shown!r} must be a whole number of positions"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        return np.where(everything | wrong, MOST_POSITIONS, found).astype(np.int64)

    def _blocks(
        self,
        n: int,
        rows: Rows,
        users: Codes | None,
        shown: Ints | None,
        moments: Floats | None,
        slate: Floats | None,
        row_of: Ints,
    ) -> Iterator[Impressions]:
        """Yield n impressions in blocks, without the bad ones.

        What is not in `rows` has an entry for each impression; `row_of` is the row of the table
        that a row stands in.
        """
        ends = np.searchsorted(rows.which, np.arange(n + 1))
        last = np.zeros(n, dtype=np.int64)
        np.maximum.at(last, rows.which, rows.position + 1)
        shown_here = last if shown is None else shown
        beyond = rows.clicks & (rows.position >= shown_here[rows.which])
        self._check_rows(beyond, "a click must be on a position that was shown", row_of)
        self._check_rows(_repeated(rows, rows.position), "a position must be there once", row_of)
        self._check_rows(_repeated(rows, rows.items), "an item must be there once a slate", row_of)
        bad = self.faults.impressions(self._which_of_rows(rows, row_of), n)
        k = int(last.max(initial=1))
        step = max(1, _CELLS // k)
        for first in range(0, n, step):
            keep = np.flatnonzero(~bad[first : first + step]) + first
            if not len(keep):
                continue
            inside = slice(ends[first], ends[min(n, first + step)])
            cell = (rows.which[inside] - first) * k + rows.position[inside]
            size = min(n, first + step) - first
            here = keep - first

            def matrix(
                values: NDArray[Any] | None, blank: float, dtype: type,
                size: int = size, cell: Ints = cell, here: Ints = here, inside: slice = inside,
            ) -> Any:  # fmt: skip
                if values is None:
                    return None
                flat: NDArray[Any] = np.full(size * k, blank, dtype=dtype)
                flat[cell] = values[inside]
                return flat.reshape(size, k)[here]

            yield Impressions(
                users=keep.astype(np.int32) if users is None else users[keep],
                items=matrix(rows.items, NOTHING, np.int32),
                clicks=matrix(rows.clicks, 0, np.bool_),
                shown=np.minimum(shown_here, last)[keep].astype(np.int32),
                times=None if moments is None else moments[keep],
                slate=None if slate is None else slate[keep],
                cascade=matrix(rows.cascade, np.nan, np.float64),
                item_position=matrix(rows.item_position, np.nan, np.float64),
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


class PositionRows(SlateRows):
    """One row a position; the rows of an impression stand together."""

    def whole(self, table: Any) -> int:
        starts = self._starts(table)
        return int(np.flatnonzero(starts)[-1]) if starts.any() else 0

    def impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
        self._begin(table, first_row)
        starts = self._starts(table)
        which = np.cumsum(starts) - 1
        firsts = np.flatnonzero(starts)
        self._check_together(table, starts)
        users = self._checked_users(table)
        if users is not None:
            rule = "the rows of an impression must be of one user"
            self.faults.check(users != users[firsts][which], rule)
        moments, shown = self._checked_times(table), self._checked_shown(table)
        slate = self._checked_propensity(table, "slate_propensity")
        of_position = [self._checked_propensity(table, role) for role in PROPENSITIES]
        rows = Rows(
            which, self._positions(table, starts, which, firsts), self._item_codes(table),
            self._clicks(table), *of_position,
        )  # fmt: skip

        def of_impression(values: Any) -> Any:
            return None if values is None else values[firsts]

        yield from self._blocks(
            len(firsts), rows, of_impression(users), of_impression(shown), of_impression(moments),
            of_impression(slate), np.arange(table.num_rows),
        )  # fmt: skip

    def _starts(self, table: Any) -> Bools:
        """Return the rows at which an impression begins."""
        columns = self.columns
        starts = np.ones(table.num_rows, dtype=bool)
        if columns.impression is not None:
            values = _comparable(table[columns.impression])
            starts[1:] = values[1:] != values[:-1]
        elif columns.user is not None and columns.position is not None:
            users, position = _comparable(table[columns.user]), numbers(table[columns.position])
            starts[1:] = (users[1:] != users[:-1]) | ~(position[1:] > position[:-1])
            if columns.time is not None:
                moments = _comparable(table[columns.time])
                starts[1:] |= moments[1:] != moments[:-1]
        return starts

    def _check_together(self, table: Any, starts: Bools) -> None:
        if self.columns.impression is None:
            return
        column = table[self.columns.impression]
        values = _comparable(column)
        firsts = np.flatnonzero(starts)
        heads = values[firsts]
        if (heads[1:] > heads[:-1]).all():
            return
        _, first = np.unique(heads, return_index=True)
        if len(first) == len(heads):
            return
        again = np.ones(len(heads), dtype=bool)
        again[first] = False
        wrong = np.zeros(len(values), dtype=bool)
        wrong[firsts[again]] = True
        rule = "the rows of an impression must stand together"
        self.faults.check(wrong, rule, lambda row: raw(column, row))

    def _positions(self, table: Any, starts: Bools, which: Ints, firsts: Ints) -> Ints:
        """Return positions from 0 on."""
        name = self.columns.position
        if name is None:
            return np.arange(table.num_rows) - firsts[which]
        column = table[name]
        found = numbers(column)
        if self.first_position is None:
            self.first_position = 0 if (found == 0).any() else 1
        found = found - self.first_position
        wrong = ~((found >= 0) & (found < MOST_POSITIONS) & (found == np.floor(found)))
        rule = (
            f"column {name!r} must be a position, a whole number from {self.first_position} to "
            f"{MOST_POSITIONS - 1 + self.first_position}"
        )
        if self.first_position == 1 and (found == -1).any():
            rule += " (first_position=0 if positions begin with 0)"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        return np.where(wrong, 0, found).astype(np.int64)

    def _item_codes(self, table: Any) -> Codes:
        column = table[self.columns.item]
        codes = self.items.codes(column)
        rule = f"column {self.columns.item!r} must name an item, by text or a whole number"
        self.faults.check(codes == MISSING, rule, lambda row: raw(column, row))
        return codes

    def _clicks(self, table: Any) -> Bools:
        name = self.columns.click
        if name is None:
            there = self.columns.clicked_positions or self.columns.clicked_items
            raise DataError(
                f"{there!r} cannot say what was clicked where a row is a position; name a column "
                "of 0 and 1 with click=, or say rows='impressions' if a row has several items"
            )
        column = table[name]
        found = numbers(column)
        wrong = (found != 0) & (found != 1)
        self.faults.check(wrong, f"column {name!r} must be 0 or 1", lambda row: raw(column, row))
        return np.asarray(found == 1)


class ImpressionRows(SlateRows):
    """One row an impression; its items are in a list."""

    def whole(self, table: Any) -> int:
        return int(table.num_rows)

    def impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
        self._begin(table, first_row)
        n = table.num_rows
        column = table[self.columns.item]
        flat, sizes = lists(column)
        wrong = (sizes < 1) | (sizes > MOST_POSITIONS)
        rule = f"column {self.columns.item!r} must be a list of 1 to {MOST_POSITIONS} items"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        sizes = np.maximum(sizes, 0)
        which = np.repeat(np.arange(n), sizes)
        position = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        codes = self.items.codes(flat)
        rule = "an item must be text or a whole number"
        self._check_rows(codes == MISSING, rule, which)
        shown = self._checked_shown(table)
        clicks = self._clicks(table, which, position, codes, sizes)
        of_position = [self._lists_of_numbers(table, role, sizes) for role in PROPENSITIES]
        for found in of_position:
            if found is not None:
                wrong = ~(np.isnan(found) | (self._possible(found) & (found <= 1)))
                self._check_rows(wrong, f"a propensity {_PROPENSITY}", which)
        yield from self._blocks(
            n, Rows(which, position, codes, clicks, *of_position), self._checked_users(table),
            shown, self._checked_times(table),
            self._checked_propensity(table, "slate_propensity"), which,
        )  # fmt: skip

    def _which_of_rows(self, rows: Rows, row_of: Ints) -> Ints:
        return np.arange(self._table_rows)

    def _clicks(self, table: Any, which: Ints, position: Ints, codes: Codes, sizes: Ints) -> Bools:
        """Return whether each position of each impression was clicked."""
        columns = self.columns
        flags = self._lists_of_numbers(table, "click", sizes)
        if flags is not None:
            self._check_rows((flags != 0) & (flags != 1), "clicks must be 0 or 1", which)
            return np.asarray(flags == 1)
        name = columns.clicked_positions or columns.clicked_items
        column = table[name]
        flat, counts = lists(column)
        counts = np.maximum(counts, 0)  # no list, no click
        of_row = np.repeat(np.arange(len(counts)), counts)
        clicks = np.zeros(len(which), dtype=bool)
        begin = np.cumsum(sizes) - sizes
        if columns.clicked_positions is not None:
            base = 1 if self.first_position is None else self.first_position
            found = numbers(flat) - base
            good = (found >= 0) & (found < sizes[of_row]) & (found == np.floor(found))
            rule = f"column {name!r} must be positions of the slate, the first being {base}"
            self._refuse(of_row[~good], rule, column)
            clicks[begin[of_row[good]] + found[good].astype(np.int64)] = True
            return clicks
        wanted = self.items.find(flat.to_pylist())
        hits = _places_of(wanted, of_row, codes, sizes)
        rule = f"column {name!r} must be items of the slate"
        self._refuse(of_row[hits < 0], rule, column)
        clicks[hits[hits >= 0]] = True
        return clicks

    def _refuse(self, rows: Ints, rule: str, column: Any) -> None:
        wrong = np.zeros(self._table_rows, dtype=bool)
        wrong[rows] = True
        self.faults.check(wrong, rule, lambda row: raw(column, row))

    def _lists_of_numbers(self, table: Any, role: str, sizes: Ints) -> Floats | None:
        """Return the values of lists as long as the slates, (rows,); NaN where there is none."""
        name = getattr(self.columns, role)
        if name is None:
            return None
        column = table[name]
        flat, counts = lists(column)
        none = counts < 0
        if role == "click":
            none = np.zeros(len(counts), dtype=bool)
        wrong = ~none & (counts != sizes)
        rule = f"column {name!r} must have as many values as the slate has items"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        found = np.full(int(sizes.sum()), np.nan)
        if role == "click":
            found[:] = 0.0
        values, right = numbers(flat), ~wrong & ~none
        found[np.repeat(right, sizes)] = values[np.repeat(right, np.maximum(counts, 0))]
        return found


def _places_of(wanted: Ints, of_row: Ints, codes: Codes, sizes: Ints) -> Ints:
    """Return where in `codes` the wanted item of a row stands; -1 if it does not."""
    begin = np.cumsum(sizes) - sizes
    places = np.full(len(wanted), -1, dtype=np.int64)
    for position in range(int(sizes.max(initial=0))):
        inside = np.flatnonzero((position < sizes[of_row]) & (places < 0))
        at = begin[of_row[inside]] + position
        same = codes[at] == wanted[inside]
        places[inside[same]] = at[same]
    return places


def _comparable(column: Any) -> NDArray[Any]:
    """Return values, or codes of them, that are equal where the column is."""
    import pyarrow as pa

    column = one_array(column)
    if pa.types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False))


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
