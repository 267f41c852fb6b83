"""What the workers of a service know of each other: their supervisor writes it into a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_FILE = "workers.json"


@dataclass(frozen=True, slots=True)
class Workforce:
    """The processes of a service at one time."""

    supervisor: int
    """Its process id."""
    count: int
    """Workers that there should be."""
    serving: Mapping[int, int]
    """Process ids of those that take requests, by number."""
    leaving: Mapping[int, int]
    """Those that take no more, and have not ended yet."""
    restarts: int
    """How often a worker was started again."""

    @classmethod
    def read(cls, folder: str) -> Self:
        """Return what was written last."""
        told = json.loads(Path(folder, _FILE).read_text())
        serving, leaving = (
            {int(number): pid for number, pid in told[which].items()}
            for which in ("serving", "leaving")
        )
        return cls(told["supervisor"], told["count"], serving, leaving, told["restarts"])

    def write(self, folder: str) -> None:
        """Write it at once, so that nobody reads half of it."""
        told = {
            "supervisor": self.supervisor,
            "count": self.count,
            "serving": self.serving,
            "leaving": self.leaving,
            "restarts": self.restarts,
        }
        new = Path(folder, f"{_FILE}.new")
        new.write_text(json.dumps(told))
        new.replace(Path(folder, _FILE))
