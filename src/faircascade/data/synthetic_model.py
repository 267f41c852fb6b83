"""Models that generate ratings: users like what they have an appetite for.

Every user has an *appetite* for every item, exp(popularity + taste), and the items run a race:
item i arrives at an Exp(1) draw divided by the user's appetite for it. The user likes the first to
arrive, as many as the user's activity says, and rates some more that come after them. Likes are
therefore draws without replacement with probabilities proportional to appetite; their number is
exact, and no item can be liked by more than all users.

`ModelParameters` describe a kind of model; `synthetic.py` has the built-in ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import Progress
from faircascade.random import Words, draws, normals, uniform, uniforms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TASTES = 32
"""Independent directions in which users differ."""
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

_CELLS_AT_ONCE = 1 << 18
_EXACT = 2.0**16  # sums of products of multiples of 1/this are exact in any order


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParameters:
    """What kind of model it is, whatever its size, density and seed."""

    popularity_depth: float
    """Log-appetite lost from the most popular item to the least."""
    popularity_bend: float
    """The loss grows as (rank / items) to this power: below 1, fast at the head."""
    activity_floor: float
    """Likes of the least active user over those of the mean user."""
    activity_tail: float
    """What exceeds the floor is an exponential draw to this power; 1 would be exponential."""
    taste_strength: float
    """Standard deviation of log-appetite along the first direction."""
    taste_decay: float
    """Direction j is weaker by exp(-decay * sqrt(j - 1))."""
    taste_breadth: float
    """(rank / items) to this power scales an item's tastes: what is popular divides users less."""

    max_density: float
    """Largest share of all pairs that may be asked for as likes."""
    most_liked: float
    """Share of the items that nobody's likes exceed."""
    liked_share: float
    """Share of a user's ratings that are likes, 4 or 5."""
    least_rated: float
    """Share of the items that everybody rates, however few of them they like."""

    two_genres: bool
    """Whether an item can have a second genre."""
    supplier: str
    """What a supplier is called."""
    items_per_supplier: int
    """On average; there are that many times fewer suppliers than items."""
    supplier_tail: float
    """Supplier number = suppliers * uniform to this power: a few suppliers have most items."""


@dataclass(frozen=True, slots=True)
class SyntheticModel:
    """What decides the ratings, apart from chance."""

    shape: ModelParameters
    purpose: str
    """Models of another purpose share no draws."""
    seed: int
    user_ids: Ints  # (n,), from 1
    item_ids: Ints  # (m,), from 1
    likes: Ints  # (n,), how many items each user likes
    popularity: Floats  # (m,), logarithm
    user_tastes: Floats  # (n, TASTES), scaled by the strength of each taste
    item_tastes: Floats  # (m, TASTES), scaled by how far the item divides users

    @classmethod
    def of(
        cls,
        shape: ModelParameters,
        purpose: str,
        *,
        users: int,
        items: int,
        density: float,
        seed: int,
    ) -> SyntheticModel:
        """Draw who likes how much, what is popular, and tastes."""
        user_ids = np.arange(1, users + 1, dtype=np.int64)
        item_ids = np.arange(1, items + 1, dtype=np.int64)
        active = _quantiles(draws(seed, f"{purpose}/activity", user_ids))  # (n,)
        rank = _quantiles(draws(seed, f"{purpose}/popularity", item_ids))  # (m,)
        strength = shape.taste_strength * np.exp(-shape.taste_decay * np.sqrt(np.arange(TASTES)))
        breadth: Floats = rank[:, None] ** shape.taste_breadth  # (m, 1)
        return cls(
            shape=shape,
            purpose=purpose,
            seed=seed,
            user_ids=user_ids,
            item_ids=item_ids,
            likes=_likes(shape, active, items=items, density=density),
            popularity=-shape.popularity_depth * rank**shape.popularity_bend,
            user_tastes=_tastes(seed, f"{purpose}/user", user_ids, strength),
            item_tastes=_tastes(seed, f"{purpose}/item", item_ids, breadth),
        )

    def rated(self, progress: Progress | None) -> Iterator[tuple[Ints, NDArray[np.float32]]]:
        """Yield the rows of the items that each user rated, ascending, and the ratings."""
        n, m = len(self.user_ids), len(self.item_ids)
        block = max(1, _CELLS_AT_ONCE // m)
        for start in range(0, n, block):
            arrivals = self._arrivals(slice(start, start + block))
            for arrival, likes in zip(arrivals, self.likes[start:], strict=False):
                yield _rate(self.shape, arrival, int(likes))
            if progress is not None:
                progress("generating ratings", min(start + block, n), n)

    def _arrivals(self, rows: slice) -> Floats:
        """Return when each item arrives at each user, (rows, m)."""
        appetite = self.user_tastes[rows] @ self.item_tastes.T + self.popularity  # logarithm
        chance = uniforms(
            self.seed, f"{self.purpose}/arrival", self.user_ids[rows, None], self.item_ids[None, :]
        )
        arrivals: Floats = -np.log1p(-chance) * np.exp(-appetite)
        return arrivals

    def genres(self) -> NDArray[np.str_]:
        """Return the genre or two genres of each item, joined by `|`, (m,)."""
        n_genres = len(GENRES)
        loading = self.item_tastes[:, :n_genres] - GENRE_LEAN * np.arange(n_genres)
        best, second = np.argsort(-loading, axis=1, kind="stable")[:, :2].T
        both = np.take_along_axis(loading, second[:, None], axis=1)[:, 0] > GENRE_ALSO
        return np.array(
            [
                f"{GENRES[a]}|{GENRES[b]}" if also else GENRES[a]
                for a, b, also in zip(best, second, both & self.shape.two_genres, strict=True)
            ]
        )

    def suppliers(self) -> NDArray[np.str_]:
        """Return the supplier of each item, (m,)."""
        n_suppliers = -(-len(self.item_ids) // self.shape.items_per_supplier)
        chance = uniform(draws(self.seed, f"{self.purpose}/supplier", self.item_ids))
        number = 1 + np.floor(n_suppliers * chance**self.shape.supplier_tail).astype(np.int64)
        width = len(str(n_suppliers))
        return np.array([f"{self.shape.supplier}-{s:0{width}d}" for s in number])


def _tastes(seed: int, purpose: str, ids: Ints, scale: Floats) -> Floats:
    """Draw a taste vector for each id, rounded so that every BLAS sums products alike."""
    tastes = normals(seed, purpose, TASTES, ids) * scale
    rounded: Floats = np.rint(tastes * _EXACT) / _EXACT
    return rounded  # (n, TASTES)


def _quantiles(lots: Words) -> Floats:
    """Spread ranks evenly over (0, 1) in the order of the lots, (n,)."""
    rank = np.empty(len(lots))
    rank[np.argsort(lots, kind="stable")] = np.arange(len(lots))
    return (rank + 0.5) / len(lots)


def _likes(shape: ModelParameters, rank: Floats, *, items: int, density: float) -> Ints:
    """Return how many items each user likes, (n,)."""
    excess = (-np.log(rank)) ** shape.activity_tail
    floor = shape.activity_floor
    activity = floor + (1 - floor) * excess / excess.mean()  # mean 1
    wanted = np.rint(activity * density * items).astype(np.int64)
    likes: Ints = np.clip(wanted, 2, int(shape.most_liked * items))
    return likes


def _rate(shape: ModelParameters, arrival: Floats, likes: int) -> tuple[Ints, NDArray[np.float32]]:
    """Rate the first items to arrive: the earlier, the better."""
    m = len(arrival)
    rated = min(max(round(likes / shape.liked_share), round(shape.least_rated * m)), m)
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
