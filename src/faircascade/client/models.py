"""What a client sends and gets, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RecommendationRequest:
    """A request for a slate."""

    user: str
    """Whom the slate is for; an unknown user starts cold."""
    k: int = 10
    """Length of the slate; shorter if fewer items are left."""
    candidates: Iterable[str] | None = None
    """Choose among these items only."""
    exclude: Iterable[str] = ()
    """Items to leave out."""
    where: Mapping[str, Any] | None = None
    """What items must be: `{"price": {"at_most": 20}, "tags": {"any": ["sale"]}}`."""
    at_most: Mapping[str, int] = field(default_factory=dict)
    """The most items of each supplier or group: `{"supplier": 2}`."""
    pinned: Mapping[int, str] = field(default_factory=dict)
    """Items by the position that they have, 1 for the first."""
    user_labels: Mapping[str, str] = field(default_factory=dict)
    """What the user is: `{"country": "de", "device": "phone"}`."""


@dataclass(frozen=True, slots=True)
class Impression:
    """A slate that was recommended, and so counts as shown."""

    id: str
    """To be given back with the feedback."""
    user: str
    items: tuple[str, ...]
    """Best first: position 1 is the first."""
    scores: tuple[float | None, ...]
    """What the policy ranked the items by; None for those that were pinned."""
    policy_name: str
    policy_version: str
    """Changes with any parameter of the policy."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a user did with a slate: clicks by position, one click by item, or none."""

    impression: Impression | str
    """The slate, or its id."""
    clicked: int | Iterable[int] | None = None
    """Position of the click, 1 for the first, or the positions of several."""
    clicked_item: str | None = None
    """The only clicked item, in place of its position."""
    shown: int | None = None
    """How many positions the user saw from the top, if not all."""
    values: Mapping[int, Mapping[str, float]] | None = None
    """What positions led to beyond clicks, by position: `{2: {"watch_seconds": 95}}`."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the service learned from an answer."""

    impression_id: str
    clicked_positions: tuple[int, ...]
    """Positions of the clicks, 1 for the first."""
    clicked_items: tuple[str, ...]
    """The items at these positions."""
    shown: int
    """Positions that were learned from, counted from the top."""
    values: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Values by position, as they were sent."""

    @property
    def clicked(self) -> int | None:
        """Position of the first click; None for no click."""
        return self.clicked_positions[0] if self.clicked_positions else None

    @property
    def clicked_item(self) -> str | None:
        """The item at that position."""
        return self.clicked_items[0] if self.clicked_items else None


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the catalogue."""

    id: str
    features: Sequence[float]
    """As many as the catalogue has; a row of an array will do."""
    merit: float | None = None
    """What exposure is measured against, > 0; as before, or 1, if left out."""
    group: str | None = None
    """"a|b" is a member of both groups, "" of none; as before if left out."""
    supplier: str | None = None
    """Several with a |, none with ""; as before if left out."""
    popularity: float | None = None
    """What some policies rank by, >= 0; as before, or 0, if left out."""
    topics: Sequence[float] = ()
    """How far it covers each topic, from 0 to 1: as many as the catalogue has, always given."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Text, numbers, true or false, lists of texts; None removes one, those left out stay."""


@dataclass(frozen=True, slots=True)
class CatalogueChange:
    """What a change did to the catalogue."""

    changed: int
    """Items added or replaced."""
    total: int
    """Items in the catalogue now."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the service can recommend now; true as a condition if it can."""

    ready: bool
    checks: Mapping[str, str]
    """By what was checked: "ok", or what is wrong."""

    def __bool__(self) -> bool:
        return self.ready
