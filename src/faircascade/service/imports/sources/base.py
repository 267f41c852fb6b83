"""What an import needs of a source, and what it promises to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from faircascade.service.imports.events import Record, Refusal


class SourceDown(Exception):  # noqa: N818 - it says what is the matter
    """The source does not answer now; the same call may succeed later."""


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What a command says about a source besides its address."""

    to: str = ""
    """Address of the service that gets the events."""
    follow: bool | None = None
    """Wait for more at the end, or not; None is what is usual for the source."""
    state: Path | None = None
    """File that keeps the position, for sources that do not keep it themselves."""


class EventSource(ABC):
    """Gives events in order, and remembers up to which of them all are done.

    `read` and `commit` may run at the same time. After a restart, `read` begins with the first
    event that was not committed; events that were read and not committed come once more.
    """

    address_form: ClassVar[str]
    """What addresses look like, for messages: `redis://HOST/DB?stream=NAME&group=NAME`."""
    name: str
    """For messages; without passwords."""
    endless: bool = True
    """Whether it waits for more at the end."""
    refused_file: Path | None = None
    """File for what is refused, unless another is named; None: it is handed to `commit`."""
    refused_place: str = ""
    """Where `commit` brings what is refused, for messages."""

    @classmethod
    @abstractmethod
    def from_address(cls, address: str, options: SourceOptions) -> EventSource:
        """Return the source at an address, not opened yet; a `ValueError` says what is wrong."""

    @abstractmethod
    async def open(self) -> None:
        """Connect, and find the position."""

    @abstractmethod
    async def read(self, most: int) -> Sequence[Record] | None:
        """Return the next texts, none after half a second or so without any; None at the end."""

    @abstractmethod
    async def commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        """Take note that everything up to and with these records is done, durably.

        What was refused is brought to its place before, or in the same step.
        """

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""

    def share(self) -> float | None:
        """Return how much of it was read, from 0 to 1; None where nobody knows."""
        return None
