"""Rows of a log, in blocks that fit into memory: Parquet, text, JSON lines, DataFrames."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from faircascade.data.archive import member_names, named_member, some
from faircascade.data.base import DataError, Progress
from faircascade.data.delimited import (
    BLOCK_BYTES,
    Layout,
    place_in,
    rest_of_line,
    stream_text,
)
from faircascade.data.layouts import TextOptions, find_layout
from faircascade.data.log.json_lines import JsonLines, field_names, line_of
from faircascade.data.tables import FrameTable
from faircascade.data.text_file import CODECS, TextFile, plain_suffix
from faircascade.errors import ParameterError

BLOCK_ROWS = 1 << 18
"""Rows of a Parquet file or DataFrame that are read at a time: more of them leave the cache."""
BLOCK_VALUES = 1 << 22
"""Values of a column that are read at a time, about, where rows have lists."""
SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "text"),
}
"""What files of a folder are read as; others are left alone."""
JOURNAL = "journal"
"""Folder beside the rows of an event log that a service writes."""
LEFT_OUT = ("item_context.csv",)
"""Files beside the log in the Open Bandit layout."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_JSON_ARRAY = re.compile(rb"\s*\[\s*(\{|$)")


class RowStream(ABC):
    """A table that is read in blocks, with the columns that are wanted."""

    label: str
    """What error messages call it."""
    names: tuple[str, ...]

    @abstractmethod
    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        """Yield Arrow tables with the wanted columns, whatever their types."""

    def where(self, row: int) -> str:
        """Name the place of a row (0-based) for an error message."""
        return f"{self.label}: row {row}"

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What a Parquet file says of itself."""
        return {}


@dataclass(frozen=True)
class ParquetRows(RowStream):
    """A Parquet file."""

    path: Path

    def __post_init__(self) -> None:
        _ = self._schema

    @property
    def label(self) -> str:  # type: ignore[override]
        return str(self.path)

    @cached_property
    def _schema(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.read_schema(self.path)
        except (pa.ArrowInvalid, OSError):
            rule = "this is not a Parquet file, or only a part of one"
            raise DataError(f"{self.path}: {rule}") from None

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self._schema.names)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        return dict(self._schema.metadata or {})

    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self.path, pre_buffer=False) as file:  # else all stays
                done, total = 0, file.metadata.num_rows
                size = _rows_together(file.metadata)
                for batch in file.iter_batches(size, columns=list(wanted)):
                    yield pa.Table.from_batches([batch])
                    done += batch.num_rows
                    if progress:
                        progress(f"reading {self.path.name}", done, total)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.path}: {' '.join(str(error).split())[:200]}") from None


def _rows_together(metadata: Any) -> int:
    """Return how many rows of a Parquet file to read at a time: fewer if they have long lists."""
    if not metadata.num_row_groups:
        return BLOCK_ROWS
    first = metadata.row_group(0)
    rows, values = (
        int(first.num_rows),
        max((first.column(n).num_values for n in range(first.num_columns)), default=0),
    )
    return max(1, min(BLOCK_ROWS, BLOCK_VALUES * rows // max(values, 1)))


class FrameRows(RowStream):
    """A DataFrame or an Arrow table."""

    def __init__(self, native: Any) -> None:
        self._table = FrameTable(native)
        self.label, self.names = self._table.label, self._table.names

    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        import pyarrow as pa

        table = pa.table(self._table.read(dict.fromkeys(wanted, "text")))
        for first in range(0, table.num_rows, BLOCK_ROWS):
            yield table.slice(first, BLOCK_ROWS)


@dataclass(frozen=True)
class TextRows(RowStream):
    """A CSV or TSV file; every value comes as text."""

    source: TextFile
    layout: Layout

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.source.label

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.layout.columns

    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        layout = replace(self.layout, kinds=dict.fromkeys(wanted, "text"))
        return stream_text(self.source, layout, progress)

    def where(self, row: int) -> str:
        return place_in(self.source, self.layout, row)


@dataclass(frozen=True)
class JsonRows(RowStream):
    """A file with a JSON object on each line."""

    source: TextFile

    @property
    def label(self) -> str:  # type: ignore[override]
        return self.source.label

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of the first block of lines."""
        line, block = next(self._line_blocks(), (0, b""))
        if not block.strip():
            raise DataError(f"{self.label}: the file is empty")
        return field_names(line, block, self.label)

    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        lines, done = JsonLines(self.label, wanted), 0
        for first_line, block in self._line_blocks():
            if not block.strip():
                continue
            yield lines.parse(first_line, block)
            done += len(block)
            if progress:
                progress(f"reading {Path(self.label).name}", done, self.source.size)

    def _line_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines with the number of the first."""
        line = 1
        with self.source.open() as stream:
            while block := stream.read(BLOCK_BYTES):
                block = rest_of_line(stream, block, self.label, line)
                yield line, block
                line += block.count(b"\n")

    def where(self, row: int) -> str:
        with self.source.open() as stream:
            return f"{self.label}: line {line_of(stream, row)}"


class FileSequence(RowStream):
    """Several files, one after the other, as one log."""

    def __init__(self, label: str, files: Sequence[RowStream]) -> None:
        self.label, self.names, self._files = label, files[0].names, files
        self._ends: list[int] = []
        for file in files:
            if type(file) is not type(files[0]):
                rule = f"files of a log must be of one kind, as {files[0].label} is another"
                raise DataError(f"{file.label}: {rule}")

    @property
    def metadata(self) -> dict[bytes, bytes]:
        return self._files[0].metadata

    def blocks(self, wanted: Sequence[str], progress: Progress | None = None) -> Iterator[Any]:
        self._check_columns(wanted)
        self._ends, rows = [], 0
        for file in self._files:
            for block in file.blocks(wanted, progress):
                rows += block.num_rows
                yield block
            self._ends.append(rows)

    def _check_columns(self, wanted: Sequence[str]) -> None:
        """Refuse a file without a column that is read; JSON lines may leave out what is not."""
        for file in self._files:
            missing = [name for name in wanted if name not in file.names]
            if missing and not isinstance(file, JsonRows):
                rule = f"there is no column {missing[0]!r}, which {self._files[0].label} has"
                raise DataError(f"{file.label}: {rule}")

    def where(self, row: int) -> str:
        which = bisect_right(self._ends, row)
        return self._files[which].where(row - (self._ends[which - 1] if which else 0))


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder in the order of their names, those of its partitions as well.

    A partition is a folder called as in `day=2026-11-18`; other folders are left alone.
    """
    files: list[Path] = []
    for path in sorted(folder.iterdir()):
        if not path.is_dir():
            files.append(path)
        elif "=" in path.name.strip("="):
            files.extend(files_of(path))
    return files


def open_rows(source: Any, *, member: str | None, sep: str | None, encoding: str) -> RowStream:
    """Open a file, a folder of files or a DataFrame."""
    if not isinstance(source, str | Path):
        return FrameRows(source)
    if sep not in (None, "::") and (len(sep) != 1 or sep in '"\r\n'):
        raise ParameterError("sep", "must be one character or '::'", sep)
    path = Path(source).expanduser()
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    options = TextOptions(header=True, sep=sep, encoding=encoding)
    if not path.is_dir():
        return _open_file(path, member, options)
    files = [
        file
        for file in files_of(path)
        if plain_suffix(file) in SUFFIXES and file.name not in LEFT_OUT
    ]
    if not files:
        rule = (
            "there is no Parquet, CSV or JSON lines file in it, or in a folder such as day=1 in it"
        )
        if (path / JOURNAL).is_dir():
            rule = (
                "no file of this event log is whole yet: one is after --event-log-rotate "
                "(an hour), or when the service stops"
            )
        raise DataError(f"{path}: {rule}")
    streams = [_open_file(file, None, options) for file in files]
    return streams[0] if len(streams) == 1 else FileSequence(str(path), streams)


def _open_file(path: Path, member: str | None, options: TextOptions) -> RowStream:
    file, name = TextFile.at(path), path
    head = _head(file)
    if head.startswith(b"PAR1"):
        if file.compressed:
            raise DataError(f"{path}: Parquet files must not be compressed as a whole; unpack it")
        return ParquetRows(path)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the second has no members
        file = _only_log(path) if member is None else named_member(path, member)
        head, name = _head(file), Path(file.label)
        if head.startswith((b"PAR1", *CODECS)):
            rule = "a file in a zip file must be text, and not compressed by itself; unpack it"
            raise DataError(f"{file.label}: {rule}")
    elif member is not None:
        raise DataError(f"{path}: member= goes with a zip file")
    if not head.strip():
        raise DataError(f"{file.label}: the file is empty")
    wide = _is_wide(options.encoding)
    json_lines = SUFFIXES.get(plain_suffix(name)) == "json" or _starts_an_object(head)
    if json_lines and (wide or head.startswith(_UTF_16)):
        raise DataError(f"{file.label}: JSON lines must be UTF-8")
    if head.startswith(_UTF_16) and not wide:
        raise DataError(f"{file.label}: this is UTF-16 text; read it with encoding='utf-16'")
    if b"\0" in head and not wide:
        rule = "this is binary data; Parquet, CSV, TSV or JSON lines is expected"
        raise DataError(f"{file.label}: {rule}")
    if _JSON_ARRAY.match(head):
        rule = "this is one JSON array; JSON lines are expected, an object on each line"
        raise DataError(f"{file.label}: {rule}")
    if json_lines:
        return JsonRows(file)
    layout, _ = find_layout(file, options)
    return TextRows(file, layout)


def _starts_an_object(head: bytes) -> bool:
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"


def _is_wide(encoding: str) -> bool:
    """Tell whether an encoding has zero bytes in plain text."""
    try:
        return b"\0" in "a".encode(encoding)
    except LookupError:
        return False  # refused where the file is read


def _only_log(path: Path) -> TextFile:
    names = member_names(path)
    if len(names) == 1:
        return named_member(path, names[0])
    if not names:
        raise DataError(f"{path}: there are no files in it")
    raise DataError(
        f"{path}: there are {len(names)} files in it ({some(names)}); name one of them with member="
    )


def _head(file: TextFile) -> bytes:
    with file.open() as stream:
        return stream.read(1 << 12)
