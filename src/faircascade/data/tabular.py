"""Any table of ratings: CSV, TSV, Parquet and RecBole files, pandas and polars DataFrames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from faircascade.data.base import DataError, Dataset, MissingValueError, Progress, Ratings
from faircascade.data.columns import id_column
from faircascade.data.id_encoding import Coded, assemble, last_row_of_each
from faircascade.data.item_attributes import Attributes, ItemAttributes
from faircascade.data.layouts import LayoutName, TextOptions
from faircascade.data.rating_columns import drop_missing, find_rating_columns
from faircascade.data.scale import Feedback
from faircascade.data.tables import Table
from faircascade.data.text_tables import open_table
from faircascade.errors import ParameterError
from faircascade.registry import register


@register("table")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tabular(Dataset):
    """A table with a user, an item and mostly a rating in each row."""

    user: str | None = None
    """The column of user ids; guessed from the usual names if None, like the next two."""
    item: str | None = None
    """The column of item ids."""
    rating: str | None = None
    """The column of ratings; without one, every row is a positive (implicit feedback)."""
    feedback: Feedback | None = None
    """What the ratings are: explicit, implicit or counts; guessed from the columns if None."""
    missing: Literal["refuse", "drop"] = "refuse"
    """Whether rows without a user, item or rating are refused or left out."""
    layout: LayoutName | None = None
    """Layout of a text file by the name of a library, or matrix; found out if None."""
    sep: str | None = None
    """The separator of a text file; found out if None."""
    columns: tuple[str, ...] | str = ()
    """The column names of a text file that has no header (as text: joined by commas)."""
    encoding: str = "utf-8"
    """The encoding of a text file."""
    groups: tuple[str, ...] | str = ()
    """Columns to take as groups of items (as text: joined by commas); the last row counts."""
    group_sep: str | None = None
    """What separates several groups of an item; found out if None."""
    supplier: str | None = None
    """The column that says whose item it is; becomes the group `supplier`."""
    merit: str | None = None
    """The column of item merit, finite and >= 0."""
    items: Any = None
    """A table of items (path or DataFrame) that has those columns, if the ratings do not."""
    items_id: str | None = None
    """The column of item ids in that table; guessed if None."""

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
        if self.group_sep == "":
            raise ParameterError("group_sep", "must not be empty", self.group_sep)

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Read the file at `path`."""
        if path is None:
            raise DataError("table: the file must be given with path=FILE")
        return self.read(path, progress)

    def read(self, source: Any, progress: Progress | None = None) -> Ratings:
        """Read a file or a DataFrame."""
        table = open_table(source, self._text_options())
        name = Path(source).name if isinstance(source, str | Path) else table.label
        try:
            return self._ratings(name, table, progress)
        except MissingValueError as error:
            hint = "leave out rows without a user, item or rating with missing='drop'"
            raise DataError(f"{error}; {hint}") from None

    def _ratings(self, name: str, table: Table, progress: Progress | None) -> Ratings:
        found = find_rating_columns(
            table, user=self.user, item=self.item, rating=self.rating, feedback=self.feedback
        )
        about = self._item_attributes()
        wanted = about.wanted(table) if self.items is None else {}
        columns, rows = table.read({**wanted, **found.roles}, progress), table
        notes = table.notes
        if self.missing == "drop":
            rows, columns, dropped = drop_missing(table, columns, found.roles)
            notes += dropped
        if len(columns[found.user]) == 0:
            raise DataError(f"{table.label}: there are no ratings in it")
        users = id_column(columns[found.user], rows, found.user)
        items = id_column(columns[found.item], rows, found.item)
        values, found = found.values(columns, rows)
        if self.items is None:
            last = last_row_of_each(items.codes, len(items.ids))
            known = about.of_items(rows, columns, last, items)
        else:
            known = self._from_item_table(about, items, found.item)
        return assemble(
            name=name,
            users=users,
            items=items,
            ratings=values,
            where=rows.where,
            feedback=found.feedback,
            notes=(*notes, *found.notes, *known.notes),
            item_groups=known.groups,
            item_merit=known.merit,
        )

    def _text_options(self) -> TextOptions:
        return TextOptions(
            sep=self.sep,
            columns=_listed(self.columns),
            layout=self.layout,
            encoding=self.encoding,
            missing=self.missing == "drop",
        )

    def _item_attributes(self) -> ItemAttributes:
        return ItemAttributes(
            groups=_listed(self.groups),
            supplier=self.supplier,
            merit=self.merit,
            group_sep=self.group_sep,
        )

    def _from_item_table(self, about: ItemAttributes, items: Coded, item: str) -> Attributes:
        table = open_table(self.items, TextOptions(header=True, encoding=self.encoding))
        ids = self.items_id
        if ids is None and self.item in table.names:
            ids = self.item
        return about.from_table(table, items, item=ids, like=item)


def _listed(names: tuple[str, ...] | str) -> tuple[str, ...]:
    return tuple(names.split(",")) if isinstance(names, str) else tuple(names)
