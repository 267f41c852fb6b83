"""Tables of a user: text files, Parquet files and DataFrames, all read by column name."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from faircascade.data.base import DataError, Progress
from faircascade.data.delimited import (
    SEPARATORS,
    Kind,
    Layout,
    TextFile,
    first_record,
    is_broken,
    place_in,
    read_text,
)

Role = Literal["id", "number", "text"]
"""What a column is for; only text files need it, as the others know their types."""

_KINDS: dict[Role, Kind] = {"id": "text", "number": "number", "text": "text"}
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")


class Table(ABC):
    """A table whose columns are read by name."""

    label: str
    """What error messages call it."""
    names: tuple[str, ...]
    hint: ClassVar[str] = ""
    """What else to try if a column is not found."""

    @abstractmethod
    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        """Return the wanted columns as Arrow arrays."""

    def where(self, row: int) -> str:
        """Name the place of a row (0-based) for an error message."""
        return f"{self.label}: row {row}"


def open_table(
    source: Any, *, sep: str | None = None, names: tuple[str, ...] = (), encoding: str = "utf-8"
) -> Table:
    """Open a file (by its content: Parquet or text) or a DataFrame."""
    if not isinstance(source, str | Path):
        return FrameTable(source)
    path = Path(source).expanduser()
    head = _head(path)
    if head.startswith(b"PAR1") or path.suffix.lower() in (".parquet", ".pq"):
        return ParquetTable(path)
    if head.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{path}: a zip file is not a table; "
            'a MovieLens archive is read by its name, as in "ml-1m" with path='
        )
    if b"\0" in head and not encoding.lower().startswith(("utf-16", "utf-32", "utf16", "utf32")):
        raise DataError(f"{path}: this is binary data, not text; CSV, TSV or Parquet is expected")
    return TextTable.open(path, sep=sep, names=names, encoding=encoding)


def _head(path: Path) -> bytes:
    if path.is_dir():
        raise DataError(
            f"{path}: a folder is not a table; name the data set it holds and pass it as path="
        )
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


@dataclass(frozen=True, slots=True)
class TextTable(Table):
    """A CSV, TSV or RecBole file."""

    source: TextFile
    layout: Layout
    """Its columns are `names`; which of them to read is for `read` to say."""
    label: str
    names: tuple[str, ...]
    hint: ClassVar[str] = ", or all with columns= if the file has no header"

    @classmethod
    def open(
        cls, path: Path, *, sep: str | None, names: tuple[str, ...], encoding: str
    ) -> TextTable:
        """Find the separator and the column names; `names` are those of a file without a header."""
        source = TextFile.at(path)
        try:
            line, found, layout = _most_columns(
                source,
                [
                    replace(layout, header=not names, encoding=encoding)
                    for layout in _layouts(sep, recbole=path.suffix.lower() in (".inter", ".item"))
                ],
            )
        except LookupError as error:  # an unknown encoding
            raise DataError(f"{path}: {error}") from None
        if len(found) < 2:
            raise DataError(
                f"{path}: line {line}: only one column found, {found[0][:80]!r}; "
                "name the separator with sep="
            )
        if any(map(is_broken, found)):
            raise DataError(
                f"{path}: line {line}: not {encoding} text; name another encoding with encoding="
            )
        columns = names or tuple(found)
        return cls(source, replace(layout, columns=columns), str(path), columns)

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        table = read_text(self.source, self._wanting(wanted), progress)
        return {
            name: _natural_ids(table[name]) if role == "id" else table[name]
            for name, role in wanted.items()
        }

    def where(self, row: int) -> str:
        return place_in(self.source, self.layout, row)

    def _wanting(self, wanted: Mapping[str, Role]) -> Layout:
        return replace(self.layout, kinds={name: _KINDS[role] for name, role in wanted.items()})


def _layouts(sep: str | None, *, recbole: bool) -> list[Layout]:
    """Return the layouts that a text file may have."""
    separators = (sep,) if sep else ("\t",) if recbole else SEPARATORS
    return [
        Layout(columns=(), kinds={}, separator=separator, quoted=separator != "::" and not recbole)
        for separator in separators
    ]


def _most_columns(source: TextFile, layouts: list[Layout]) -> tuple[int, list[str], Layout]:
    """Return line and fields of the first record under the layout that finds most fields."""
    firsts = [(*first_record(source, layout), layout) for layout in layouts]
    return max(firsts, key=lambda first: len(first[1]))


def _natural_ids(column: Any) -> Any:
    """Trim the text of ids; make them integers if every one of them is."""
    import pyarrow as pa

    column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        return column
    texts = [text.strip() for text in column.dictionary.to_pylist()]
    if all(_INTEGER.fullmatch(text) for text in texts):
        values = pa.array([int(text) for text in texts], pa.int64())
    else:
        values = pa.array(
            [None if text.lower() in ("", "nan") else text for text in texts], pa.string()
        )
    return pa.DictionaryArray.from_arrays(column.indices, values)


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            names = parquet.read_schema(path).names
        except (pa.ArrowInvalid, OSError):
            raise DataError(f"{path}: this is not a Parquet file, or only a part of one") from None
        self.path, self.label, self.names = path, str(path), tuple(names)

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.read_table(self.path, columns=list(wanted))
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.path}: {' '.join(str(error).split())[:200]}") from None
        return {name: table[name] for name in wanted}


class FrameTable(Table):
    """A DataFrame of any library that narwhals knows."""

    def __init__(self, native: Any) -> None:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError

        try:
            frame = nw.from_native(native)
        except TypeError:
            raise DataError(
                "a data set's name, a path or a DataFrame (pandas, polars) is expected, "
                f"got {type(native).__name__}"
            ) from None
        except NarwhalsError as error:  # pandas allows a name twice
            raise DataError(f"DataFrame: {' '.join(str(error).split())}") from None
        self.frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self.label, self.names = "DataFrame", tuple(self.frame.columns)

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        return {name: self._column(name) for name in wanted}

    def _column(self, name: str) -> Any:
        import pyarrow as pa

        try:
            return self.frame.get_column(name).to_arrow()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(
                f"DataFrame: column {name!r} mixes types, make it one of them ({reason})"
            ) from None
