"""Everything that a store holds, read and written in pieces: what a copy is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faircascade.service.stores.base import Event, Impression, StoredItem
from faircascade.types import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemVersion:
    """An item and the version of the catalogue with which it changed last."""

    item: StoredItem
    version: int


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredUser:
    """What is known of a user, apart from impressions."""

    user: str
    sums: Floats
    """(s,)."""
    rounds: int
    account: Mapping[int, int] = field(default_factory=dict)
    """Exposure that items had with the user, in units by slot."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredCohort:
    """What users with a label have taught."""

    name: str
    slates: int
    """How many slates taught it, at least 1."""
    sums: Floats
    """(s,)."""


@dataclass(frozen=True, kw_only=True)
class ContentCounts:
    """How much a store holds."""

    items: int
    """Removed ones included."""
    users: int
    impressions: int
    events: int
    cohorts: int


class StoreContents(ABC):
    """What an open store holds, which nobody else uses meanwhile.

    Readers yield pieces of a bounded size, in any order; one that sees something twice may yield
    it twice. Writers keep things as they are, with their ids, and leave alone what is there.
    """

    @abstractmethod
    async def count(self) -> ContentCounts:
        """Count it."""

    @abstractmethod
    def meta(self) -> AsyncIterator[Mapping[str, Any]]:
        """Read JSON values by name."""

    @abstractmethod
    def items(self) -> AsyncIterator[Sequence[ItemVersion]]:
        """Read the catalogue, with removed items."""

    @abstractmethod
    def users(self) -> AsyncIterator[Sequence[StoredUser]]:
        """Read users."""

    @abstractmethod
    def cohorts(self) -> AsyncIterator[Sequence[StoredCohort]]:
        """Read cohorts."""

    @abstractmethod
    def impressions(self) -> AsyncIterator[Sequence[Impression]]:
        """Read impressions with their answers."""

    @abstractmethod
    async def add_items(self, items: Sequence[ItemVersion]) -> None:
        """Write items in their slots; the version of the catalogue is the highest of theirs."""

    @abstractmethod
    async def add_users(self, users: Sequence[StoredUser]) -> Sequence[bool]:
        """Write users; return for each whether it is new."""

    @abstractmethod
    async def add_cohorts(self, cohorts: Sequence[StoredCohort]) -> Sequence[bool]:
        """Write cohorts; return for each whether it is new."""

    @abstractmethod
    async def add_impressions(self, impressions: Sequence[Impression]) -> int:
        """Write impressions with their ids and answers; return how many are new."""

    @abstractmethod
    async def add_events(self, events: Sequence[Event]) -> None:
        """Write events after those that are there."""

    @abstractmethod
    async def clear(self) -> None:
        """Drop everything, the shape included; the store is closed next."""
