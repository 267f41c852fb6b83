"""Lines of a file or a pipe, plain or compressed with gzip, each with where it ends."""

from __future__ import annotations

import io
import select
import zlib
from collections import deque
from dataclasses import dataclass
from hashlib import sha256

CHUNK = 2**18
LONGEST_LINE = 8 * 2**20
"""Bytes of a line at most: a service takes no larger body."""
_SHOWN = 1000
"""Bytes that are kept of a longer line."""
_HEAD = 4096
"""Bytes at the beginning by which a file is known again."""
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"
"""What some programs put before the first line."""


class Damaged(ValueError):  # noqa: N818 - it says what is the matter
    """What is compressed cannot be read on."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, without its end."""

    text: bytes
    number: int
    """From 1."""
    end: int
    """Where the next line begins, in bytes that are not compressed."""
    too_long: bool = False


class _Gunzip:
    """Decompresses one or several members, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    def __call__(self, data: bytes) -> bytes:
        found = []
        while data:
            if self._member.eof:
                if not data.strip(b"\0"):  # padding
                    break
                self._member = zlib.decompressobj(wbits=31)
            try:
                found.append(self._member.decompress(data))
            except zlib.error as error:
                raise Damaged(str(error)) from None
            data = self._member.unused_data
        return b"".join(found)

    def finish(self) -> None:
        """Raise if something is missing at the end."""
        if not self._member.eof:
            raise Damaged("it ends in the middle of the compressed data")


class LineReader:
    """Reads lines; at the end of the file it can go on when there is more."""

    def __init__(self, file: io.FileIO | io.BytesIO) -> None:
        self.file = file
        self.position = 0
        """Bytes up to which lines were given, not compressed."""
        self.number = 0
        """Of the line that was given last."""
        self._head = b""
        self._read = 0  # bytes that came in, not compressed
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._dropped = 0  # bytes of a line that is too long
        self._unzip: _Gunzip | None = None
        self._begun = False
        self._start = b""

    @property
    def compressed(self) -> bool:
        """Known once something was read."""
        return self._unzip is not None

    @property
    def rest(self) -> int:
        """Bytes after the last whole line, which may be half a line."""
        return len(self._rest) + self._dropped

    def head(self, size: int | None = None) -> tuple[int, str]:
        """Return how many bytes at the beginning were looked at, and a hash of them."""
        head = self._head[:size]
        return len(head), sha256(head).hexdigest()

    def skip(self, position: int, number: int, size: int, digest: str) -> bool:
        """Go to a position that was reached before; False if this is another file."""
        while len(self._head) < size and self._wait():
            pass
        if self.head(size) != (size, digest):
            return False
        if not self.compressed and self.file.seekable():
            if self.file.seek(0, io.SEEK_END) < position:
                return False
            self.file.seek(position)
            self._read = position
            self._lines.clear()
            self._rest = b""
        else:
            while self._read < position:
                self._lines.clear()
                self._rest = b""
                if not self._wait():
                    return False
            text = b"".join(line + b"\n" for line in self._lines) + self._rest
            self._lines.clear()
            self._rest = b""
            self._take(text[len(text) - (self._read - position) :])
        self.position, self.number = position, number
        return True

    def next(self) -> Line | None:
        """Return the next whole line, None if there is none now."""
        while not self._lines:
            if not self._fill():
                return None
        return self._line(self._lines.popleft(), 1)

    def last(self) -> Line | None:
        """Return what stands after the last end of a line, if nothing more can come."""
        if self._unzip is not None:
            self._unzip.finish()
        if not self.rest:
            return None
        text, self._rest = self._rest, b""
        return self._line(text, 0)

    def _line(self, text: bytes, newline: int) -> Line:
        dropped, self._dropped = self._dropped, 0
        self.position += len(text) + dropped + newline
        self.number += 1
        if self.number == 1:
            text = text.removeprefix(_MARK)
        long = bool(dropped) or len(text) > LONGEST_LINE
        return Line(text[:_SHOWN] if long else text, self.number, self.position, long)

    def _wait(self) -> bool:
        """Read more, however late it comes; False at the end."""
        while not self._fill():
            if not isinstance(self.file, Pipe) or self.file.ended:
                return False
        return True

    def _fill(self) -> bool:
        """Read more; False if there is nothing now."""
        data = self.file.read(CHUNK)
        if not data:
            return False
        if not self._begun:
            data = self._start + data
            if data == _GZIP[:1]:  # a pipe may give bytes one by one
                self._start = data
                return True
            self._begun = True
            if data.startswith(_GZIP):
                self._unzip = _Gunzip()
        text = data if self._unzip is None else self._unzip(data)
        if len(self._head) < _HEAD and self._read == len(self._head):
            self._head += text[: _HEAD - len(self._head)]
        self._read += len(text)
        self._take(text)
        return True

    def _take(self, text: bytes) -> None:
        """Divide text into lines."""
        *lines, rest = text.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._lines.extend(lines)
            self._rest = rest
        else:
            self._rest += rest
        if not self._lines and len(self._rest) > LONGEST_LINE:
            self._dropped += len(self._rest) - _SHOWN
            self._rest = self._rest[:_SHOWN]


class Pipe(io.FileIO):
    """What another program writes; reading waits a moment, and no longer."""

    def __init__(self, descriptor: int, seconds: float) -> None:
        super().__init__(descriptor, "rb", closefd=False)
        self._seconds = seconds
        self.ended = False

    def seekable(self) -> bool:
        return False

    def read(self, size: int | None = -1, /) -> bytes:
        """Return what is there; nothing if nothing came for a moment, or no more will."""
        if not select.select([self], [], [], self._seconds)[0]:
            return b""
        data = super().read(size) or b""
        self.ended = not data
        return data
