"""Aggregated counts: how often an item was shown at a position, and clicked there."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.columns import listed, plain_name
from faircascade.data.log.log_columns import USUAL
from faircascade.data.log.row_streams import RowStream, open_rows
from faircascade.data.log.values import numbers, raw
from faircascade.data.log.vocabulary import Vocabulary
from faircascade.errors import ParameterError, check_choice
from faircascade.fitting.click_table import Cells, totals
from faircascade.fitting.entries import Entries
from faircascade.parameters import checked_arguments
from faircascade.registry import suggest
from faircascade.types import Bools, Floats, Ids, Ints

MOST_POSITIONS = 1000
Excess = Literal["refuse", "cap"]
NAMES: dict[str, tuple[str, ...]] = {
    "context": ("context", "query", "query_id", "qid", "keyword", "search_term"),
    "item": USUAL["item"],
    "position": USUAL["position"],
    "impressions": ("impressions", "impression", "views", "n_impressions", "n", "count"),
    "clicks": ("clicks", "click", "n_clicks"),
}
"""Names by which columns are found, whatever their case and punctuation."""


class ClickCounts:
    """Impressions and clicks by item and position, in contexts such as queries if there are any.

    >>> import pandas as pd
    >>> rows = {"url": ["a", "b", "a"], "pos": [1, 2, 2], "impressions": [9, 9, 5]}
    >>> ClickCounts(pd.DataFrame(rows | {"clicks": [3, 1, 1]}))
    ClickCounts(2 items, 2 positions, 23 impressions, 5 clicks)
    """

    @checked_arguments
    def __init__(
        self,
        source: Any,
        *,
        context: str | None = None,
        item: str | None = None,
        position: str | None = None,
        impressions: str | None = None,
        clicks: str | None = None,
        first_position: int | None = None,
        excess: Excess = "refuse",
        member: str | None = None,
        sep: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        """Read a table: Parquet, CSV, TSV or JSON lines (gzip and zip, too), or a DataFrame.

        The parameters name columns; those with usual names are found. Rows of the same item,
        context and position are added up. `first_position` says whether positions begin with 0 or
        1; left out, they do so with 0 if there is one. More clicks than impressions are refused;
        `excess="cap"` takes as many as there are impressions, and says so in `notes`.
        """
        rows = open_rows(source, member=member, sep=sep, encoding=encoding)
        told = {
            "context": context,
            "item": item,
            "position": position,
            "impressions": impressions,
            "clicks": clicks,
        }
        self.columns = _found(rows, told)
        _check_no_log(rows, self.columns, told)
        self.name = rows.label
        if first_position not in (None, 0, 1):
            raise ParameterError("first_position", "must be 0 or 1", first_position)
        check_choice("excess", excess, get_args(Excess))
        self._excess, self.notes = excess, tuple[str, ...]()
        self._read(rows, first_position)

    def _read(self, rows: RowStream, first_position: int | None) -> None:
        import pyarrow as pa

        wanted = list(self.columns.values())
        blocks = [block for block in rows.blocks(wanted) if block.num_rows]
        if not blocks:
            raise DataError(f"{rows.label}: there are no rows in it")
        table = pa.concat_tables(blocks, promote_options="permissive")

        def checked(role: str, rule: str, wrong: Any) -> Floats:
            column = table[self.columns[role]]
            found = numbers(column)
            bad: Bools = ~np.isfinite(found) | (found != np.floor(found)) | wrong(found)
            if bad.any():
                row = int(np.argmax(bad))
                place, got = rows.where(row), raw(column, row)
                raise DataError(f"{place}: column {self.columns[role]!r} {rule}, got {got!r}")
            return found

        shown = checked("impressions", "must be a whole number, 0 or more", lambda v: v < 0)
        cap = self._excess == "cap"
        rule = "must be from 0 to the impressions (or cap them with excess='cap')"
        clicks = checked("clicks", rule, lambda v: (v < 0) | ((v > shown) & (not cap)))
        over = int((clicks > shown).sum())
        if over:
            many = int(np.maximum(clicks - shown, 0.0).sum())
            self.notes = (f"{over:,} rows have more clicks than impressions: {many:,} left out",)
            clicks = np.minimum(clicks, shown)
        rule = f"must be a position below {MOST_POSITIONS}"
        position = checked("position", rule, lambda v: (v < 0) | (v >= MOST_POSITIONS))
        first = (0 if (position == 0).any() else 1) if first_position is None else first_position
        if (position < first).any():
            raise DataError(f"{rows.label}: positions must begin with {first}, got 0")
        items, contexts = Vocabulary(), Vocabulary()
        codes = {"item": items.codes(table[self.columns["item"]])}
        if "context" in self.columns:
            codes["context"] = contexts.codes(table[self.columns["context"]])
        for role, found in codes.items():
            if (found < 0).any():
                row = int(np.argmax(found < 0))
                rule = "must be text or a whole number"
                raise DataError(f"{rows.where(row)}: column {self.columns[role]!r} {rule}")
        self._keep(codes, position.astype(np.int64) - first, shown, clicks)
        self.item_ids, self.all_context_ids = items.ids, contexts.ids

    def _keep(self, codes: dict[str, Any], position: Ints, shown: Floats, clicks: Floats) -> None:
        entries = Entries("context" in codes)
        rows = entries.of(codes["item"][:, None], codes.get("context"))[:, 0]
        self.k = int(position.max()) + 1
        cell, of = np.unique(rows * self.k + position, return_inverse=True)
        self.entries = entries
        self.cells = Cells(cell // self.k, cell % self.k, totals(of, shown), totals(of, clicks))

    def __repr__(self) -> str:
        where = f" in {len(self.all_context_ids):,} contexts" if self.entries.by_context else ""
        return (
            f"ClickCounts({len(self.item_ids):,} items{where}, {self.k} positions, "
            f"{self.impressions:,} impressions, {int(self.cells.clicks.sum()):,} clicks)"
        )

    @property
    def impressions(self) -> int:
        """How often anything was shown at a position."""
        return int(self.cells.impressions.sum())

    @property
    def context_ids(self) -> Ids | None:
        """The context of each entry, (m,)."""
        codes = self.entries.contexts
        return None if codes is None else self.all_context_ids[codes]


def _check_no_log(rows: RowStream, columns: dict[str, str], told: dict[str, str | None]) -> None:
    """Refuse a log whose ids of impressions look like numbers of them."""
    users = [name for name in rows.names if plain_name(name) in map(plain_name, USUAL["user"])]
    found = columns["impressions"]
    if told["impressions"] is None and plain_name(found) == "impression" and users:
        raise DataError(
            f"{rows.label}: this looks like a log, as it has a column of users ({users[0]!r}); "
            f"open it as one, or say impressions={found!r} if that is the number of impressions"
        )


def _found(rows: RowStream, told: dict[str, str | None]) -> dict[str, str]:
    """Return the columns by their roles."""
    by_name = {plain_name(name): name for name in reversed(rows.names)}
    found: dict[str, str] = {}
    for role, name in told.items():
        names = NAMES[role] if name is None else (name,)
        columns = [by_name[plain_name(n)] for n in names if plain_name(n) in by_name]
        free = [column for column in columns if column not in found.values()]
        if free:
            found[role] = free[0]
        elif name is not None:
            raise DataError(
                f"{rows.label}: there is no column {name!r} ({role}=){suggest(name, rows.names)}; "
                f"the columns are {listed(rows.names)}"
            )
        elif role != "context":
            usual = ", ".join(names[:4])
            raise DataError(
                f"{rows.label}: no column looks like the {role} ({usual}, ...); the columns are "
                f"{listed(rows.names)}; name it with {role}="
            )
    return found
