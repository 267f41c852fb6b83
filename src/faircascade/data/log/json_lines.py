"""Lines with a JSON object each, as Arrow tables."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from typing import IO, Any

from faircascade.data.base import DataError
from faircascade.errors import shown


class JsonLines:
    """Parses blocks of lines; text stays text, even if it looks like a date."""

    def __init__(self, label: str, wanted: Sequence[str]) -> None:
        """Read the wanted fields of a file that messages call `label`."""
        self._label, self._wanted = label, wanted
        self._texts: dict[str, Any] = {}  # fields that look like dates, and their types

    def parse(self, first_line: int, block: bytes) -> Any:
        """Return a table of whole lines, the first of which has this number."""
        import pyarrow as pa

        check_text(first_line, block, self._label)
        try:
            found = _read(block, self._texts)
            dates = {name: _text_like(found[name].type) for name in self._there(found)}
            dates = {name: kind for name, kind in dates.items() if kind is not None}
            if dates:
                self._texts |= dates
                found = _read(block, self._texts)
            if not _has_lines(block, found.num_rows):  # several on a line, or one on several
                check_lines(first_line, block, self._label)
            if any(_may_be_rounded(found[name]) for name in self._there(found)):
                return self._one_by_one(first_line, block)
        except pa.ArrowInvalid:
            check_lines(first_line, block, self._label)
            return self._one_by_one(first_line, block)
        there, absent = self._there(found), pa.nulls(found.num_rows)
        return pa.table({name: found[name] if name in there else absent for name in self._wanted})

    def _there(self, table: Any) -> list[str]:
        return [name for name in self._wanted if name in table.column_names]

    def _one_by_one(self, first_line: int, block: bytes) -> Any:
        """Parse lines of which some field has several types: 7 and "7" are the same id."""
        import pyarrow as pa

        numbered = [
            (number, json.loads(line))
            for number, line in enumerate(block.split(b"\n"), first_line)
            if line.strip()
        ]
        lines, objects = [number for number, _ in numbered], [each for _, each in numbered]
        columns = {}
        for name in self._wanted:
            values = [each.get(name) for each in objects]
            try:
                columns[name] = pa.array(values)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
                columns[name] = self._as_text(name, values, lines)
        return pa.table(columns)

    def _as_text(self, name: str, values: list[Any], lines: list[int]) -> Any:
        import pyarrow as pa

        texts = [_plain_text(value) for value in values]
        try:
            return pa.array(texts)
        except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError):
            row = bisect_left(range(len(texts)), x=True, key=lambda row: _differ(texts[: row + 1]))
            got = shown(values[row])
            rule = f"field {name!r} changes its type or is not Unicode, got {got}"
            raise DataError(f"{self._label}: line {lines[row]}: {rule}") from None


def field_names(first_line: int, block: bytes, label: str) -> tuple[str, ...]:
    """Return the fields of some lines."""
    import pyarrow as pa

    check_text(first_line, block, label)
    try:
        return tuple(_read(block, {}).column_names)
    except pa.ArrowInvalid:
        check_lines(first_line, block, label)
        objects = [json.loads(line) for line in block.split(b"\n") if line.strip()]
        return tuple(dict.fromkeys(name for each in objects for name in each))


def check_text(first_line: int, block: bytes, label: str) -> None:
    """Refuse the first line that is not UTF-8."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = first_line + block.count(b"\n", 0, error.start)
        raise DataError(
            f"{label}: line {line}: JSON lines must be UTF-8 ({error.reason})"
        ) from None


def check_lines(first_line: int, block: bytes, label: str) -> None:
    """Refuse the first line that is no JSON object."""
    for line, text in enumerate(block.split(b"\n"), first_line):
        if not text.strip():
            continue
        place = f"{label}: line {line}"
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: must be a JSON object, got {error}") from None
        if not isinstance(found, dict):
            got = text[:40].decode(errors="replace")
            raise DataError(f"{place}: must be a JSON object, got {got}")


def _has_lines(block: bytes, rows: int) -> bool:
    """Tell whether as many lines as there are rows are not blank."""
    if block.count(b"\n") + (not block.endswith(b"\n")) == rows:
        return True
    return sum(1 for line in block.split(b"\n") if line.strip()) == rows


def _differ(values: list[Any]) -> bool:
    """Tell whether values cannot be one column."""
    import pyarrow as pa

    try:
        pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError):
        return True
    return False


def line_of(stream: IO[bytes], row: int) -> int:
    """Return the line of an object, from 1 on; blank lines do not count as rows."""
    lines = (line for line, text in enumerate(stream, 1) if text.strip())
    return next(islice(lines, row, None))


def _read(block: bytes, texts: dict[str, Any]) -> Any:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    schema = pa.schema(list(texts.items())) if texts else None
    return arrow_json.read_json(
        pa.BufferReader(block),
        read_options=arrow_json.ReadOptions(block_size=len(block) + 1),  # a line is never cut
        parse_options=arrow_json.ParseOptions(explicit_schema=schema),
    )


def _text_like(kind: Any) -> Any:
    """Return the type of text that was taken for dates; None for other types."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type):
        return pa.list_(pa.string())
    return None


def _may_be_rounded(column: Any) -> bool:
    """Tell whether whole numbers of a column are too large for the type that was found for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    if not pa.types.is_floating(column.type):
        return False
    return (pc.max(pc.abs(column)).as_py() or 0.0) >= 2.0**63


def _plain_text(value: Any) -> Any:
    """Return numbers as text, also in a list; other things as they are."""
    if isinstance(value, list):
        return [_plain_text(each) for each in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
