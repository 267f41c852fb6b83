"""Formats of whole files."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pyarrow as pa
from pyarrow import parquet

from faircascade.service.event_log.records import BYTES
from faircascade.service.event_log.segment import sync, sync_folder

_HEAD = "faircascade.event_log"
"""Under which name a file has its head."""
_GROUP = 32_768
"""Rows that Parquet keeps together: equal features are there once."""
_DICTIONARY = 16 * 2**20
"""Bytes of different values up to which they are."""


class FileFormat(ABC):
    """Writes tables with a head, and reads them."""

    suffix: ClassVar[str]
    known: ClassVar[dict[str, type[FileFormat]]] = {}
    """By name."""

    def __init_subclass__(cls) -> None:
        FileFormat.known[cls.suffix] = cls

    @abstractmethod
    def start(self, path: Path, schema: pa.Schema, head: Mapping[str, Any] | None) -> TableFile:
        """Begin a file."""

    @abstractmethod
    def head(self, path: Path) -> Mapping[str, Any]:
        """Return the head of a file."""

    @abstractmethod
    def rows(self, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the rows of a file by column; what is not there may be None or left out."""


class TableFile(ABC):
    """A file that is being written. Under its name there is either all of it or nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(path.name + ".part")

    @abstractmethod
    def write(self, table: pa.Table) -> None:
        """Add rows."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is missing and close it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish()
        if error is not None:
            self.part.unlink()
            return
        with self.part.open("rb+") as file:
            sync(file)
        self.part.replace(self.path)
        sync_folder(self.path.parent)


class Parquet(FileFormat):
    """Small, and read by everything that reads tables."""

    suffix = "parquet"

    def start(self, path: Path, schema: pa.Schema, head: Mapping[str, Any] | None) -> TableFile:
        return _ParquetFile(path, schema, head)

    def head(self, path: Path) -> Mapping[str, Any]:
        found = (parquet.read_schema(path).metadata or {}).get(_HEAD.encode())
        return {} if found is None else dict(json.loads(found))

    def rows(self, path: Path) -> Iterator[dict[str, Any]]:
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(4_096):
                yield from batch.to_pylist()


class _ParquetFile(TableFile):
    def __init__(self, path: Path, schema: pa.Schema, head: Mapping[str, Any] | None) -> None:
        super().__init__(path)
        if head is not None:
            schema = schema.with_metadata({_HEAD: json.dumps(head)})
        self._schema = schema
        self._waiting: list[pa.Table] = []
        self._writer = parquet.ParquetWriter(
            self.part, schema, compression="zstd", dictionary_pagesize_limit=_DICTIONARY
        )

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table.replace_schema_metadata(self._schema.metadata))
        if sum(one.num_rows for one in self._waiting) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=_GROUP)
            self._waiting = []

    def finish(self) -> None:
        self._flush()
        self._writer.close()


class JsonLines(FileFormat):
    """An object on each line; bytes are in base64."""

    suffix = "jsonl"

    def start(self, path: Path, schema: pa.Schema, head: Mapping[str, Any] | None) -> TableFile:
        return _JsonFile(path, head)

    def head(self, path: Path) -> Mapping[str, Any]:
        with path.open(encoding="utf-8") as file:
            return dict(json.loads(file.readline()).get(_HEAD, {}))

    def rows(self, path: Path) -> Iterator[dict[str, Any]]:
        with path.open(encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if _HEAD not in row:
                    for name in BYTES & row.keys():
                        row[name] = base64.b64decode(row[name])
                    if "features" in row:
                        row["features"] = [base64.b64decode(one) for one in row["features"]]
                    yield row


class _JsonFile(TableFile):
    def __init__(self, path: Path, head: Mapping[str, Any] | None) -> None:
        super().__init__(path)
        self._file = self.part.open("w", encoding="utf-8")
        if head is not None:
            self._file.write(json.dumps({_HEAD: head}) + "\n")

    def write(self, table: pa.Table) -> None:
        for batch in table.to_batches(4_096):
            for row in batch.to_pylist():
                plain = {name: value for name, value in row.items() if value is not None}
                self._file.write(json.dumps(plain, ensure_ascii=False, default=_base64) + "\n")

    def finish(self) -> None:
        self._file.close()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
