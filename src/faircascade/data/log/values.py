"""Columns of a log as arrays, whatever types they came in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np

from faircascade.types import Bools, Floats, Ints

_WORDS = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}


def one_array(column: Any) -> Any:
    """Return a column that may be in chunks as one Arrow array, text as text of the usual kind."""
    import pyarrow as pa

    kind = column.type
    if kind in (pa.string_view(), pa.binary_view()):
        column = column.cast(pa.string() if kind == pa.string_view() else pa.binary())
    elif pa.types.is_dictionary(kind) and kind.value_type == pa.string_view():
        column = column.cast(pa.dictionary(pa.int32(), pa.string()))
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        return joined.chunk(0) if joined.num_chunks else pa.array([], column.type)
    return joined


def numbers(column: Any) -> Floats:
    """Return numbers, (n,): NaN for what is missing or is none. Words such as "true" count."""
    import pyarrow as pa

    column = one_array(column)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column, _number)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_dictionary(column.dictionary_encode(), _number)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return np.full(len(column), np.nan)


def joined(first: Any, second: Any) -> Any:
    """Return two tables as one; a column that is text in one of them is text."""
    import pyarrow as pa

    try:
        found = pa.concat_tables([first, second], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        found = pa.concat_tables(_with_text(first, second), promote_options="permissive")
    return found.unify_dictionaries().combine_chunks()


def _with_text(*tables: Any) -> list[Any]:
    """Return two tables with columns of numbers as text where the other one has text."""
    import pyarrow as pa

    found = list(tables)
    for name in tables[0].column_names:
        for text in (pa.string(), pa.list_(pa.string())):
            for which, other in ((0, 1), (1, 0)):
                kind = found[which][name].type
                if found[other][name].type == text and kind != text and not pa.types.is_null(kind):
                    place = found[which].column_names.index(name)
                    column = found[which][name].cast(text)
                    found[which] = found[which].set_column(place, name, column)
    return found


def flags(column: Any) -> Bools | None:
    """Return true and false as such, (n,), missing ones as true; None where something else is.

    Words count, 1 and 0 do not.
    """
    import pyarrow as pa

    column = one_array(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_boolean(column.type):
        return np.asarray(column.fill_null(True).to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(column.type):
        return None
    words = [str(value).strip().lower() for value in column.dictionary.to_pylist()]
    if not any(word in _WORDS for word in words) or any(w and w not in _WORDS for w in words):
        return None
    return np.asarray(_of_dictionary(column, lambda word: _number(word or "true")) != 0)


def times(column: Any) -> Floats:
    """Return seconds since 1970, (n,), or numbers as they are; NaN for what is neither."""
    import pyarrow as pa

    column = one_array(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        exact = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        missing = exact.is_null().to_numpy(zero_copy_only=False)
        micros = exact.fill_null(0).to_numpy(zero_copy_only=False)
        return np.where(missing, np.nan, micros / 1e6)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        for moment in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                return times(column.cast(moment))
            except pa.ArrowInvalid:
                continue
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        return _of_dictionary(column, _moment)
    return numbers(column)


def lists(column: Any) -> tuple[Any, Ints]:
    """Return all values of lists and how many each list has, (n,); -1 where there is no list.

    A list is one of Arrow's, a single value, or text: JSON, or values with `|`, `,`, `;` or
    spaces between them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = one_array(column)
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
        kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        sizes = pc.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        return pc.list_flatten(column), sizes.astype(np.int64)
    if pa.types.is_null(kind):
        return column.drop_null(), np.full(len(column), -1)
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        parts = [_parts(text) for text in column.to_pylist()]
        sizes = np.array([-1 if part is None else len(part) for part in parts], dtype=np.int64)
        flat = [str(value) for part in parts if part for value in part]
        return pa.array(flat, pa.string()), sizes
    there = column.is_valid().to_numpy(zero_copy_only=False)
    return column.drop_null(), there.astype(np.int64)


def _parts(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    text = text.strip()
    if text.startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            text = text.strip("[]").replace("'", "").replace('"', "")
        else:
            return found if isinstance(found, list) else None
    for separator in ("|", ",", ";"):
        if separator in text:
            return [part.strip() for part in text.split(separator) if part.strip()]
    return text.split()


def _of_dictionary(column: Any, convert: Any) -> Floats:
    values = [convert(value) for value in column.dictionary.to_pylist()]
    table = np.array([*values, np.nan], dtype=np.float64)
    indices = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return np.asarray(table[indices])


def _number(value: Any) -> float:
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return np.nan  # Python takes 1_0 for ten
    try:
        return float(value)
    except (TypeError, ValueError):
        return _WORDS.get(str(value).strip().lower(), np.nan)


def _moment(value: Any) -> float:
    number = _number(value)
    if not np.isnan(number) or value is None:
        return number
    text = str(value).strip().removesuffix(" UTC")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def raw(column: Any, row: int) -> Any:
    """Return the value of a row as it came, for a message."""
    return one_array(column)[row].as_py()
