"""Data sets that are generated, for trying things out: no download, the same on every machine.

`synthetic_model.py` says how. The shape of `synthetic` was rounded from a fit of aggregate curves
(likes by item rank, likes by user rank, leading singular values) to the 1,000 most active users of
MovieLens 1M. That of `synthetic-music` was chosen by hand until published results on Yahoo! Music
came out, without having seen the data. Nothing else of either is included;
`docs/explanation/synthetic.md` compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.data.synthetic_model import ModelParameters, SyntheticModel
from faircascade.errors import ParameterError
from faircascade.registry import register

MOVIES = ModelParameters(
    popularity_depth=7.3,  # a factor of 1,500
    popularity_bend=0.45,
    activity_floor=0.6,
    activity_tail=1.1,
    taste_strength=0.95,
    taste_decay=0.4,
    taste_breadth=0.1,
    max_density=0.2,
    most_liked=0.5,
    liked_share=0.57,
    least_rated=0.0,
    two_genres=True,
    supplier="supplier",
    items_per_supplier=14,
    supplier_tail=2.5,
)
"""A long tail of items, of which a user has seen a few."""

MUSIC = ModelParameters(
    popularity_depth=0.6,  # a factor of 1.8
    popularity_bend=1.0,
    activity_floor=0.2,
    activity_tail=0.5,
    taste_strength=0.55,
    taste_decay=0.4,
    taste_breadth=0.0,
    max_density=0.5,
    most_liked=0.9,
    liked_share=0.5,
    least_rated=0.95,
    two_genres=False,
    supplier="artist",
    items_per_supplier=4,
    supplier_tail=1.5,
)
"""Only hits, which everybody knows and about half of the users like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Dataset):
    """Ratings (1 to 5) drawn from a model of some shape."""

    users: int = 1000
    """How many users, >= 2."""
    items: int
    """How many items, >= 4."""
    density: float
    """Share of all (user, item) pairs that are likes."""
    seed: int = 0
    """Another seed is another model of the same kind, >= 0."""

    shape: ClassVar[ModelParameters]
    notes: ClassVar[tuple[str, ...]] = ()
    licence: ClassVar[str] = "part of this package; free to use"

    def __post_init__(self) -> None:
        for name, least in (("users", 2), ("items", 4), ("seed", 0)):
            value = getattr(self, name)
            if value < least:
                raise ParameterError(name, f"must be at least {least}", value)
        if not 0 < self.density <= self.shape.max_density:
            raise ParameterError(
                "density", f"must be above 0 and at most {self.shape.max_density}", self.density
            )

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Generate the ratings, those of each user in the order of the items."""
        if path is not None:
            raise DataError(f"{self.name} is generated: it takes no path, got {str(path)!r}")
        model = SyntheticModel.of(
            self.shape,
            self.name,
            users=self.users,
            items=self.items,
            density=self.density,
            seed=self.seed,
        )
        users, items, ratings = [], [], []
        for user, (row, stars) in enumerate(model.rated(progress)):
            users.append(np.full(len(row), user, dtype=np.int32))
            items.append(row.astype(np.int32))
            ratings.append(stars)
        return Ratings(
            name=self.name,
            user_ids=model.user_ids,
            item_ids=model.item_ids,
            users=np.concatenate(users),
            items=np.concatenate(items),
            ratings=np.concatenate(ratings),
            bounds=(1.0, 5.0),
            item_groups={"genre": model.genres(), "supplier": model.suppliers()},
            notes=self.notes,
        )


@register("synthetic")
@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic(Generated):
    """Generated ratings (1 to 5) that resemble the most active users of MovieLens 1M."""

    items: int = 2800
    """How many items, >= 4; some may be left without a rating where there are few users."""
    density: float = 0.1
    """Share of all (user, item) pairs that are likes, in (0, 0.2]; no user has fewer than 2 likes
    or more than half of the items."""

    shape: ClassVar[ModelParameters] = MOVIES
    summary: ClassVar[str] = "generated; by default about 490,000 ratings of 2,800 items"


@register("synthetic-music")
@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticMusic(Generated):
    """Generated ratings (1 to 5) of hits that everybody knows: merit varies little.

    The regime of the paper's Yahoo! Music sample, guessed from published results alone.
    """

    items: int = 1000
    """How many songs, >= 4; few users can leave one without a like."""
    density: float = 0.45
    """Share of all (user, song) pairs that are likes, in (0, 0.5]; no user has fewer than 2 likes
    or more than nine songs in ten."""

    shape: ClassVar[ModelParameters] = MUSIC
    summary: ClassVar[str] = "generated, no Yahoo! data; about 970,000 ratings of 1,000 songs"
    notes: ClassVar[tuple[str, ...]] = (
        "generated: nothing of Yahoo! Music is in it, and results on it are none on Yahoo! Music",
    )
