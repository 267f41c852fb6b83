"""Where a service gets its first items: a file, a ranker, or the demo."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from faircascade.data.base import DataError
from faircascade.ranker import Ranker
from faircascade.service.catalogue.item_file import check_is_file
from faircascade.service.catalogue.item_table import check_ids, read_items
from faircascade.service.messages import ItemChange
from faircascade.types import Floats, Ints, Items


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceContents:
    """The contents of a source."""

    items: Sequence[ItemChange]
    dim: int
    """Features of an item."""
    topics: int = 0
    """Topics of an item."""
    users: Sequence[str] = ()
    sums: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """What was learned of the users, (n, s)."""
    rounds: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Slates the users have had, (n,)."""
    notes: Sequence[str] = ()
    """How it was read."""


class Source(ABC):
    """Something with items in it."""

    kind: ClassVar[str]
    """Name under which a store remembers the last source."""
    label: str

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Text that changes with the contents."""

    @abstractmethod
    def contents(self) -> SourceContents:
        """Read it."""


class ItemsFile(Source):
    """A table of items."""

    kind = "items"

    def __init__(
        self,
        path: str | Path,
        features: str | None = None,
        topics: str | None = None,
        attributes: str | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        self.features = features
        self.topics = topics
        self.attributes = attributes
        self.label = str(path)

    @cached_property
    def fingerprint(self) -> str:
        check_is_file(self.path)
        features = f" {self.features}" if self.features else ""
        topics = f" topics {self.topics}" if self.topics else ""
        attributes = f" attributes {self.attributes}" if self.attributes else ""
        return _digest(self.path) + features + topics + attributes

    def contents(self) -> SourceContents:
        table = read_items(self.path, self.features, self.topics, self.attributes)
        return SourceContents(
            items=table.items, dim=table.dim, topics=table.topics, notes=table.notes
        )


class RankerFile(Source):
    """A saved ranker: its items and what it learned of its users."""

    kind = "ranker"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()
        self.label = str(path)

    @cached_property
    def fingerprint(self) -> str:
        return _digest(self.path)

    @cached_property
    def ranker(self) -> Ranker:
        """The ranker as it was saved."""
        return Ranker.load(self.path)

    def contents(self) -> SourceContents:
        ranker = self.ranker
        sums, rounds = ranker.sums()
        items, left_out = recommendable(ranker.items)
        check_ids([item.item for item in items], lambda row: f"{self.label}: item {row}")
        notes = [f"{left_out:,} items that cannot be recommended were left out"] if left_out else []
        if ranker.policy.ledger_scope is not None:
            notes.append("accounts of exposure start anew")
        return SourceContents(
            items=items,
            dim=ranker.items.dim,
            topics=ranker.items.topics.shape[1],
            users=ranker.users,
            sums=sums,
            rounds=rounds,
            notes=notes,
        )


def recommendable(items: Items) -> tuple[list[ItemChange], int]:
    """Return a catalogue's items as changes, and how many of it can never be recommended."""
    labels = {
        "supplier": items.groups.get("supplier"),
        "group": next((items.groups[c] for c in items.groups if c != "supplier"), None),
    }
    changes = [
        ItemChange(
            item=str(items.ids[row]),
            features=items.features[row],
            merit=float(items.merit[row]),
            popularity=float(items.popularity[row]),
            topics=items.topics[row],
            group=_label(labels["group"], row),
            supplier=_label(labels["supplier"], row),
        )
        for row in np.flatnonzero(items.eligible).tolist()
    ]
    return changes, len(items) - len(changes)


def _label(column: Any, row: int) -> str | None:
    return None if column is None else str(column[row])


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
