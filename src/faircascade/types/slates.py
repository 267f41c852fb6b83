"""What is shown to users, and what they did with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.types.arrays import Bools, Floats, Ids, Ints, Rows
from faircascade.types.items import Items


@dataclass(frozen=True, kw_only=True, eq=False)
class Slates:
    """Slates for several users, best item first."""

    items: Ints
    """Item rows, (n, K)."""
    scores: Floats
    """Their scores, (n, K)."""
    explored: Bools | None = None
    """Whether logged randomisation drew a position of each, (n,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Feedback:
    """What users did with the slates they were shown."""

    items: Ids
    """Ids of the items, best first, (n, K). Rows would not outlive a change of the catalogue."""
    features: Floats
    """Their feature rows as they were shown, (n, K, d)."""
    clicks: Bools
    """Which positions were clicked, (n, K)."""
    shown: Ints
    """How many positions were on the screen, counted from the top, (n,)."""
    topics: Floats
    """How far they cover each topic, (n, K, t)."""
    values: Floats | None = None
    """What each position is worth in place of 1 for a click, in [0, 1], (n, K). A position that was
    clicked, or is worth something, counts as clicked. None: clicks are worth 1."""

    @classmethod
    def of(cls, items: Items, slates: Ints, clicks: Bools) -> Feedback:
        """Return feedback on slates of catalogue rows (n, K), all of which were on the screen."""
        n, k = slates.shape
        return cls(
            items=items.ids[slates],
            features=items.features[slates],
            clicks=clicks,
            shown=np.full(n, k),
            topics=items.topics[slates],
        )

    def __len__(self) -> int:
        return len(self.shown)

    def __getitem__(self, rows: Rows) -> Feedback:
        return Feedback(
            items=self.items[rows],
            features=self.features[rows],
            clicks=self.clicks[rows],
            shown=self.shown[rows],
            topics=self.topics[rows],
            values=None if self.values is None else self.values[rows],
        )

    @property
    def engaged(self) -> Bools:
        """Which positions were clicked, or are worth something, (n, K)."""
        return self.clicks if self.values is None else self.clicks | (self.values > 0)


@dataclass(frozen=True, kw_only=True)
class SlatePropensities:
    """How likely a slate was when it was chosen."""

    slate: float
    """As a whole."""
    cascade: tuple[float, ...]
    """Its items down to each position, in this order, (K,)."""
    item_position: tuple[float, ...] | None = None
    """Each item at its position, whatever stands elsewhere, (K,); None if that is not known."""

    @classmethod
    def of(
        cls, slate: float, cascade: Sequence[float], item_position: Sequence[float] | None
    ) -> SlatePropensities:
        """Return propensities from lists of any kind."""
        single = None if item_position is None else tuple(item_position)
        return cls(slate=slate, cascade=tuple(cascade), item_position=single)


@dataclass(frozen=True, kw_only=True, eq=False)
class Slate:
    """One slate shown to one user online, with the features that it showed."""

    slate_id: str
    user: str
    items: tuple[str, ...]
    """Item ids, best first."""
    scores: tuple[float, ...]
    features: Floats
    """Feature rows as shown, (K, d)."""
    topics: Floats
    """How far they cover each topic, as shown, (K, t)."""
    round: int
    """How many slates this user has had, this one included."""
    propensities: SlatePropensities | None = None
    """How likely it was; None if nothing was drawn, or that is not known exactly."""
    explored: bool = False
    """Whether logged randomisation drew a position of it."""

    def __len__(self) -> int:
        return len(self.items)

    def to_dict(self) -> dict[str, Any]:
        """Return the slate as plain data, to be kept until its feedback comes."""
        arrays = {name: getattr(self, name).tolist() for name in ("features", "topics")}
        return {**asdict(self), **arrays}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Slate:
        """Return the slate that `to_dict` described."""
        try:
            tuples = {name: tuple(plain[name]) for name in ("items", "scores")}
            arrays = {n: np.array(plain[n], dtype=np.float64) for n in ("features", "topics")}
            known = plain.get("propensities")
            if known is not None:
                known = SlatePropensities.of(**known)
            return cls(**{**plain, **tuples, **arrays, "propensities": known})
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ParameterError("slate", "must be what Slate.to_dict returned", plain) from None

    def __repr__(self) -> str:
        return f"Slate({self.slate_id!r}, user={self.user!r}, items={list(self.items)})"
