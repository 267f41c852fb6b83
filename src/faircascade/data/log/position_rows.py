"""Logs with one row a position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.data.log.impressions import Impressions
from faircascade.data.log.slate_rows import MOST_POSITIONS, PROPENSITIES, Codes, Rows, SlateRows
from faircascade.data.log.values import numbers, one_array, raw
from faircascade.data.log.whole_ids import MISSING
from faircascade.types import Bools, Ints


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
        contexts = self._checked_contexts(table)
        if contexts is not None:
            rule = "the rows of an impression must be of one context"
            self.faults.check(contexts != contexts[firsts][which], rule)
        of_position = [self._checked_propensity(table, role) for role in PROPENSITIES]
        clicks = self._clicks(table)
        answered = self._checked_answered(table, clicks)
        rows = Rows(
            which, self._positions(table, starts, which, firsts), self._item_codes(table),
            clicks, *of_position,
        )  # fmt: skip

        def of_impression(values: Any) -> Any:
            return None if values is None else values[firsts]

        yield from self._blocks(
            len(firsts), rows, np.arange(table.num_rows),
            users=of_impression(users), shown=of_impression(shown), times=of_impression(moments),
            slate=of_impression(slate), answered=of_impression(answered),
            contexts=of_impression(contexts),
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
