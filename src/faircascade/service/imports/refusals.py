"""The file of what was refused: a line each, on disk before the position moves on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from faircascade.service.imports.claim import Claim, check_folder
from faircascade.service.imports.events import Record, Refusal, is_object

TAIL = 32 * 2**20
"""Bytes at the end of the file in which lines are looked for that were written before a crash."""
_BEGIN = b',"event":'
"""What stands before the event, and nowhere before that: quotes in a text are escaped."""


def refused_line(refusal: Refusal) -> bytes:
    """Return a refusal as a line of JSON, the event last."""
    fields = {"at": refusal.record.at, "status": refusal.status, "reason": refusal.reason}
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    head = text.encode(errors="backslashreplace")  # names of files may be no Unicode
    return head[:-1] + _BEGIN + event_text(refusal.record) + b"}\n"


def event_text(record: Record) -> bytes:
    """Return the text as JSON on one line: the object that it is, or a text."""
    text = record.text.strip()
    if is_object(text) and b"\n" not in text and b"\r" not in text:
        return text
    return json.dumps(text.decode(errors="replace"), ensure_ascii=False).encode()


class RefusedFile:
    """Adds a line for each refusal, once, also if the import was killed before it went on."""

    def __init__(self, path: Path) -> None:
        check_folder(path)
        self.path = path
        self._claim: Claim | None = None
        self._written: set[bytes] = set()

    def open(self) -> None:
        """Keep other imports away from it, and see what it has already."""
        self._claim = Claim(self.path, "another import writes to it; name another --refused")
        self._look_back()

    def _look_back(self) -> None:
        """Cut off half a line that a crash left, and remember the last whole ones."""
        try:
            file = self.path.open("r+b")
        except FileNotFoundError:
            return
        with file:
            size = file.seek(0, os.SEEK_END)
            begin = file.seek(max(0, size - TAIL))
            tail = file.read()
            whole = tail.rfind(b"\n") + 1
            if whole < len(tail):
                file.truncate(begin + whole)
            self._written = {_key(line) for line in tail[:whole].splitlines(keepends=True)}

    def write(self, refusals: Sequence[Refusal]) -> None:
        """Add lines, and return when they would survive a power cut."""
        lines = [line for line in map(refused_line, refusals) if _key(line) not in self._written]
        if not lines:
            return
        with self.path.open("ab") as file:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Let others write to it."""
        if self._claim is not None:
            self._claim.release()


def _key(line: bytes) -> bytes:
    """Return what is the same if the same text is refused again: where it stood, and the text."""
    head, _, event = line.partition(_BEGIN)
    return head.partition(b',"status":')[0] + event
