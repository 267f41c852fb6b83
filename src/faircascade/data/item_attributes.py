"""Groups, supplier and merit of items: from the table of ratings, or from one of items."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError
from faircascade.data.columns import (
    USUAL_NAMES,
    find_column,
    id_column,
    listed,
    number_column,
    plain_name,
    text_values,
    usual_column,
)
from faircascade.data.id_encoding import UNKNOWN, Coded, last_row_of_each
from faircascade.data.tables import Role, Table

SUPPLIER = "supplier"
GROUPS = ("genre", "genres", "category", "categories", "class")
"""Columns of a table of items that are taken as groups if none is named."""
_SEPARATORS = (";", ",")
_TOKENS = re.compile(r":token_seq$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAttributes:
    """Which columns say something about items."""

    groups: tuple[str, ...]
    supplier: str | None
    merit: str | None
    group_sep: str | None
    """What separates several groups of an item; found out if None."""

    @property
    def named(self) -> bool:
        """Whether a column was named at all."""
        return bool(self.groups or self.supplier or self.merit)

    def group_columns(self, table: Table) -> dict[str, str]:
        """Map each group to its column."""
        found = {name: find_column(table, "groups", name) for name in self.groups}
        if self.supplier is not None:
            found[SUPPLIER] = find_column(table, "supplier", self.supplier)
        return found

    def wanted(self, table: Table) -> dict[str, Role]:
        """Return the columns to read."""
        wanted: dict[str, Role] = dict.fromkeys(self.group_columns(table).values(), "text")
        if self.merit is not None:
            wanted[find_column(table, "merit", self.merit)] = "number"
        return wanted

    def of_items(
        self, table: Table, columns: Mapping[str, Any], rows: NDArray[np.intp], items: Coded
    ) -> Attributes:
        """Return what the table says of each item, which stands at `rows` (-1: nowhere)."""
        groups, notes = {}, []
        for group, column in self.group_columns(table).items():
            texts = text_values(columns[column], rows)
            sep = None if group == SUPPLIER else self.group_sep or _separator(column, texts)
            piped = group != SUPPLIER and any("|" in text for text in texts.tolist())
            groups[group] = _joined(texts, sep or "|") if sep or piped else texts
            if sep in _SEPARATORS and self.group_sep is None:
                notes.append(f"column {column!r} has several groups, separated by {sep!r}")
        if self.merit is None:
            return Attributes(groups, None, tuple(notes))
        if (rows < 0).any():
            item = items.ids[int(np.argmax(rows < 0))]
            raise DataError(f"{table.label}: item {item!s} has no merit: it is not in the table")
        name = find_column(table, "merit", self.merit)
        merit = number_column(columns[name], table, name, at_least=0)[rows]
        return Attributes(groups, merit, tuple(notes))

    def from_table(self, table: Table, items: Coded, *, item: str | None, like: str) -> Attributes:
        """Read a table of items; its ids are in the column `item`, or in one named like `like`."""
        if not self.named:
            return self._guessed(table).from_table(table, items, item=item, like=like)
        rows = item_rows(table, items, item=item, like=like)
        columns = table.read(self.wanted(table))
        return self.of_items(table, columns, rows, items)

    def guesses(self, table: Table) -> bool:
        """Tell whether there are columns to take if none is named."""
        return bool(usual_column(table, GROUPS)) or any(map(_TOKENS.search, table.names))

    def _guessed(self, table: Table) -> ItemAttributes:
        """Take the columns that have several tokens, or else one with a usual name."""
        usual = usual_column(table, GROUPS)
        found = [n for n in table.names if _TOKENS.search(n)] or ([usual] if usual else [])
        if not found:
            raise DataError(
                f"{table.label}: say which columns of the items to take with groups=, supplier= or "
                f"merit=; the columns are {listed(table.names)}"
            )
        names = tuple(_TOKENS.sub("", name) for name in found)
        return ItemAttributes(groups=names, supplier=None, merit=None, group_sep=self.group_sep)


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is known of items, one value for each of them."""

    groups: dict[str, NDArray[np.str_]]
    merit: NDArray[np.float64] | None
    notes: tuple[str, ...]


def table_ids(table: Table, *, item: str | None, like: str) -> list[int | str]:
    """Return the ids of a table of items, each once, in their order."""
    name = _id_column_name(table, item, like)
    coded = id_column(table.read({name: "id"})[name], table, name)
    first = np.unique(coded.codes, return_index=True)[1]
    found: list[int | str] = coded.ids[coded.codes[np.sort(first)]].tolist()
    return found


def item_rows(table: Table, items: Coded, *, item: str | None, like: str) -> NDArray[np.intp]:
    """Return the last row of each item in a table of items, -1 if it has none, (n,)."""
    name = _id_column_name(table, item, like)
    coded = id_column(table.read({name: "id"})[name], table, name)
    last = last_row_of_each(coded.codes, len(coded.ids))
    row_of = dict(zip(map(str, coded.ids), last, strict=True))
    rows = np.array([row_of.get(str(item), -1) for item in items.ids], dtype=np.intp)
    if (rows < 0).all():
        raise DataError(
            f"{table.label}: column {name!r} has none of the items that are rated, such as "
            f"{items.ids[0]!s}; name the column of their ids with items_id="
        )
    return rows


def _id_column_name(table: Table, given: str | None, like: str) -> str:
    """Find the ids of a table of items: the column named, or called as in the ratings."""
    if given is not None:
        return find_column(table, "items_id", given)
    alike = {plain_name(name).removesuffix("s"): name for name in table.names}
    found = alike.get(plain_name(like).removesuffix("s"))
    return found or find_column(table, "items_id", None, (*USUAL_NAMES["item"], "id"))


def _separator(column: str, texts: NDArray[np.str_]) -> str | None:
    """Return what separates several groups of an item; None if it is `|`, or nothing.

    A comma or semicolon separates if there are fewer different parts than wholes, as of
    genres; names that have a comma ("Smith, Ann") stay whole.
    """
    if _TOKENS.search(column):
        return " "
    wholes = set(texts.tolist())
    if any("|" in text for text in wholes):
        return None
    for sep in _SEPARATORS:
        several = [text for text in wholes if sep in text]
        parts = {part.strip() for text in wholes for part in text.split(sep)} - {""}
        if several and len(parts) < len(wholes):
            return sep
    return None


def _joined(texts: NDArray[np.str_], sep: str) -> NDArray[np.str_]:
    parts = ([part.strip() for part in text.split(sep)] for text in texts.tolist())
    return np.array(["|".join(filter(None, row)) or UNKNOWN for row in parts], dtype=np.str_)
