"""Logs with one row a position."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log.id_columns import changes, differs, missing
from faircascade.data.log.impression_ids import ImpressionIds, ids_at, repeated
from faircascade.data.log.impressions import Impressions
from faircascade.data.log.row_kinds import is_list
from faircascade.data.log.slate_rows import MOST_POSITIONS, PROPENSITIES, Codes, Rows, SlateRows
from faircascade.data.log.values import flags, numbers, raw
from faircascade.data.log.whole_ids import MISSING
from faircascade.types import Bools, Ints


@dataclass
class PositionRows(SlateRows):
    """One row a position; the rows of an impression stand together."""

    _ids: ImpressionIds = field(default_factory=ImpressionIds, init=False)

    def whole(self, table: Any) -> int:
        starts = self._starts(table)
        return int(np.flatnonzero(starts)[-1]) if starts.any() else 0

    def impressions(self, table: Any, first_row: int) -> Iterator[Impressions]:
        self._begin(table, first_row)
        starts = self._starts(table)
        which = np.cumsum(starts) - 1
        firsts = np.flatnonzero(starts)
        users = self._checked_users(table)
        contexts = self._checked_contexts(table)
        for values, role in ((users, "user"), (contexts, "context")):
            self._check_same(starts, values, f"the rows of an impression must be of one {role}")
        clicks = self._clicks(table)
        times = self._checked_times(table)
        slate = self._checked_propensity(table, "slate_propensity")
        answered = self._checked_answered(table, clicks)
        told = {"time": times, "slate_propensity": slate, "answered": answered}
        for role, given in told.items():
            self._check_agreement(table, starts, role, given)
        position = self._positions(table, starts, which, firsts)
        self._check_ids(table, which, firsts, position)
        of_position = [self._checked_propensity(table, role) for role in PROPENSITIES]
        rows = Rows(which, position, self._item_codes(table), clicks, *of_position)

        def of_impression(values: Any) -> Any:
            return None if values is None else values[firsts]

        yield from self._blocks(
            len(firsts), rows, np.arange(table.num_rows),
            users=of_impression(users), shown=self._shown(table, starts, which, firsts, position),
            times=of_impression(times), slate=of_impression(slate),
            answered=of_impression(answered), contexts=of_impression(contexts),
        )  # fmt: skip

    def _starts(self, table: Any) -> Bools:
        """Return the rows at which an impression begins."""
        columns = self.columns
        if columns.impression is not None:
            return changes(table[columns.impression])
        if columns.user is None or columns.position is None:
            return np.ones(table.num_rows, dtype=bool)
        starts, position = changes(table[columns.user]), numbers(table[columns.position])
        starts[1:] |= ~(position[1:] > position[:-1])
        if columns.time is not None:
            starts |= changes(table[columns.time])
        return starts

    def _check_ids(self, table: Any, which: Ints, firsts: Ints, position: Ints) -> None:
        """Refuse rows without an id, and ids that come again."""
        name = self.columns.impression
        if name is None:
            return
        column = table[name]

        def got(row: int) -> Any:
            return raw(column, row)

        none = missing(column)
        self.faults.check(none, f"column {name!r} must name an impression", got)
        named = firsts[~none[firsts]] if none.any() else firsts
        heads = ids_at(column, named)
        begun = np.minimum.reduceat(position, firsts)[which[named]] == 0
        if not self._ids.grow(heads):
            self._check_heads(heads, named, begun, got)
        self._ids.add(heads, begun)

    def _check_heads(self, heads: Any, rows: Ints, begun: Bools, got: Callable[[int], Any]) -> None:
        """Refuse impressions, which begin in some rows, whose ids were there before.

        Ids may begin anew, as in another file, if all their impressions have a first position.
        """
        name, rule = self.columns.impression, "the rows of an impression must stand together"
        for copies in repeated(heads) or ():
            self.faults.check(self._mask(rows[copies]), rule, got)
        met, before = self._ids.met(heads)
        if self.columns.position is None:
            self.faults.check(self._mask(rows[met]), rule, got)
            return
        parts = met & ~(begun & before)
        if parts.any():
            self.faults.refuse(self._mask(rows[parts]), rule, got, f"sort the log by {name!r}")

    def _mask(self, rows: Ints) -> Bools:
        mask = np.zeros(self._table_rows, dtype=bool)
        mask[rows] = True
        return mask

    def _shown(
        self, table: Any, starts: Bools, which: Ints, firsts: Ints, position: Ints
    ) -> Ints | None:
        """Return how many positions of each impression were on the screen."""
        name = self.columns.shown
        if name is None:
            return None
        column = table[name]
        on_screen = flags(column)
        if on_screen is None:
            shown = self._checked_shown(table)
            self._check_agreement(table, starts, "shown", shown)
            return None if shown is None else np.asarray(shown[firsts])
        counts = np.maximum.reduceat(np.where(on_screen, position + 1, 0), firsts)
        rule = f"column {name!r} must be true from the top down to the last position shown"
        hidden = ~on_screen & (position < counts[which])
        self.faults.check(hidden, rule, lambda row: raw(column, row))
        return np.asarray(counts)

    def _check_agreement(self, table: Any, starts: Bools, role: str, values: Any) -> None:
        """Refuse rows of an impression that say different things."""
        name = getattr(self.columns, role)
        rule = f"column {name!r} must be the same in all rows of an impression"
        self._check_same(starts, values, rule, lambda row: raw(table[name], row))

    def _check_same(
        self, starts: Bools, values: Any, rule: str, got: Callable[[int], Any] | None = None
    ) -> None:
        if values is not None:
            wrong = np.zeros(len(starts), dtype=bool)
            wrong[1:] = differs(values) & ~starts[1:]
            self.faults.check(wrong, rule, got)

    def _positions(self, table: Any, starts: Bools, which: Ints, firsts: Ints) -> Ints:
        """Return positions from 0 on."""
        name = self.columns.position
        if name is None:
            place = np.arange(table.num_rows) - firsts[which]
            rule = f"an impression must have at most {MOST_POSITIONS} rows"
            self.faults.check(place >= MOST_POSITIONS, rule)
            return np.minimum(place, MOST_POSITIONS)
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
        rule = f"column {name!r} must be 0 or 1"
        if wrong.any() and is_list(str(raw(column, int(np.argmax(wrong))))):
            rule += " where a row is a position (rows='impressions' if it has several items)"
        self.faults.check(wrong, rule, lambda row: raw(column, row))
        return np.asarray(found == 1)
