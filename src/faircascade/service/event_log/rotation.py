"""When files of an event log are whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from faircascade.errors import ParameterError

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """The first of both."""

    seconds: float = 3600.0
    """After which what is there becomes whole files."""
    size: float = 256e6
    """Bytes of it, before they are compressed."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Return what a text such as `1h`, `256MB` or `1h,64MB` says; what it leaves out stays."""
        found: dict[str, float] = {}
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            number, unit = match.groups() if match else ("0", "")
            if float(number) > 0 and unit in _SECONDS:
                found["seconds"] = float(number) * _SECONDS[unit]
            elif float(number) > 0 and unit in _BYTES:
                found["size"] = float(number) * _BYTES[unit]
            else:
                rule = "must be a time such as 1h, a size such as 256MB, or both: 1h,256MB"
                raise ParameterError("event_log_rotate", rule, text)
        return cls(**found)

    def is_due(self, size: int, age: float) -> bool:
        """Say whether so many bytes, begun so many seconds ago, are to be a whole file."""
        return size >= self.size or age >= self.seconds
