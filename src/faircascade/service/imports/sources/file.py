"""A file of JSON lines, or standard input."""

from __future__ import annotations

import asyncio
import glob
import io
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faircascade.errors import ParameterError
from faircascade.service.imports.events import Record, Refusal, is_object
from faircascade.service.imports.sources.base import EventSource, SourceOptions
from faircascade.service.imports.sources.lines import LONGEST_LINE, Damaged, Line, LineReader, Pipe
from faircascade.service.imports.sources.position import Position, PositionFile
from faircascade.service.imports.sources.registry import FILE, register_source

log = logging.getLogger(__name__)

STDIN = "-"
WAIT_SECONDS = 0.2
"""Seconds between two looks at a file that is followed."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The end of a line in one of the files that had the name."""

    reader: LineReader
    end: int
    number: int


@register_source(FILE)
class FileSource(EventSource):
    """Lines in order; the position is kept in a file of its own."""

    address_form = "FILE"

    def __init__(self, path: Path | None, options: SourceOptions) -> None:
        """Read a file, or standard input without a path."""
        self.path = path
        self.name = STDIN if path is None else str(path)
        self.endless = bool(options.follow)
        self.refused_file = Path("refused.jsonl") if path is None else _beside(path, ".refused")
        state = options.state or (None if path is None else _beside(path, ".imported"))
        self.before = 0
        """Lines that were imported by earlier runs."""
        self._to = options.to
        self._positions = None if state is None else PositionFile(state)
        self._reader: LineReader | None = None
        self._ended = False

    @classmethod
    def from_address(cls, address: str, options: SourceOptions) -> FileSource:
        if address == STDIN:
            if options.follow:
                raise ValueError("--follow is for files; standard input is read to its end")
            return cls(None, options)
        path = Path(address.removeprefix(f"{FILE}://"))
        if path.is_dir():
            raise ParameterError("SOURCE", "must be a file of JSON lines, not a folder", address)
        if not path.exists():
            raise ParameterError("SOURCE", "must be a file that exists, or an address", address)
        return cls(path, options)

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        if self._positions is not None:
            self._positions.claim()
        self._reader = LineReader(self._file())
        kept = None if self._positions is None else self._positions.load()
        if kept is not None:
            self._go_on(kept)

    def _file(self) -> io.FileIO:
        if self.path is None:
            return Pipe(sys.stdin.fileno(), WAIT_SECONDS)
        return io.FileIO(self.path)

    def _go_on(self, kept: Position) -> None:
        """Find the place up to which earlier runs came."""
        assert self._positions is not None
        assert self._reader is not None
        state = self._positions.path
        if kept.to != self._to:
            raise ValueError(
                f"{self.name} was imported into {kept.to}, not {self._to}, up to line "
                f"{kept.lines:,}; name another --state to import it there from the beginning, or "
                f'change "to" in {state} if that is the same service'
            )
        self.before = kept.lines
        if _skip(self._reader, kept) or (self.endless and self._goes_on_in_rotated(kept)):
            return
        raise ValueError(
            f"{self.name} is not the file that was imported up to line {kept.lines:,}; to import "
            f"it from the beginning, remove {state} or name another --state"
        )

    def _goes_on_in_rotated(self, kept: Position) -> bool:
        """Begin with a file that had the name when the position was kept, and has another now."""
        assert self.path is not None
        for path in self._rotated("?*"):
            reader = LineReader(io.FileIO(path))
            if _skip(reader, kept) and not reader.compressed:
                assert self._reader is not None
                self._reader.file.close()
                self._reader = reader
                return True
            reader.file.close()
        return False

    def _rotated(self, ending: str) -> list[Path]:
        """Return files that may have had the name, by what their names have after it."""
        assert self.path is not None
        own = {self.path, self.refused_file, self._positions and self._positions.path}
        found = sorted(self.path.parent.glob(glob.escape(self.path.name) + ending))
        return [path for path in found if path not in own and path.is_file()]

    async def read(self, most: int) -> Sequence[Record] | None:
        return await asyncio.to_thread(self._read, most)

    def _read(self, most: int) -> Sequence[Record] | None:
        records: list[Record] = []
        while len(records) < most and not self._ended:
            assert self._reader is not None
            reader = self._reader
            try:
                line = reader.next() or self._at_end()
            except Damaged as error:
                if records:  # they are whole; the next call meets the damage again
                    return records
                after = f"after line {reader.number:,}"
                raise ValueError(f"{self.name} is damaged {after}: {error}") from None
            if line is None:
                break
            if line.text.strip():
                records.append(self._record(line, reader))
        return None if self._ended and not records else records

    def _record(self, line: Line, reader: LineReader) -> Record:
        fault = f"it is longer than {LONGEST_LINE:,} bytes" if line.too_long else ""
        place = _Place(reader, line.end, line.number)
        return Record(line.text, f"{self.name}:{line.number}", place, fault)

    def _at_end(self) -> Line | None:
        """Return a last line without an end, or wait a moment for more."""
        assert self._reader is not None
        file = self._reader.file
        if isinstance(file, Pipe) and not file.ended:
            return None
        if not self.endless:
            self._ended = True
            return self._last()
        if self._reader.compressed:
            raise ValueError(
                f"{self.name} is compressed, which cannot be followed; leave out --follow"
            )
        if os.fstat(file.fileno()).st_size < self._reader.position:
            raise ValueError(
                f"{self.name} became shorter than what was imported of it; lines may be lost. "
                "Let it be rotated by renaming, or remove the file of its position"
            )
        if (following := self._next_file()) is not None:
            return self._reader.next() or self._turn_to(following)
        time.sleep(WAIT_SECONDS)
        return None

    def _last(self) -> Line | None:
        """Return a last line without an end, unless it is half of one that is being written."""
        assert self._reader is not None
        line = self._reader.last()
        if line is None or self.path is None or self._reader.compressed or is_object(line.text):
            return line
        log.warning("line %d of %s is not whole; it is left for later", line.number, self.name)
        return None

    def _next_file(self) -> io.FileIO | None:
        """Return the file that was begun after this one, as by a rotation of logs; None until the
        one with the name holds something, because till then this one may be written to."""
        assert self.path is not None
        assert self._reader is not None
        mine = os.fstat(self._reader.file.fileno())
        try:
            now = self.path.stat()
            if not now.st_size or os.path.samestat(now, mine):
                return None
            rotated = [(path.stat(), path) for path in self._rotated("[.-][0-9]*")]
            later = [
                (stat.st_mtime_ns, path)
                for stat, path in rotated
                if stat.st_mtime_ns > mine.st_mtime_ns and not os.path.samestat(stat, mine)
            ]
            return io.FileIO(min(later)[1] if later else self.path)
        except FileNotFoundError:  # they are being renamed; the next look finds them
            return None

    def _turn_to(self, following: io.FileIO) -> Line | None:
        """Go on with another file, after what is left of the old one."""
        assert self._reader is not None
        last = self._reader.last()
        self._reader.file.close()
        self._reader = LineReader(following)
        return last

    async def commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        if self._positions is None or not records:
            return
        place: _Place = records[-1].position
        size, digest = place.reader.head(place.end)
        position = Position(
            source=self.name,
            to=self._to,
            position=place.end,
            lines=place.number,
            head=size,
            digest=digest,
        )
        await asyncio.to_thread(self._positions.save, position)

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.file.close()
        if self._positions is not None:
            self._positions.release()

    def share(self) -> float | None:
        if self.endless or self.path is None or self._reader is None or self._reader.file.closed:
            return None
        size = os.fstat(self._reader.file.fileno()).st_size
        return self._reader.file.tell() / size if size else None


def _skip(reader: LineReader, kept: Position) -> bool:
    return reader.skip(kept.position, kept.lines, kept.head, kept.digest)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
