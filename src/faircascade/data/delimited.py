"""Delimited text: Arrow parses it in blocks, and Python finds the line when a block is bad.

Every text file of this package goes through here. The fast path never looks at a line; only once
Arrow has refused a block are its records walked one by one to say which line broke which rule.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import IO, Any, Literal

from faircascade.data.base import DataError, MissingValueError, Progress
from faircascade.data.text_file import TextFile

BLOCK_BYTES = 1 << 24
_THREAD_BYTES = 1 << 21
SEPARATORS = (",", "\t", ";", "|", "::")
_UNIT_SEPARATOR = "\x1f"  # stands in for "::", as Arrow and csv know one-character separators only

# what Arrow takes for a number
_INTEGER = re.compile(r"\s*-?\d+\s*", re.ASCII)
_NUMBER = re.compile(
    r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE
)

_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*", re.ASCII)
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "-", "?")
"""What stands for a number that is not there."""

Kind = Literal["integer", "rating", "number", "text"]
"""How a column is stored: int32, float32, float64 or dictionary-coded text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the lines of a file look like, and which columns to read."""

    columns: tuple[str, ...]
    """Every column, in the order of the file."""
    kinds: Mapping[str, Kind]
    """The columns to read."""
    separator: str = "\t"
    header: bool = False
    """True if the first line that is not blank repeats `columns`."""
    quoted: bool = False
    """True if fields may stand in double quotes, with separators and line ends inside."""
    encoding: str = "utf-8"
    decimal: str = "."
    missing: bool = False
    """True if numbers may be missing; they are null then, otherwise refused."""


class DecimalCommaError(DataError):
    """A number with a decimal comma, in a file that was read as if it had none."""


def read_text(source: TextFile, layout: Layout, progress: Progress | None = None) -> Any:
    """Read the wanted columns of a whole file as an Arrow table."""
    import pyarrow as pa

    return pa.concat_tables(stream_text(source, layout, progress)).unify_dictionaries()


def stream_text(
    source: TextFile, layout: Layout, progress: Progress | None = None
) -> Iterator[Any]:
    """Read the wanted columns of a file as Arrow tables, one for each block of lines."""
    skip = _header_lines(source, layout)
    with source.open() as stream:
        batches = _quoted_batches if layout.quoted else _batches
        yield from batches(stream, source, layout, skip, progress)


def parse(
    block: bytes,
    layout: Layout,
    *,
    label: str,
    first_line: Callable[[], int],
    skip: int = 0,
    threads: bool = True,
) -> Any:
    """Parse whole lines, the first of them line `first_line()` of `label`, to an Arrow table."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    text = block
    if layout.separator == "::":
        text = block.replace(b"::", _UNIT_SEPARATOR.encode())
    try:
        part = _THREAD_BYTES if threads else len(text)
        return arrow_csv.read_csv(
            pa.BufferReader(text), **_arrow_options(layout, skip=skip, part=part, threads=threads)
        )
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise _explain(io.BytesIO(block), layout, label, first_line(), skip, error) from None


def records(
    stream: IO[bytes], layout: Layout, *, label: str, first_line: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, fields) of each record that is not blank, the slow way; closes the stream.

    Bytes that are not text in the layout's encoding come out as lone surrogates.
    """
    encoding = "utf-8-sig" if layout.encoding.lower() in ("utf-8", "utf8") else layout.encoding
    with io.TextIOWrapper(stream, encoding, errors="surrogateescape", newline="") as text:
        lines = _short_lines(text, label, first_line)
        reader = csv.reader(
            (line.replace("::", _UNIT_SEPARATOR) for line in lines)
            if layout.separator == "::"
            else lines,
            delimiter=_one_character(layout),
            quoting=csv.QUOTE_MINIMAL if layout.quoted else csv.QUOTE_NONE,
        )
        line, longest_field = first_line, csv.field_size_limit(BLOCK_BYTES)
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = first_line + reader.line_num
        except (csv.Error, UnicodeError) as error:  # a field without end, a cut UTF-16 file
            raise DataError(f"{label}: line {line}: {error}") from None
        finally:
            csv.field_size_limit(longest_field)


def _short_lines(text: io.TextIOWrapper, label: str, first_line: int) -> Iterator[str]:
    line = first_line
    while found := text.readline(BLOCK_BYTES):
        check_end(found[-1] == "\n" or len(found) < BLOCK_BYTES, label, line)
        yield found
        line += 1


def check_end(ended: bool, label: str, line: int) -> None:
    """Refuse a line of which the end was not found."""
    if not ended:
        raise DataError(f"{label}: line {line}: must be shorter than {BLOCK_BYTES:,} characters")


def rest_of_line(stream: IO[bytes], block: bytes, label: str, first_line: int) -> bytes:
    """Return a block of lines with the rest of its last one."""
    rest = stream.readline(BLOCK_BYTES)
    ended = rest[-1:] == b"\n" or len(rest) < BLOCK_BYTES
    if not ended:
        check_end(ended, label, first_line + block.count(b"\n"))
    return block + rest


def first_record(source: TextFile, layout: Layout) -> tuple[int, list[str]]:
    """Return the line and fields of the first record; an empty file is refused."""
    with source.open() as stream:
        for line, fields in records(stream, layout, label=source.label):
            return line, [field.strip() for field in fields]
    raise DataError(f"{source.label}: the file is empty")


def line_of_row(
    stream: IO[bytes], layout: Layout, row: int, *, label: str, first_line: int = 1
) -> int:
    """Return the line on which data row `row` (0-based) of the stream starts."""
    found = records(stream, layout, label=label, first_line=first_line)
    line, _ = next(islice(found, row + layout.header, None))
    return line


def place_in(source: TextFile, layout: Layout, row: int) -> str:
    """Name the file and line of a data row, for an error message."""
    with source.open() as stream:
        return f"{source.label}: line {line_of_row(stream, layout, row, label=source.label)}"


def _header_lines(source: TextFile, layout: Layout) -> int:
    line, fields = first_record(source, layout)
    if not layout.header:
        return 0
    if fields != list(layout.columns):
        raise DataError(
            f"{source.label}: line {line}: the header must be "
            f"{layout.separator.join(layout.columns)}, got {layout.separator.join(fields)[:80]!r}"
        )
    return line


def _batches(
    stream: IO[bytes], source: TextFile, layout: Layout, skip: int, progress: Progress | None
) -> Iterator[Any]:
    def parsed(block: bytes, line: int) -> Any:
        return parse(block, layout, label=source.label, first_line=lambda: line, skip=skip)

    line, done = 1, 0
    while block := stream.read(BLOCK_BYTES):
        block = rest_of_line(stream, block, source.label, line)
        if block.strip():
            yield parsed(block, line)
        line, done, skip = line + block.count(b"\n"), done + len(block), 0
        if progress:
            progress(f"reading {PurePath(source.label).name}", done, source.size)


def _quoted_batches(
    stream: IO[bytes], source: TextFile, layout: Layout, skip: int, progress: Progress | None
) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        options = _arrow_options(layout, skip=skip, part=BLOCK_BYTES, threads=True)
        with _arrow_stream(stream) as native, arrow_csv.open_csv(native, **options) as reader:
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])
                if progress:
                    progress(f"reading {PurePath(source.label).name}", native.tell(), source.size)
    except (pa.ArrowInvalid, UnicodeError) as error:
        with source.open() as again:
            raise _explain(again, layout, source.label, 1, skip, error) from None


def _arrow_stream(stream: IO[bytes]) -> AbstractContextManager[Any]:
    """Return a plain file as one of Arrow's, and any other stream as it is.

    Arrow reads ahead in threads. One that needs Python for it aborts the process if an error ends
    the program meanwhile.
    """
    import pyarrow as pa

    raw = getattr(stream, "raw", None)
    return pa.OSFile(raw.name) if isinstance(raw, io.FileIO) else nullcontext(stream)


def _arrow_options(layout: Layout, *, skip: int, part: int, threads: bool) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = {
        "integer": pa.int32(),
        "rating": pa.float32(),
        "number": pa.float64(),
        "text": pa.dictionary(pa.int32(), pa.string()),
    }
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=layout.columns,
            skip_rows_after_names=skip,
            block_size=part,
            encoding=layout.encoding,
            use_threads=threads,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=_one_character(layout),
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            include_columns=list(layout.kinds),
            column_types={name: types[kind] for name, kind in layout.kinds.items()},
            null_values=list(MISSING) if layout.missing else [],
            decimal_point=layout.decimal,
        ),
    }


def _one_character(layout: Layout) -> str:
    return _UNIT_SEPARATOR if layout.separator == "::" else layout.separator


def _explain(
    stream: IO[bytes], layout: Layout, label: str, first_line: int, skip: int, cause: Exception
) -> DataError:
    """Say which line broke which rule; `cause` is what Arrow said."""
    rows = 0
    for line, fields in records(stream, layout, label=label, first_line=first_line):
        if line >= first_line + skip:
            rows += 1
            if problem := _problem(fields, layout):
                return type(problem)(f"{label}: line {line}: {problem}")
    if not rows:
        return DataError(f"{label}: there are no rows in it")
    return DataError(f"{label}: {' '.join(str(cause).split())[:200]}")


def _problem(fields: list[str], layout: Layout) -> DataError | None:
    """Return what is wrong with a record, without its place."""
    if len(fields) != len(layout.columns):
        return DataError(
            f"{len(layout.columns)} fields expected ({', '.join(layout.columns)}), "
            f"got {len(fields)}: {layout.separator.join(fields)[:60]!r}"
        )
    for name, kind in layout.kinds.items():
        text = fields[layout.columns.index(name)]
        if is_broken(text):
            return DataError(
                f"column {name!r} is not {layout.encoding} text, got {text[:40]!a}; "
                "name another encoding with encoding="
            )
        if kind == "integer" and not (_INTEGER.fullmatch(text) and abs(int(text)) < 2**31):
            rule = f"column {name!r} must be a whole number below 2^31, got {text[:40]!r}"
            return DataError(rule)
        if kind in ("rating", "number") and not _is_number(text, layout):
            return _number_error(text, layout)(
                f"column {name!r} must be a number, got {text[:40]!r}"
            )
    return None


def _is_number(text: str, layout: Layout) -> bool:
    if layout.missing and text in MISSING:
        return True
    if layout.decimal == ",":
        text = "x" if "." in text else text.replace(",", ".")
    return bool(_NUMBER.fullmatch(text))


def _number_error(text: str, layout: Layout) -> type[DataError]:
    if text.strip() in MISSING:
        return MissingValueError
    commas = layout.decimal == "." and _DECIMAL_COMMA.fullmatch(text)
    return DecimalCommaError if commas else DataError


def is_broken(text: str) -> bool:
    """Tell whether `records` met bytes here that are not text."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
