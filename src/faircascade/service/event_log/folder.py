"""The folder of an event log.

`impressions-NUMBER.parquet` has a row for each slate whose outcome is known,
`journal/NUMBER.parquet` a record of everything that changed, in order. A file appears under its
name when it is whole. What came since the last ones is in `journal/NUMBER.open`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from faircascade.errors import ParameterError
from faircascade.service.event_log.formats import FileFormat, TableFile
from faircascade.service.event_log.records import Records
from faircascade.service.event_log.rows import SCHEMA
from faircascade.service.event_log.segment import Piece, Segment, pieces_of, sync_folder

FORMAT = 2
"""Format of the journal."""
JOURNAL = "journal"
_OPEN = ".open"
_LOCK = "lock"


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far a log has come."""

    log: str
    """Which log it is: the store knows it under this name."""
    after: str
    """Cursor before what was added last."""
    cursor: str
    """Cursor after it."""
    catalogue: int
    """Version of the catalogue that it has."""


@dataclass(frozen=True, kw_only=True)
class JournalFile:
    """A file of the journal."""

    number: int
    path: Path
    head: Mapping[str, Any]
    read: Callable[[], Iterator[dict[str, Any]]]
    """Yields its records."""


class LogFolder:
    """Where one service at a time writes an event log."""

    def __init__(self, path: str | Path, *, format: str = "parquet") -> None:
        if format not in FileFormat.known:
            rule = f"must be one of {', '.join(FileFormat.known)}"
            raise ParameterError("event_log_format", rule, format)
        self.path = Path(path).expanduser()
        self.journal = self.path / JOURNAL
        self._format = FileFormat.known[format]()
        self._segment: Segment | None = None
        self._number = 0
        self._head: dict[str, Any] = {}
        self._rows = 0
        self._lock: BinaryIO | None = None

    # one writer

    def lock(self) -> bool:
        """Take the folder; False if another process has it. A process that dies gives it back."""
        import fcntl

        try:
            self.journal.mkdir(parents=True, exist_ok=True)
            file = (self.journal / _LOCK).open("ab")
        except OSError as error:
            raise ValueError(f"{self.path}: cannot be written to ({error.strerror})") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        self._lock = file
        return True

    def unlock(self) -> None:
        """Give the folder back."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def resume(self) -> Position | None:
        """Tidy up after whoever wrote last; return how far the log has come, if there is one."""
        for part in (*self.path.glob("*.part"), *self.journal.glob("*.part")):
            part.unlink()
        whole = numbered_files(self.journal)
        for number, path in _open_files(self.journal):
            if number in whole:  # killed after the last step of `rotate` but one
                path.unlink()
                continue
            if self._open(number).size:
                return _position(self._head)
            self._close()
        self._number = max(whole, default=0)
        if not whole:
            return None
        newest = whole[self._number]
        return _position(_format_of(newest).head(newest))

    def _open(self, number: int) -> Segment:
        """Open what is not in whole files yet, or begin it."""
        self._number, self._head, self._rows = number, {}, 0
        self._segment = segment = Segment(self.journal / f"{number:08}{_OPEN}")
        for piece in segment.pieces():
            self._added(piece)
        return segment

    def _added(self, piece: Piece) -> None:
        """Know what was added."""
        first = self._head or piece.head
        begins = {name: first[name] for name in ("after", "began")}
        self._head = {**piece.head, **begins, "last": piece.head["after"]}
        self._rows += piece.rows.num_rows

    def _close(self) -> None:
        """Remove what is not in whole files."""
        if self._segment is not None:
            self._segment.close()
            self._segment.path.unlink()
            sync_folder(self.journal)
            self._segment = None

    # writing

    @property
    def size(self) -> int:
        """Bytes of what is not in whole files yet."""
        return 0 if self._segment is None else self._segment.size

    @property
    def began(self) -> float | None:
        """When the first of it was added, if there is any; also by a process that is gone."""
        return self._head["began"] if self.size else None

    def append(self, piece: Piece) -> None:
        """Add a piece; it is on disk when this returns."""
        segment = self._segment or self._open(self._number + 1)
        segment.append(piece)
        self._added(piece)

    def rotate(self) -> None:
        """Write what came since the last files into whole ones."""
        segment = self._segment
        if segment is None or not segment.size:
            return
        suffix = self._format.suffix
        rows: AbstractContextManager[TableFile | None] = nullcontext()
        if self._rows:
            path = self.path / f"impressions-{self._number:08}.{suffix}"
            rows = self._format.start(path, SCHEMA, None)
        path = self.journal / f"{self._number:08}.{suffix}"
        schema = Records(self._head["dim"]).schema
        journal = self._format.start(path, schema, self._head)
        # the rows are whole first: as long as the journal is not, both are written again
        with journal as records, rows as impressions:
            for piece in segment.pieces():
                records.write(piece.records)
                if impressions is not None and piece.rows.num_rows:
                    impressions.write(piece.rows)
        self._close()

    def base(self, dim: int, head: Mapping[str, Any]) -> TableFile:
        """Begin a file with all that a store holds, from which a journal goes on."""
        self.rotate()
        self._number += 1
        path = self.journal / f"{self._number:08}.{self._format.suffix}"
        head = {**head, "base": True, "last": head["cursor"]}
        return self._format.start(path, Records(dim).schema, head)


def _position(head: Mapping[str, Any]) -> Position:
    return Position(
        log=head["log"],
        after=head["last"],
        cursor=head["cursor"],
        catalogue=head["catalogue"],
    )


def journal_files(folder: Path) -> list[JournalFile]:
    """Return the files of a journal in order, the one that still grows last."""
    journal = folder.expanduser() / JOURNAL
    if not journal.is_dir():
        raise ValueError(f"{folder}: there is no event log of a service in it")
    whole = numbered_files(journal)
    found = []
    for number, path in sorted(whole.items()):
        form = _format_of(path)
        read = _reader(form, path)
        found.append(JournalFile(number=number, path=path, head=form.head(path), read=read))
    for number, path in _open_files(journal):
        pieces = () if number in whole else tuple(piece.head for piece in pieces_of(path))
        if pieces:
            head = {**pieces[-1], "after": pieces[0]["after"]}
            read = _open_reader(path)
            found.append(JournalFile(number=number, path=path, head=head, read=read))
    return found


def _reader(form: FileFormat, path: Path) -> Callable[[], Iterator[dict[str, Any]]]:
    return lambda: form.rows(path)


def _open_reader(path: Path) -> Callable[[], Iterator[dict[str, Any]]]:
    return lambda: (row for piece in pieces_of(path) for row in piece.records.to_pylist())


def numbered_files(journal: Path) -> dict[int, Path]:
    """Return the whole files of a journal by number."""
    return {
        int(path.stem): path
        for path in journal.iterdir()
        if path.suffix[1:] in FileFormat.known and path.stem.isdigit()
    }


def _open_files(journal: Path) -> list[tuple[int, Path]]:
    return sorted((int(path.stem), path) for path in journal.glob(f"*{_OPEN}"))


def _format_of(path: Path) -> FileFormat:
    return FileFormat.known[path.suffix[1:]]()
