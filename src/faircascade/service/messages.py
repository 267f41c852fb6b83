"""What is asked of the service and what it answers, whatever carries it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from faircascade.types import Floats


class Reason(Enum):
    """Why something was refused."""

    INVALID = "invalid"
    """It can never succeed as it is."""
    UNKNOWN = "unknown"
    """What it speaks of is not there, or not any more."""
    CONFLICT = "conflict"
    """It contradicts what happened before."""


class Refused(Exception):  # noqa: N818 - an answer rather than an error
    """The service will not do it; nothing changed."""

    def __init__(self, reason: Reason, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.reason = reason
        self.field = field
        """What it is about, such as `k`."""
        self.message = message
        """Reads on from the field: `must be at least 1, got 0`."""


def invalid(field: str, message: str) -> Refused:
    """Return a refusal of what can never succeed."""
    return Refused(Reason.INVALID, field, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A list is wanted."""

    user: str
    k: int = 10
    candidates: Sequence[str] | None = None
    exclude: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """A list is handed out."""

    impression_id: str
    user: str
    items: Sequence[str]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A user did something with a list, or nothing."""

    impression_id: str
    clicked_position: int | None = None
    clicked_item: str | None = None
    shown: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """An answer was learned, now or before."""

    impression_id: str
    clicked_position: int | None
    clicked_item: str | None
    shown: int
    """Positions learned from: up to and including the click."""
    repeated: bool
    """True if it had been learned before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """An item as it is to be; what is None stays as it was, an empty label is removed."""

    item: str
    features: Floats | Sequence[float]
    merit: float | None = None
    popularity: float | None = None
    group: str | None = None
    supplier: str | None = None
