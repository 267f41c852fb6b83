"""Facts about an environment that decide what policies can achieve in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faircascade.metrics.exposure import evenness
from faircascade.types import Floats, Ints, Pool

if TYPE_CHECKING:
    from faircascade.data.base import Ratings
    from faircascade.environment.environment import Environment

_USERS = 256
"""So many users are enough for a mean over users."""
_RANDOM_SLATES = 64
"""And so many random slates, shown to each of them."""
_PAIRS_AT_ONCE = 1 << 22
HEAD = 0.2
"""The head is this share of the items, the most popular ones."""

MANY_WITHOUT_FEATURES = 0.2
NEARLY_ALL_POSITIVE = 0.98
FEW_OF_THE_USERS = 0.5
HIGH_CLICK_RATE = 0.8


@dataclass(frozen=True, kw_only=True)
class EnvironmentFacts:
    """What popularity has to do with attraction, and what can be earned at best and blindly.

    Values are in the click model's terms: with the cascade, clicks per slate. They hold for the
    first round, and are means over all users, or over 256 of them.
    """

    items: int
    eligible: int
    """Items that can be recommended."""
    optimal_value: float
    """Of the optimal slates."""
    popular_value: float
    """Of the most popular items, the same slate for everybody; NaN if popularity is not known, as
    are all facts about it."""
    random_value: float
    """Of slates drawn at random."""
    popularity_correlation: float
    """Between the popularity of items and their mean attraction over users; NaN if it is not
    defined, as where all items are equally popular."""
    optimal_equality: float
    """1 - Gini over eligible items of their appearances in the optimal slates."""
    optimal_head_share: float
    """Share of the optimal slates' positions that go to the head, the 20% most popular items."""
    head_share: float
    """Share of all likes in the training data that are for the head."""

    @property
    def popular_share(self) -> float:
        """What popularity alone earns, as a share of the optimum."""
        return self.popular_value / self.optimal_value if self.optimal_value else float("nan")

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what a person should know, as names and texts."""
        yield "Items that can be recommended", f"{self.eligible:,} of {self.items:,}"
        yield "Value of the optimal slates", f"{self.optimal_value:.3f}"
        yield "Value of random slates", f"{self.random_value:.3f}"
        yield "Equality of the optimal slates", f"{self.optimal_equality:.3f}"
        if np.isnan(self.popular_value):
            return
        popular = f"{self.popular_value:.3f}, {self.popular_share:.0%} of the optimum"
        yield "Value of the most popular items", popular
        yield "Correlation of popularity and attraction", _text(self.popularity_correlation)
        yield "Optimal slates: positions for the 20% most popular", f"{self.optimal_head_share:.0%}"
        yield "Training data: likes of the 20% most popular", f"{self.head_share:.0%}"


def facts_of(env: Environment) -> EnvironmentFacts:
    """Return the facts about an environment as it is in its first round."""
    pool, optimum = env.pool_at(1), env.optimum(1)
    users = np.unique(np.linspace(0, len(env.users) - 1, _USERS).astype(np.int64))
    appearances = np.bincount(optimum.slates.reshape(-1), minlength=len(env.items))
    return EnvironmentFacts(
        items=len(env.items),
        eligible=len(pool),
        optimal_value=float(optimum.values.mean()),
        random_value=_value(env, _random_slates(env, pool), users),
        optimal_equality=evenness(appearances[pool.rows].astype(np.float64)),
        **_of_popularity(env, users, pool, appearances),
    )


def _of_popularity(
    env: Environment, users: Ints, pool: Pool, appearances: Ints
) -> dict[str, float]:
    """Return the facts that are about popularity."""
    popularity = env.items.popularity[pool.rows]
    if not popularity.any():
        names = ("popular_value", "popularity_correlation", "optimal_head_share", "head_share")
        return dict.fromkeys(names, float("nan"))
    ranked = pool.rows[np.lexsort((pool.keys, -popularity))]  # (p,)
    head = ranked[: max(1, round(HEAD * len(ranked)))]
    return {
        "popular_value": _value(env, ranked[None, : env.k], users),
        "popularity_correlation": _correlation(popularity, _mean_attraction(env, users, pool)),
        "optimal_head_share": float(appearances[head].sum() / appearances.sum()),
        "head_share": float(env.items.popularity[head].sum() / popularity.sum()),
    }


def cautions(env: Environment, ratings: Ratings, sample: Ratings, *, chosen: bool) -> Iterator[str]:
    """Yield what decides the outcome of simulations in an environment made of ratings.

    `sample` are the ratings of the users that were taken; `chosen` says that somebody asked for so
    many. Python, the command line and pages show the words, so they name no way to set an option.
    """
    name, made = ratings.name, env.info
    empty = made["items_with_zero_row"] / len(env.items)
    if empty >= MANY_WITHOUT_FEATURES:
        yield (
            f"{name}: {empty:.0%} of the items have no features, as nobody likes them in the train "
            "half; they are never recommended, but metrics count them, unless over eligible items"
        )
    liked = made["positives"] / len(sample)
    if liked >= NEARLY_ALL_POSITIVE and sample.feedback == "explicit":
        yield (
            f"{name}: {liked:.0%} of the ratings count as liked (threshold "
            f"{made['threshold']:g}), so they tell little of what users like; raise the threshold"
        )
    few = sample.n_users <= FEW_OF_THE_USERS * ratings.n_users
    if few and made["sampling"] == "active" and not chosen:
        yield (
            f"{name}: only the {sample.n_users:,} most active of {ratings.n_users:,} users are "
            "simulated; take more users, or sample them at random"
        )
    value = float(env.optimum(1).values.mean())
    if value > HIGH_CLICK_RATE and env.click_model.value_is_clicks:
        yield (
            f"{name}: optimal slates get {value:.2f} clicks, which leaves little to learn; set a "
            "lower click rate"
        )


def _value(env: Environment, slates: Ints, users: Ints) -> float:
    """Return the mean value of slates (s, K), each shown to every user."""
    shown, viewers = np.tile(slates, (len(users), 1)), np.repeat(users, len(slates))
    return float(env.click_model.value(env.attraction(shown, viewers), shown).mean())


def _random_slates(env: Environment, pool: Pool) -> Ints:
    luck = np.random.default_rng(0)
    return np.stack([luck.choice(pool.rows, env.k, replace=False) for _ in range(_RANDOM_SLATES)])


def _mean_attraction(env: Environment, users: Ints, pool: Pool) -> Floats:
    """Return the attraction of the pool's items, mean over users, (p,)."""
    total = np.zeros(len(pool))
    at_once = max(1, _PAIRS_AT_ONCE // len(pool))
    for first in range(0, len(users), at_once):
        rows = users[first : first + at_once]
        total += env.attraction_over(pool, rows, round=1).rough.sum(axis=0)
    return total / len(users)


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else float("nan")


def _text(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "not defined"
