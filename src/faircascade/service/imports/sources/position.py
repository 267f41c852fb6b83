"""The position in a file that was imported: a small file of its own, replaced as a whole."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from faircascade.service.imports.claim import Claim, check_folder
from faircascade.storage import replacing, to_disk

_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Position:
    """Up to where a file was imported."""

    source: str
    to: str
    """Address of the service that acknowledged it."""
    position: int
    """Bytes, not compressed."""
    lines: int
    head: int
    """How many bytes at the beginning the digest is of."""
    digest: str


class PositionFile:
    """Keeps a position; one import at a time may use it."""

    def __init__(self, path: Path) -> None:
        check_folder(path)
        self.path = path
        self._claim: Claim | None = None

    def claim(self) -> None:
        """Keep other imports away from it."""
        self._claim = Claim(self.path, "another import is at work with this position; end it first")

    def load(self) -> Position | None:
        """Return the position, None if there is none yet."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            found = None
        try:
            if found["version"] != _VERSION:
                raise ValueError
            return Position(**{name: found[name] for name in Position.__dataclass_fields__})
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"{self.path}: not a position that this release of faircascade saved; "
                "name another --state"
            ) from None

    def save(self, position: Position) -> None:
        """Keep a position, and return when it would survive a power cut."""
        document = json.dumps({"version": _VERSION, **asdict(position)}, indent=1)
        with replacing(self.path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(f"{document}\n")
            file.flush()
            os.fsync(file.fileno())
        to_disk(self.path.parent)

    def release(self) -> None:
        """Let other imports use it."""
        if self._claim is not None:
            self._claim.release()
