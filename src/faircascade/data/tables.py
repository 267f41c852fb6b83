"""Tables of a user: text files, Parquet files and DataFrames, all read by column name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Progress

Role = Literal["id", "number", "text"]
"""What a column is for; only text files need it, as the others know their types."""


class Table(ABC):
    """A table whose columns are read by name."""

    label: str
    """What error messages call it."""
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What is worth knowing about how its columns were found."""
    hint: ClassVar[str] = ""
    """What else to try if a column is not found."""

    @abstractmethod
    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        """Return the wanted columns as Arrow arrays."""

    def where(self, row: int) -> str:
        """Name the place of a row (0-based) for an error message."""
        return f"{self.label}: row {row}"


class TableRows(Table):
    """Some rows of a table that was read, which still know their places."""

    def __init__(self, table: Table, rows: NDArray[np.intp]) -> None:
        self.label, self.names = table.label, table.names
        self._table, self._rows = table, rows

    def read(self, wanted: Mapping[str, Role], progress: Progress | None = None) -> dict[str, Any]:
        columns = self._table.read(wanted, progress)
        return {name: column.take(self._rows) for name, column in columns.items()}

    def where(self, row: int) -> str:
        return self._table.where(int(self._rows[row]))


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
