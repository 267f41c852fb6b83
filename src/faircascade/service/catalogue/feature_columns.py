"""Features and topics in a table of items: one column of vectors, or a column for each."""

from __future__ import annotations

import json
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
from faircascade.registry import suggest
from faircascade.service.ids import LARGEST_FEATURE
from faircascade.types import Floats

VECTORS = ("features", "feature_vector", "vector", "embedding", "embeddings", "factors")
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
        features = _vectors(columns[name], table, name)
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


def _vectors(column: Any, table: Table, name: str) -> Floats:
    from pyarrow import types

    column = column.combine_chunks()
    kind = column.type
    if isinstance(table, TextTable):
        return _from_text(column.to_pylist(), table, name)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _from_lists(column, table, name)
    raise DataError(
        f"{table.label}: column {name!r} must hold numbers or lists of them, got the type {kind}"
    )


def _from_lists(column: Any, table: Table, name: str) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise DataError(f"{table.where(row)}: column {name!r} must not be empty")
    dim = _same_length(pc.list_value_length(column).to_pylist(), table, name)
    flat = column.flatten()
    if flat.null_count:
        row = pc.index(pc.is_null(flat), True).as_py() // dim
        raise DataError(f"{table.where(row)}: column {name!r} must hold numbers only, got null")
    try:
        values = flat.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"{table.label}: column {name!r} must hold lists of numbers, got the type {column.type}"
        ) from None
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, dim)


def _from_text(texts: list[str], table: Table, name: str) -> Floats:
    rows: list[Floats] = []
    for row, text in enumerate(texts):
        try:
            values = np.array(json.loads(text))
        except ValueError:
            values = np.array(text)
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise DataError(
                f"{table.where(row)}: column {name!r} must be a list of numbers such as "
                f"[0.1, -0.3], got {text[:60]!r}"
            )
        rows.append(values.astype(np.float64))
    _same_length([len(values) for values in rows], table, name)
    return np.stack(rows)


def _same_length(lengths: Sequence[int], table: Table, name: str) -> int:
    """Return the length of all vectors."""
    for row, length in enumerate(lengths):
        if length != lengths[0] or length == 0:
            raise DataError(
                f"{table.where(row)}: column {name!r} must hold as many numbers in every row and "
                f"at least one, got {length} (the first row: {lengths[0]})"
            )
    return lengths[0]
