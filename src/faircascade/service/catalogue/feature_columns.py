"""Features and topics in a table of items: one column of vectors, or a column for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.columns import find_column, listed, number_column
from faircascade.data.delimited import records
from faircascade.data.tables import ParquetTable, Role, Table
from faircascade.data.text_tables import TextTable
from faircascade.data.vectors import VECTORS, vectors
from faircascade.registry import suggest
from faircascade.service.ids import LARGEST_FEATURE
from faircascade.types import Floats

_WILD = "*?["
_FEW = 8


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """Where the features, or the topics, are."""

    names: tuple[str, ...]
    vector: bool
    """One column that holds them all."""

    def __str__(self) -> str:
        if self.vector:
            return f"the column {self.names[0]!r}"
        names = [repr(name) for name in self.names]
        if len(names) > _FEW:
            names = [*names[: _FEW - 1], "...", names[-1]]
        return f"{len(self.names)} columns ({', '.join(names)})"

    def roles(self, table: Table) -> dict[str, Role]:
        """Return how to read them."""
        return dict.fromkeys(self.names, "text" if self.vector else "number")


def find_features(table: Table, wanted: str | None, taken: Sequence[str]) -> FeatureColumns:
    """Return the columns that hold features: those `wanted`, or what looks like them.

    `wanted` is names and patterns joined by commas, such as `f*` or `age,price`. Without it, that
    is a column called `features`, `vector` or `embedding`, or else every column of numbers that
    is not taken for something else.
    """
    if wanted is not None:
        return named_columns(table, wanted, "--features")
    usual = usual_column(table, VECTORS)
    if usual is not None and usual not in _numeric(table, (usual,)):
        return FeatureColumns((usual,), vector=True)
    rest = [name for name in table.names if name not in taken and _has_name(name)]
    names = _numeric(table, rest)
    if not names:
        raise DataError(
            f"{table.label}: no feature columns: neither vectors ({VECTORS[0]}, "
            f"{VECTORS[2]}, {VECTORS[3]}) nor columns of numbers; name them with --features"
        )
    return FeatureColumns(names, vector=False)


def named_columns(table: Table, wanted: str, option: str) -> FeatureColumns:
    """Return the columns that an option names."""
    names = columns_of(table, wanted, option)
    vector = len(names) == 1 and names[0] not in _numeric(table, names)
    return FeatureColumns(names, vector)


def usual_column(table: Table, usual: tuple[str, ...]) -> str | None:
    """Return the column with one of the usual names, whatever their case and punctuation."""
    try:
        return find_column(table, "", None, usual)
    except DataError:
        return None


def columns_of(table: Table, wanted: str, option: str) -> tuple[str, ...]:
    """Return the columns that an option names, as names and patterns joined by commas."""
    names: dict[str, None] = {}
    for part in (part.strip() for part in wanted.split(",")):
        found = [name for name in table.names if name == part]
        if not found and any(sign in part for sign in _WILD):
            found = [name for name in table.names if fnmatchcase(name, part)]
        if not found:
            raise DataError(
                f"{table.label}: {option} must name columns of the file"
                f"{suggest(part, table.names)}, got {part!r}; "
                f"the columns are {listed(table.names)}"
            )
        names.update(dict.fromkeys(found))
    return tuple(names)


def _has_name(name: str) -> bool:
    """Tell a column that somebody named from the row numbers that pandas writes along."""
    return bool(name) and not name.startswith(("Unnamed:", "__index_level_"))


def _numeric(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of numbers: by their type, or by the first line of a text file."""
    if isinstance(table, TextTable):
        with table.source.open() as stream:
            lines = records(stream, table.layout, label=table.label)
            _, first = next(islice(lines, 1, 2), (0, []))
        texts = dict(zip(table.names, first, strict=False))
        return tuple(name for name in names if _is_number(texts.get(name, "0")))
    if not isinstance(table, ParquetTable):
        raise TypeError(f"items must come from a file, got {table.label}")
    from pyarrow import parquet, types

    schema = parquet.read_schema(table.path)
    return tuple(
        name
        for name in names
        if types.is_integer(kind := schema.field(name).type)
        or types.is_floating(kind)
        or types.is_decimal(kind)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_features(
    found: FeatureColumns,
    columns: dict[str, Any],
    table: Table,
    *,
    lowest: float = -LARGEST_FEATURE,
    largest: float = LARGEST_FEATURE,
) -> Floats:
    """Return the features, or the topics, of every row, (m, d)."""
    if found.vector:
        name = found.names[0]
        features = vectors(columns[name], table, name)
        names = [f"{name}[{place}]" for place in range(features.shape[1])]
    else:
        names = list(found.names)
        features = np.column_stack([number_column(columns[n], table, n) for n in names])
    good = (features >= lowest) & (features <= largest)
    if not good.all():
        row, place = np.argwhere(~good)[0].tolist()
        raise DataError(
            f"{table.where(row)}: column {names[place]!r} must be between "
            f"{lowest:g} and {largest:g}, got {features[row, place]}"
        )
    return features
