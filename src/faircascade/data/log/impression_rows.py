"""Logs with one row an impression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from faircascade.data.log.id_columns import id_array, missing
from faircascade.data.log.impressions import Impressions
from faircascade.data.log.slate_rows import (
    IN_RANGE,
    MOST_POSITIONS,
    PROPENSITIES,
    Codes,
    Rows,
    SlateRows,
)
from faircascade.data.log.values import lists, numbers, one_array, raw
from faircascade.data.log.whole_ids import MISSING
from faircascade.types import Bools, Floats, Ints

_ROWS = 1 << 15
"""Rows that are taken apart together at most."""
_CELLS = 1 << 19
"""Items that are taken apart together, about."""


class ImpressionRows(SlateRows):
    """One row an impression; its items are in a list."""

    def whole(self, table: Any) -> int:
        return int(table.num_rows)

    def impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
        columns = self.columns
        if self.first_position is None and columns.click is None and columns.clicked_positions:
            self.first_position = self._first_position_of(table)
        step = self._rows_together(table)
        for first in range(0, table.num_rows, step):
            yield from self._impressions(table.slice(first, step), first_row + first)

    def _rows_together(self, table: Any) -> int:
        """Return how many rows to take apart together: fewer if slates are long."""
        import pyarrow as pa

        column = one_array(table[self.columns.item])
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            return _ROWS  # of text, whose blocks are small
        items: int = column.offsets[-1].as_py() - column.offsets[0].as_py()
        return max(1, min(_ROWS, _CELLS * len(column) // max(items, 1)))

    def _first_position_of(self, table: Any) -> int:
        """Return 0 if there are clicks on a position 0, and it cannot stand for no click."""
        found, of_row = _positions(table[self.columns.clicked_positions])
        if not (found == 0).any():
            return 1
        each_has_one = len(of_row) == table.num_rows and bool((np.diff(of_row) == 1).all())
        beyond = found >= lists(table[self.columns.item])[1][of_row]
        return int(each_has_one or beyond.any())

    def _impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
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
                wrong = ~(np.isnan(found) | self._in_range(found))
                self._check_rows(wrong, f"a propensity {IN_RANGE}", which)
        clicked = np.bincount(which, weights=clicks, minlength=n) > 0
        yield from self._blocks(
            n, Rows(which, position, codes, clicks, *of_position), which,
            users=self._checked_users(table), shown=shown, times=self._checked_times(table),
            slate=self._checked_propensity(table, "slate_propensity"),
            answered=self._checked_answered(table, clicked),
            contexts=self._checked_contexts(table),
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
        clicks = np.zeros(len(which), dtype=bool)
        if columns.clicked_positions is not None:
            found, of_row = _positions(column)
            base = self.first_position
            assert base is not None  # found out from the first block
            found = found - base
            good = (found >= 0) & (found < sizes[of_row]) & (found == np.floor(found))
            rule = f"column {name!r} must be positions of the slate, the first being {base}"
            if (found == -1).any():
                rule += " (first_position=0 if that is 0; nothing where nothing was clicked)"
            self._refuse(of_row[~good], rule, column)
            begin = np.cumsum(sizes) - sizes
            clicks[begin[of_row[good]] + found[good].astype(np.int64)] = True
            return clicks
        flat, of_row = _in_rows(column)
        wanted = self.items.find(id_array(flat).to_pylist())
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
        none = np.zeros(len(counts), dtype=bool)
        if role != "click":
            none = (counts < 0) | ((counts == 0) & (sizes > 0) & _blank(column))
        wrong = ~none & (counts != sizes)
        rule = f"column {name!r} must have as many values as the slate has items"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        found = np.full(int(sizes.sum()), np.nan)
        if role == "click":
            found[:] = 0.0
        values, right = numbers(flat), ~wrong & ~none
        if role != "click":
            values = np.where(np.isnan(values) & ~missing(flat), np.inf, values)  # no number
        found[np.repeat(right, sizes)] = values[np.repeat(right, np.maximum(counts, 0))]
        return found


def _blank(column: Any) -> Bools:
    """Tell where there is no more than blank text, (n,)."""
    import pyarrow as pa

    nested = pa.types.is_nested(one_array(column).type)
    return np.zeros(len(column), dtype=bool) if nested else missing(column)


def _in_rows(column: Any) -> tuple[Any, Ints]:
    """Return all values of lists, and the row of each; no list has none."""
    flat, counts = lists(column)
    return flat, np.repeat(np.arange(len(counts)), np.maximum(counts, 0))


def _positions(column: Any) -> tuple[Floats, Ints]:
    flat, of_row = _in_rows(column)
    return numbers(flat), of_row


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
