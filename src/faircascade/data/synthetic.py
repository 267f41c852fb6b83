"""Ratings that are generated, for trying things out: no download, the same on every machine.

Every user has an *appetite* for every item, exp(popularity + taste), and the items run a race:
item i arrives at an Exp(1) draw divided by the user's appetite for it. The user likes as many of
the first to arrive as the user is active, and rates some more that come after them. Likes are
therefore draws without replacement with probabilities proportional to appetite; the number of
them is exact, and no item can be liked by more than all.

The constants below were rounded from a fit of aggregate curves (likes by item rank, likes by
user rank, leading singular values) to the 1,000 most active users of MovieLens 1M. Nothing else
of that data is in here; `docs/explanation/synthetic.md` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.random import Words, draws, normals, uniform, uniforms
from faircascade.registry import register

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POPULARITY_DEPTH = 7.3
"""Log-appetite lost from the most popular item to the least: 7.3 is a factor of 1,500."""
POPULARITY_BEND = 0.45
"""The loss grows as (rank / items) to this power: fast at the head, slowly in the tail."""
ACTIVITY_FLOOR = 0.6
"""Likes of the least active user over those of the mean user."""
ACTIVITY_TAIL = 1.1
"""What exceeds the floor is an exponential draw to this power; 1 would be exponential."""
TASTES = 32
"""Independent directions in which users differ."""
TASTE_STRENGTH = 0.95
"""Standard deviation of log-appetite along the first direction."""
TASTE_DECAY = 0.4
"""Direction j is weaker by exp(-decay * sqrt(j - 1))."""
TASTE_BREADTH = 0.1
"""(rank / items) to this power scales an item's tastes: what is popular divides users less."""

LIKED_SHARE = 0.57
"""Share of a user's ratings that are likes, 4 or 5."""
SHARE_OF_5 = 0.4
"""Share of the likes that are a 5."""
SHARE_OF_3, SHARE_OF_2 = 0.6, 0.25
"""Shares of the other ratings that are a 3 and a 2; the rest are a 1."""

GENRES = ("Ember", "Harbour", "Lantern", "Meadow", "Orbit", "Quarry", "Thicket", "Velvet")
"""One for each of the leading tastes: an item belongs where its loading is the highest."""
GENRE_LEAN = 0.12
"""Each genre is picked with a loading this much higher than the one before, so it is smaller."""
GENRE_ALSO = 0.8
"""An item whose second highest loading is above this has that genre too."""
ITEMS_PER_SUPPLIER = 14
"""On average; there are that many times fewer suppliers than items."""
SUPPLIER_TAIL = 2.5
"""Supplier number = suppliers * uniform to this power: a few suppliers have most items."""

MAX_DENSITY = 0.2
_CELLS_AT_ONCE = 1 << 18
_EXACT = 2.0**16  # sums of products of multiples of 1/this are exact in any order


@register("synthetic")
@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic(Dataset):
    """Generated ratings (1 to 5) that resemble the most active users of MovieLens 1M."""

    users: int = 1000
    """How many users, >= 2."""
    items: int = 2800
    """How many items, >= 4; some may be left without a rating where there are few users."""
    density: float = 0.1
    """Share of all (user, item) pairs that are likes, in (0, 0.2]; no user has fewer than 2 likes
    or more than half of the items."""
    seed: int = 0
    """Another seed is another world of the same kind, >= 0."""

    summary: ClassVar[str] = "generated; by default about 490,000 ratings of 2,800 items"
    licence: ClassVar[str] = "part of this package; free to use"

    def __post_init__(self) -> None:
        for name, least in (("users", 2), ("items", 4), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral):
                raise TypeError(f"{name} must be a whole number, got {value!r}")
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if not 0 < self.density <= MAX_DENSITY:
            raise ValueError(
                f"density must be above 0 and at most {MAX_DENSITY}, got {self.density}"
            )

    def load(self, path: Path | None = None, progress: Progress | None = None) -> Ratings:
        """Generate the ratings, those of each user in the order of the items."""
        if path is not None:
            raise DataError(f"{self.name} is generated: it takes no path, got {str(path)!r}")
        world = _World.of(self)
        users, items, ratings = [], [], []
        for user, (row, stars) in enumerate(world.rated(progress)):
            users.append(np.full(len(row), user, dtype=np.int32))
            items.append(row.astype(np.int32))
            ratings.append(stars)
        return Ratings(
            name=self.name,
            user_ids=world.user_ids,
            item_ids=world.item_ids,
            users=np.concatenate(users),
            items=np.concatenate(items),
            ratings=np.concatenate(ratings),
            item_groups={
                "genre": _genres(world.item_tastes),
                "supplier": _suppliers(self.seed, world.item_ids),
            },
        )


@dataclass(frozen=True, slots=True)
class _World:
    """What decides the ratings before chance does."""

    seed: int
    user_ids: Ints  # (n,), from 1
    item_ids: Ints  # (m,), from 1
    likes: Ints  # (n,), how many items each user likes
    popularity: Floats  # (m,), logarithm
    user_tastes: Floats  # (n, TASTES), scaled by the strength of each taste
    item_tastes: Floats  # (m, TASTES), scaled by how far the item divides users

    @classmethod
    def of(cls, data: Synthetic) -> _World:
        user_ids = np.arange(1, data.users + 1, dtype=np.int64)
        item_ids = np.arange(1, data.items + 1, dtype=np.int64)
        rank = _quantiles(draws(data.seed, "synthetic/popularity", item_ids))  # (m,)
        strength = TASTE_STRENGTH * np.exp(-TASTE_DECAY * np.sqrt(np.arange(TASTES)))
        breadth: Floats = rank[:, None] ** TASTE_BREADTH  # (m, 1)
        return cls(
            seed=data.seed,
            user_ids=user_ids,
            item_ids=item_ids,
            likes=_likes(data, user_ids),
            popularity=-POPULARITY_DEPTH * rank**POPULARITY_BEND,
            user_tastes=_tastes(data.seed, "synthetic/user", user_ids, strength),
            item_tastes=_tastes(data.seed, "synthetic/item", item_ids, breadth),
        )

    def rated(self, progress: Progress | None) -> Iterator[tuple[Ints, NDArray[np.float32]]]:
        """Yield the rows of the items that each user rated, ascending, and the ratings."""
        n, m = len(self.user_ids), len(self.item_ids)
        block = max(1, _CELLS_AT_ONCE // m)
        for start in range(0, n, block):
            arrivals = self._arrivals(slice(start, start + block))
            for arrival, likes in zip(arrivals, self.likes[start:], strict=False):
                yield _rate(arrival, int(likes))
            if progress is not None:
                progress("generating ratings", min(start + block, n), n)

    def _arrivals(self, rows: slice) -> Floats:
        """Return when each item arrives at each user, (rows, m)."""
        appetite = self.user_tastes[rows] @ self.item_tastes.T + self.popularity  # logarithm
        chance = uniforms(
            self.seed, "synthetic/arrival", self.user_ids[rows, None], self.item_ids[None, :]
        )
        arrivals: Floats = -np.log1p(-chance) * np.exp(-appetite)
        return arrivals


def _tastes(seed: int, purpose: str, ids: Ints, scale: Floats) -> Floats:
    """Draw a taste vector for each id, rounded so that every BLAS sums products alike."""
    tastes = normals(seed, purpose, TASTES, ids) * scale
    rounded: Floats = np.rint(tastes * _EXACT) / _EXACT
    return rounded  # (n, TASTES)


def _quantiles(lots: Words) -> Floats:
    """Spread ranks over (0, 1) in the order of the lots: a sample without luck, (n,)."""
    rank = np.empty(len(lots))
    rank[np.argsort(lots, kind="stable")] = np.arange(len(lots))
    return (rank + 0.5) / len(lots)


def _likes(data: Synthetic, user_ids: Ints) -> Ints:
    """Return how many items each user likes, (n,)."""
    rank = _quantiles(draws(data.seed, "synthetic/activity", user_ids))
    excess = (-np.log(rank)) ** ACTIVITY_TAIL
    activity = ACTIVITY_FLOOR + (1 - ACTIVITY_FLOOR) * excess / excess.mean()  # mean 1
    wanted = np.rint(activity * data.density * data.items).astype(np.int64)
    likes: Ints = np.clip(wanted, 2, data.items // 2)
    return likes


def _rate(arrival: Floats, likes: int) -> tuple[Ints, NDArray[np.float32]]:
    """Rate the first items to arrive: the earlier, the better."""
    rated = min(round(likes / LIKED_SHARE), len(arrival))
    first = np.argpartition(arrival, rated - 1)[:rated]
    first = first[np.argsort(arrival[first], kind="stable")]
    others = rated - likes
    last_places = (
        round(SHARE_OF_5 * likes),
        likes,
        likes + round(SHARE_OF_3 * others),
        likes + round((SHARE_OF_3 + SHARE_OF_2) * others),
    )
    stars = 5 - np.searchsorted(last_places, np.arange(rated), side="right")
    by_item = np.argsort(first, kind="stable")
    return first[by_item], stars[by_item].astype(np.float32)


def _genres(item_tastes: Floats) -> NDArray[np.str_]:
    """Return the genre or two genres of each item, joined by `|`, (m,)."""
    n_genres = len(GENRES)
    loading = item_tastes[:, :n_genres] - GENRE_LEAN * np.arange(n_genres)
    best, second = np.argsort(-loading, axis=1, kind="stable")[:, :2].T
    both = np.take_along_axis(loading, second[:, None], axis=1)[:, 0] > GENRE_ALSO
    return np.array(
        [
            f"{GENRES[a]}|{GENRES[b]}" if also else GENRES[a]
            for a, b, also in zip(best, second, both, strict=True)
        ]
    )


def _suppliers(seed: int, item_ids: Ints) -> NDArray[np.str_]:
    """Return the supplier of each item, (m,)."""
    n_suppliers = -(-len(item_ids) // ITEMS_PER_SUPPLIER)
    chance = uniform(draws(seed, "synthetic/supplier", item_ids))
    number = 1 + np.floor(n_suppliers * chance**SUPPLIER_TAIL).astype(np.int64)
    width = len(str(n_suppliers))
    return np.array([f"supplier-{s:0{width}d}" for s in number])
