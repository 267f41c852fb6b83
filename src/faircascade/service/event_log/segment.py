"""The end of an event log: what was added since the last whole file, synced to disk piece by piece.

A piece that was cut short by the death of the process, or never reached the disk, is dropped: the
store still has what it says.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

_FRAME = struct.Struct("<4sQI")  # mark, bytes, checksum
_PARTS = struct.Struct("<QQ")  # bytes of the head, bytes of the records
_MARK = b"FCEL"


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """What is added at a time: whole, or not at all."""

    head: Mapping[str, Any]
    """What is known of it, as a JSON object."""
    records: pa.Table
    rows: pa.Table

    def pack(self) -> bytes:
        """Return it as bytes."""
        head, records = json.dumps(self.head).encode(), _pack(self.records)
        parts = _PARTS.pack(len(head), len(records))
        return b"".join([parts, head, records, _pack(self.rows)])

    @classmethod
    def read(cls, packed: bytes) -> Piece:
        """Return what `pack` packed."""
        whole = memoryview(packed)
        head, records = _PARTS.unpack_from(whole)
        first = _PARTS.size + head
        return cls(
            head=json.loads(bytes(whole[_PARTS.size : first])),
            records=_read(whole[first : first + records]),
            rows=_read(whole[first + records :]),
        )


def _pack(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _read(packed: memoryview) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(packed)).read_all()


class Segment:
    """A file of pieces that grows."""

    def __init__(self, path: Path) -> None:
        """Open a file, without what is not whole at its end."""
        self.path = path
        self.size = sum(size for _, size in _frames(path))
        new = not path.exists()
        self._file: BinaryIO = path.open("ab", buffering=0)
        self._file.truncate(self.size)
        sync(self._file)
        if new:
            sync_folder(path.parent)

    def append(self, piece: Piece) -> None:
        """Add a piece; it is on disk when this returns."""
        packed = piece.pack()
        frame = _FRAME.pack(_MARK, len(packed), zlib.crc32(packed)) + packed
        try:
            written = 0
            while written < len(frame):
                written += self._file.write(frame[written:])
            sync(self._file)
        except OSError:
            self._file.truncate(self.size)  # the next piece must not follow half of this one
            raise
        self.size += len(frame)

    def pieces(self) -> Iterator[Piece]:
        """Yield what it holds."""
        return pieces_of(self.path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def pieces_of(path: Path) -> Iterator[Piece]:
    """Yield the whole pieces of a file."""
    for packed, _ in _frames(path):
        yield Piece.read(packed)


def _frames(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield what whole frames hold, and how many bytes each takes."""
    if not path.exists():
        return
    with path.open("rb") as file:
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            mark, length, checksum = _FRAME.unpack(head)
            if mark != _MARK:
                return
            packed = file.read(length)
            if len(packed) < length or zlib.crc32(packed) != checksum:
                return
            yield packed, _FRAME.size + length


def sync(file: Any) -> None:
    """Wait until a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
