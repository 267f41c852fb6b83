"""The items that an audit is about: those of the log, and those of a table of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.columns import find_column, number_column
from faircascade.data.id_encoding import Coded
from faircascade.data.item_attributes import ItemAttributes, item_rows, table_ids
from faircascade.data.layouts import TextOptions
from faircascade.data.log import Log
from faircascade.data.tables import Table
from faircascade.data.text_tables import open_table
from faircascade.errors import ParameterError
from faircascade.types import Floats, Ids

ESTIMATED, EQUAL = "estimated", "equal"
"""Where merit comes from if it is no column."""
MERIT_FLOOR = 1e-3
"""Merit below this share of the mean counts as this."""


@dataclass(frozen=True, kw_only=True)
class ItemColumns:
    """Where items are described, and by which columns."""

    items: Any
    items_id: str | None
    groups: tuple[str, ...]
    supplier: str | None
    group_sep: str | None
    merit: str
    popularity: str | None
    encoding: str

    @property
    def merit_column(self) -> str | None:
        """The column of merit, if it is one."""
        return None if self.merit in (ESTIMATED, EQUAL) else self.merit

    def check(self) -> None:
        """Refuse columns without a table to find them in."""
        if self.items is not None:
            return
        if self.merit_column is not None:
            rule = f"must be {ESTIMATED!r}, {EQUAL!r}, or a column of a table of items"
            raise ParameterError("merit", rule, self.merit)
        for name in ("groups", "supplier", "popularity", "items_id", "group_sep"):
            if getattr(self, name):
                raise ParameterError(name, "must come with a table of items", getattr(self, name))


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """All items: first those of the log, by code, then those of the table that it never had."""

    ids: Ids
    groups: dict[str, Any]
    """Labels of the items, by column."""
    merit: Floats | None
    """As the table has it; None if it does not say."""
    popularity: Floats | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, log: Log, columns: ItemColumns) -> Catalogue:
        """Return the items of a log that was read, and those of the table."""
        if columns.items is None:
            return cls(ids=log.item_ids, groups={}, merit=None, popularity=None)
        options = TextOptions(header=True, encoding=columns.encoding)
        table = open_table(columns.items, options)
        like = log.columns.item or "item"
        known = table_ids(table, item=columns.items_id, like=like)
        ids = _joined(log.item_ids, known)
        if len(ids) == len(log.item_ids) + len(known):
            raise DataError(
                f"{table.label}: there are none of the items of the log in it, such as "
                f"{ids[0]!s}; name the column of their ids with items_id="
            )
        items = Coded(ids, np.arange(len(ids), dtype=np.int32))
        about = ItemAttributes(
            groups=columns.groups,
            supplier=columns.supplier,
            merit=columns.merit_column,
            group_sep=columns.group_sep,
        )
        found = None
        if about.named or about.guesses(table):  # else it says which items there are, and no more
            found = about.from_table(table, items, item=columns.items_id, like=like)
        return cls(
            ids=ids,
            groups={} if found is None else dict(found.groups),
            merit=None if found is None else found.merit,
            popularity=_popularity(table, items, columns, like),
            notes=() if found is None else found.notes,
        )


def _joined(first: Ids, second: Sequence[Any]) -> Ids:
    """Return ids with those that only the second has behind them."""
    there = set(map(str, first.tolist()))
    more = [each for each in second if str(each) not in there]
    if not more:
        return first
    if first.dtype.kind == "i" and all(isinstance(each, int) for each in more):
        return np.array([*first.tolist(), *more], dtype=np.int64)
    return np.array([str(each) for each in (*first.tolist(), *more)], dtype=np.str_)


def _popularity(table: Table, items: Coded, columns: ItemColumns, like: str) -> Floats | None:
    if columns.popularity is None:
        return None
    name = find_column(table, "popularity", columns.popularity)
    rows = item_rows(table, items, item=columns.items_id, like=like)
    if (rows < 0).any():
        item = items.ids[int(np.argmax(rows < 0))]
        raise DataError(f"{table.label}: item {item!s} has no popularity: it is not in the table")
    values = number_column(table.read({name: "number"})[name], table, name, at_least=0)
    return np.asarray(values[rows], dtype=np.float64)


def floored(merit: Floats) -> tuple[Floats, int]:
    """Return merit that is nowhere near 0, and how many items that changes."""
    mean = float(merit.mean())
    if mean <= 0:
        raise ParameterError("merit", "must be above 0 for some items", 0.0)
    low = merit < MERIT_FLOOR * mean
    return np.where(low, MERIT_FLOOR * mean, merit), int(low.sum())
