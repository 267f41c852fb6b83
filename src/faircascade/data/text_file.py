"""Files to be read, plain or compressed: compressed ones are told by their first bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from faircascade.data.base import DataError

CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BUFFER = 1 << 20
SUFFIXES = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file, or a member of an archive, that can be read more than once."""

    label: str
    """What error messages call it."""
    size: int
    """Uncompressed bytes; 0 if not known."""
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    compressed: bool = False

    @classmethod
    def at(cls, path: Path) -> TextFile:
        """Return the file at `path`, or what is in it if it is compressed."""
        try:
            size, codec = path.stat().st_size, _codec_of(path)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        if codec is None:
            return cls(str(path), size, lambda: path.open("rb"))
        return cls(str(path), 0, lambda: _decompressed(path, codec), compressed=True)


def _codec_of(path: Path) -> str | None:
    """Return how a file is compressed, as Arrow calls it; None if it is not."""
    with path.open("rb") as stream:
        head = stream.read(4)
    return next((codec for start, codec in CODECS.items() if head.startswith(start)), None)


@contextmanager
def _decompressed(path: Path, codec: str) -> Iterator[IO[bytes]]:
    """Open a compressed file as what is in it."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, codec) as stream:
        yield io.BufferedReader(_Decompressed(stream, f"{path}: this {codec} file"), _BUFFER)


class _Decompressed(io.RawIOBase):
    """Arrow's stream as one of Python's, which knows how far it has been read."""

    def __init__(self, stream: Any, label: str) -> None:
        self._stream, self._label, self._done = stream, label, 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._done

    def readinto(self, buffer: Any) -> int:
        try:
            read = int(self._stream.readinto(buffer))
        except OSError as error:
            reason = f"damaged, or only a part of one ({str(error)[:80]})"
            raise DataError(f"{self._label} is {reason}; fetch it again") from None
        self._done += read
        return read


def plain_suffix(path: Path) -> str:
    """Return the suffix of what is in a file, in lower case: `.csv` of `a.csv.gz`."""
    inner = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    return inner.suffix.lower()
