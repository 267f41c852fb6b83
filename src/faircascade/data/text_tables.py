"""Tables in text files, compressed or not, and the door to every kind of table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from faircascade.data.archive import only_member
from faircascade.data.base import DataError, Progress
from faircascade.data.delimited import DecimalCommaError, Kind, Layout, place_in, read_text
from faircascade.data.layouts import TextOptions, find_layout
from faircascade.data.tables import FrameTable, ParquetTable, Role, Table
from faircascade.data.text_file import TextFile, plain_suffix

_KINDS: dict[Role, Kind] = {"id": "text", "number": "number", "text": "text"}
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_BLANK = ("", "nan")


def open_table(source: Any, options: TextOptions) -> Table:
    """Open a file (by its content: Parquet or text) or a DataFrame."""
    if not isinstance(source, str | Path):
        return FrameTable(source)
    path = Path(source).expanduser()
    if path.is_dir():
        raise DataError(
            f"{path}: a folder is not a table; name the data set it holds, with path=FOLDER"
        )
    file = TextFile.at(path)
    head = _head(file)
    if path.suffix.lower() in (".parquet", ".pq") or head.startswith(b"PAR1"):
        if file.compressed:
            raise DataError(f"{path}: Parquet files must not be compressed as a whole; unpack it")
        return ParquetTable(path)
    if head.startswith(b"PK\x03\x04"):
        file = only_member(path)
        head = _head(file)
    encoding = options.encoding.lower().replace("-", "")
    if b"\0" in head and not encoding.startswith(("utf16", "utf32")):
        raise DataError(f"{path}: this is binary data, not text; CSV, TSV or Parquet is expected")
    if options.layout is None and plain_suffix(path) in (".inter", ".item"):
        options = replace(options, layout="recbole")
    layout, notes = find_layout(file, options)
    if options.layout == "matrix":
        return MatrixTable(file, layout)
    return TextTable(file, layout, file.label, layout.columns, notes)


def _head(file: TextFile) -> bytes:
    with file.open() as stream:
        return stream.read(1 << 16)


@dataclass(slots=True)
class TextTable(Table):
    """A CSV, TSV or RecBole file."""

    source: TextFile
    layout: Layout
    """Its columns are `names`; which of them to read is for `read` to say."""
    label: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    hint: ClassVar[str] = ", or all with columns= if the file has no header (or layout='surprise')"

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        layout = replace(self.layout, kinds={name: _KINDS[role] for name, role in wanted.items()})
        try:
            table = read_text(self.source, layout, progress)
        except DecimalCommaError:
            table = read_text(self.source, replace(layout, decimal=","), progress)
            self.notes = (*self.notes, "numbers were read with decimal commas")
        return {
            name: _natural_ids(table[name]) if role == "id" else table[name]
            for name, role in wanted.items()
        }

    def where(self, row: int) -> str:
        return place_in(self.source, self.layout, row)


class MatrixTable(Table):
    """A text file with a row for each user and a column for each item; 0 is no rating."""

    names = ("user", "item", "rating")

    def __init__(self, source: TextFile, layout: Layout) -> None:
        self.label, self._source = source.label, source
        self._layout = replace(layout, kinds=dict.fromkeys(layout.columns, "rating"))
        self.notes = ("users and items are numbered from 0, by row and column of the matrix",)

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        import pyarrow as pa

        table = read_text(self._source, self._layout, progress)
        values = np.column_stack([column.to_numpy() for column in table.columns])
        users, items = np.nonzero(values)
        self._users = users
        found = {"user": users, "item": items, "rating": values[users, items]}
        return {name: pa.array(found[name]) for name in wanted}

    def where(self, row: int) -> str:
        return place_in(self._source, self._layout, int(self._users[row]))


def _natural_ids(column: Any) -> Any:
    """Trim the text of ids; make them integers if every one of them is; blanks are null."""
    import pyarrow as pa

    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        return column
    texts = [text.strip() for text in column.dictionary.to_pylist()]
    known = [None if text.lower() in _BLANK else text for text in texts]
    if all(text is None or _INTEGER.fullmatch(text) for text in known):
        values = pa.array([None if text is None else int(text) for text in known], pa.int64())
    else:
        values = pa.array(known, pa.string())
    return pa.DictionaryArray.from_arrays(column.indices, values)
