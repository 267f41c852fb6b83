"""Columns of ids, whatever types they came in."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np

from faircascade.data.log.values import one_array
from faircascade.types import Bools

_BLANK = ("", "nan", "null", "none")
_LONGEST_BLANK = max(map(len, _BLANK))
_UUID_BYTES = 16


def is_blank(text: str) -> bool:
    """Tell whether stripped text stands for no id."""
    return len(text) <= _LONGEST_BLANK and text.lower() in _BLANK


def id_array(column: Any) -> Any:
    """Return ids as one Arrow array: bytes become text, those of a UUID its usual digits.

    What can be no id, such as a list, is missing.
    """
    import pyarrow as pa

    column = one_array(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type) and _is_binary(column.type.value_type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_nested(kind):
        return pa.nulls(len(column))
    if not _is_binary(kind):
        return column
    if pa.types.is_fixed_size_binary(kind):
        if kind.byte_width == _UUID_BYTES:
            values = column.to_pylist()
            return pa.array(
                [None if v is None else str(UUID(bytes=v)) for v in values], pa.string()
            )
        column = column.cast(pa.binary())
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.nulls(len(column))


def changes(column: Any) -> Bools:
    """Tell which rows have another id than the row above, (n,); the first one counts as such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = id_array(column)
    if pa.types.is_dictionary(column.type):
        column = column.indices
    changed = np.ones(len(column), dtype=bool)
    kind = column.type
    if pa.types.is_null(kind):
        changed[1:] = False
        return changed
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not column.null_count):
        changed[1:] = differs(column.to_numpy(zero_copy_only=False))
        return changed
    one, other = column[1:], column[:-1]
    differ = pc.not_equal(one, other).fill_null(False)
    either = pc.xor(one.is_null(), other.is_null())
    changed[1:] = pc.or_(differ, either).to_numpy(zero_copy_only=False)
    return changed


def differs(values: Any) -> Bools:
    """Tell which values are not those above them, (n - 1,); NaN is as NaN."""
    different = values[1:] != values[:-1]
    if values.dtype.kind == "f":
        nan = np.isnan(values)
        different &= ~(nan[1:] & nan[:-1])
    return np.asarray(different)


def missing(column: Any) -> Bools:
    """Tell where there is no id: nothing, not a number, or blank text, (n,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = id_array(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        of_value: Bools = np.append(missing(column.dictionary), True)
        if not column.null_count and not of_value[:-1].any():
            return np.zeros(len(column), dtype=bool)
        indices = column.indices.fill_null(len(of_value) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(of_value[indices])
    if pa.types.is_integer(kind) and not column.null_count:
        return np.zeros(len(column), dtype=bool)
    none: Bools = np.array(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        short = pc.less_equal(pc.binary_length(column), _LONGEST_BLANK).fill_null(False)
        rows = np.flatnonzero(short.to_numpy(zero_copy_only=False))
        if len(rows):
            texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.take(pa.array(rows))))
            blank = pc.is_in(texts, value_set=pa.array(_BLANK, texts.type))
            none[rows] = blank.to_numpy(zero_copy_only=False)
    return none


def _is_binary(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)
