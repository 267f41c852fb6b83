"""Attributes in a table of items: the kind of each column, and the values of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from faircascade.data.base import DataError
from faircascade.data.columns import listed
from faircascade.data.tables import Table
from faircascade.data.text_tables import TextTable
from faircascade.service.catalogue.attribute_changes import MOST, RESERVED
from faircascade.service.catalogue.attribute_columns import kind_of
from faircascade.service.catalogue.attribute_values import attribute_value
from faircascade.service.catalogue.labels import SEPARATOR
from faircascade.service.ids import AttributeName
from faircascade.service.stores.attributes import Value

_NAMES = TypeAdapter(list[AttributeName])
_FLAGS = {"true": True, "false": False}
_BLANK = ("", "nan", "null", "none")


def check_names(names: Sequence[str], table: Table) -> None:
    """Refuse columns that cannot be attributes."""
    if len(names) > MOST:
        raise DataError(f"{table.label}: --attributes may name {MOST} columns, got {len(names)}")
    for name in names:
        if name in RESERVED:
            raise DataError(f"{table.label}: --attributes cannot name {name!r}, which is a field")
    try:
        _NAMES.validate_python(names)
    except ValidationError as error:
        name = names[int(error.errors()[0]["loc"][0])]
        raise DataError(
            f"{table.label}: --attributes must name columns of 1 to 64 characters, "
            f"got {name[:80]!r}"
        ) from None


def read_attributes(
    columns: dict[str, Any], names: Sequence[str], table: Table
) -> list[dict[str, Value]]:
    """Return the attributes of every row; what is missing is left out."""
    found: list[dict[str, Value]] = [{} for _ in range(len(columns[names[0]]) if names else 0)]
    for name in names:
        for row, value in enumerate(_values(columns[name], table, name)):
            if value is not None:
                found[row][name] = value
    return found


def _values(column: Any, table: Table, name: str) -> list[Value | None]:
    """Return the values of a column, all of one kind, None where there is none."""
    import pyarrow as pa

    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    plain = column.to_pylist()
    read = _reading(plain) if isinstance(table, TextTable) else _as_it_is
    known: dict[Any, Value | None] = {}
    values: list[Value | None] = []
    for row, given in enumerate(plain):
        key = tuple(given) if isinstance(given, list) else given
        if key not in known:
            try:
                known[key] = attribute_value(read(given))
            except ValueError as error:  # also pydantic's
                place = f"{table.where(row)}: column {name!r}"
                raise DataError(f"{place} {error}, got {str(given)[:60]!r}") from None
        values.append(known[key])
    kinds = {kind_of(value) for value in known.values() if value is not None}
    if len(kinds) > 1:
        raise DataError(f"{table.label}: column {name!r} mixes {listed(sorted(kinds))}")
    return values


def _as_it_is(given: Any) -> Any:
    return None if isinstance(given, float) and math.isnan(given) else given


def _reading(texts: Sequence[str | None]) -> Callable[[Any], Any]:
    """Return how to read a column of texts: numbers, true or false, lists with |, or texts."""
    some = {text.strip() for text in texts if text is not None}
    some = {text for text in some if text.lower() not in _BLANK}
    read: Callable[[str], Any] = str
    if some and all(map(_is_number, some)):
        read = float
    elif some and all(text.lower() in _FLAGS for text in some):
        read = _flag
    elif any(SEPARATOR in text for text in some):
        read = _tags
    return lambda text: None if text is None or text.strip() not in some else read(text.strip())


def _flag(text: str) -> bool:
    return _FLAGS[text.lower()]


def _tags(text: str) -> list[str]:
    return [part.strip() for part in text.split(SEPARATOR)]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
