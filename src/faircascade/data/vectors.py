"""Vectors in one column of a table, such as the features of items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.tables import Table
from faircascade.data.text_tables import TextTable
from faircascade.types import Floats

VECTORS = ("features", "feature_vector", "vector", "embedding", "embeddings", "factors")
"""Usual names of such a column, the best first."""


def vectors(column: Any, table: Table, name: str) -> Floats:
    """Return the vectors of a column that was read as text, (m, d): lists, or lists as JSON."""
    from pyarrow import ChunkedArray, types

    if isinstance(column, ChunkedArray):
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
