"""Any table of ratings: CSV, TSV, Parquet and RecBole files, pandas and polars DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.data.columns import (
    USUAL_NAMES,
    find_column,
    id_column,
    number_column,
    text_values,
)
from faircascade.data.id_encoding import Coded, assemble, last_row_of_each
from faircascade.data.tables import Role, Table, open_table
from faircascade.errors import ParameterError
from faircascade.registry import register

SUPPLIER = "supplier"


@register("table")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tabular(Dataset):
    """A table with a user, an item and a rating in each row."""

    user: str | None = None
    """The column of user ids; guessed from the usual names if None, like the next two."""
    item: str | None = None
    """The column of item ids."""
    rating: str | None = None
    """The column of ratings."""
    sep: str | None = None
    """The separator of a text file; found out if None."""
    columns: tuple[str, ...] | str = ()
    """The column names of a text file that has no header (as text: joined by commas)."""
    encoding: str = "utf-8"
    """The encoding of a text file."""
    groups: tuple[str, ...] | str = ()
    """Columns to take as groups of items (as text: joined by commas); the last row counts."""
    supplier: str | None = None
    """The column that says whose item it is; becomes the group `supplier`."""
    merit: str | None = None
    """The column of item merit, finite and >= 0."""
    items: Any = None
    """A table of items (path or DataFrame) that has those columns, if the ratings do not."""

    summary: ClassVar[str] = "any CSV, TSV, Parquet or RecBole file, or a DataFrame"
    licence: ClassVar[str] = "your own data"
    needs_path: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (
            self.sep is not None
            and self.sep != "::"
            and (len(self.sep) != 1 or self.sep in '"\r\n')
        ):
            raise ParameterError("sep", "must be one character or '::'", self.sep)

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Read the file at `path`."""
        if path is None:
            raise DataError("table: the file must be given (--path FILE, or path= in Python)")
        return self.read(path, progress)

    def read(self, source: Any, progress: Progress | None = None) -> Ratings:
        """Read a file or a DataFrame."""
        table = self._open(source)
        user = find_column(table, "user", self.user, USUAL_NAMES["user"])
        item = find_column(table, "item", self.item, USUAL_NAMES["item"])
        rating = find_column(table, "rating", self.rating, USUAL_NAMES["rating"])
        if len({user, item, rating}) < 3:
            raise DataError(
                f"{table.label}: user, item and rating must be three columns, "
                f"got {user!r}, {item!r} and {rating!r}"
            )
        wanted: dict[str, Role] = {user: "id", item: "id", rating: "number"}
        attributes = self._attributes(table) if self.items is None else {}
        columns = table.read({**attributes, **wanted}, progress)
        if len(columns[rating]) == 0:
            raise DataError(f"{table.label}: there are no ratings in it")
        items = id_column(columns[item], table, item)
        if self.items is None:
            rows = last_row_of_each(items.codes, len(items.ids))
            groups, merit = self._item_values(table, columns, rows, items)
        else:
            groups, merit = self._from_item_table(items)
        return assemble(
            name=Path(source).name if isinstance(source, str | Path) else table.label,
            users=id_column(columns[user], table, user),
            items=items,
            ratings=number_column(columns[rating], table, rating),
            where=table.where,
            item_groups=groups,
            item_merit=merit,
        )

    def _open(self, source: Any) -> Table:
        return open_table(source, sep=self.sep, names=_listed(self.columns), encoding=self.encoding)

    def _group_columns(self, table: Table) -> dict[str, str]:
        """Map each group to its column."""
        found = {name: find_column(table, "groups", name) for name in _listed(self.groups)}
        if self.supplier is not None:
            found[SUPPLIER] = find_column(table, "supplier", self.supplier)
        return found

    def _attributes(self, table: Table) -> dict[str, Role]:
        wanted: dict[str, Role] = dict.fromkeys(self._group_columns(table).values(), "text")
        if self.merit is not None:
            wanted[find_column(table, "merit", self.merit)] = "number"
        return wanted

    def _item_values(
        self, table: Table, columns: Mapping[str, Any], rows: NDArray[np.intp], items: Coded
    ) -> tuple[dict[str, NDArray[np.str_]], NDArray[np.float64] | None]:
        """Return the groups and merit of each item, which stand at `rows`, (n_items,)."""
        groups = {
            group: text_values(columns[column], rows)
            for group, column in self._group_columns(table).items()
        }
        if self.merit is None:
            return groups, None
        if (rows < 0).any():
            item = items.ids[int(np.argmax(rows < 0))]
            raise DataError(f"{table.label}: item {item!s} has no merit: it is not in the table")
        name = find_column(table, "merit", self.merit)
        return groups, number_column(columns[name], table, name, at_least=0)[rows]

    def _from_item_table(
        self, items: Coded
    ) -> tuple[dict[str, NDArray[np.str_]], NDArray[np.float64] | None]:
        table = open_table(self.items, encoding=self.encoding)
        wanted = self._attributes(table)
        if not wanted:
            raise DataError(
                f"{table.label}: say which columns to take from items= "
                "with groups=, supplier= or merit="
            )
        name = find_column(table, "item", self._item_name(table), (*USUAL_NAMES["item"], "id"))
        columns = table.read({**wanted, name: "id"})
        coded = id_column(columns[name], table, name)
        last = last_row_of_each(coded.codes, len(coded.ids))
        row_of = dict(zip(map(str, coded.ids), last, strict=True))
        rows = np.array([row_of.get(str(item), -1) for item in items.ids], dtype=np.intp)
        return self._item_values(table, columns, rows, items)

    def _item_name(self, table: Table) -> str | None:
        """The item table's id column has the name that `item=` gives, if there is one."""
        return self.item if self.item in table.names else None


def _listed(names: tuple[str, ...] | str) -> tuple[str, ...]:
    return tuple(names.split(",")) if isinstance(names, str) else tuple(names)
