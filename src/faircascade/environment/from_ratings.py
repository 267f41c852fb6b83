"""Environments made of ratings."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.base import Ratings
from faircascade.data.factors import (
    Align,
    Preferences,
    item_features,
    truncated_svd,
    user_preferences,
)
from faircascade.data.load import load_dataset
from faircascade.data.prepare import (
    Sampling,
    Split,
    Threshold,
    binarise,
    resolve_threshold,
    sample_users,
    split_positives,
)
from faircascade.data.topics import topics_of
from faircascade.environment.construction import MERIT_FLOOR, check_length, given_parts
from faircascade.environment.delays import Delay
from faircascade.environment.dynamics import Dynamics
from faircascade.environment.facts import cautions
from faircascade.environment.merit import Merit, merit_name, merit_of, with_merit
from faircascade.environment.worlds import World, calibrate, find_world
from faircascade.errors import ParameterError
from faircascade.numerics import one_blas_thread
from faircascade.parameters import checked_arguments
from faircascade.types import Floats, Items, Users

if TYPE_CHECKING:
    from faircascade.environment.environment import Environment

log = logging.getLogger("faircascade")

ZeroRows = Literal["exclude", "keep"]
USERS = 1000
"""Users to sample, unless a number is given."""


class FromRatings:
    """Constructor of an `Environment` from ratings.

    Its keywords are what specs, cells and the command line take as options of an
    environment: an option is added here, and nowhere else.
    """

    info: dict[str, Any]
    if TYPE_CHECKING:  # they are what `Environment` has

        def __init__(self, *, items: Items, users: Users, k: int, **others: Any) -> None: ...

    @classmethod
    @checked_arguments
    def from_ratings(
        cls,
        ratings: Any,
        *,
        dim: int = 10,
        k: int = 10,
        seed: int = 0,
        users: int | None = None,
        sampling: Sampling = "active",
        threshold: Threshold = None,
        train_share: float = 0.5,
        world: str = "popular",
        popularity_power: float | None = None,
        click_rate: float | None = None,
        preferences: Preferences | None = None,
        align: Align = "sign",
        zero_rows: ZeroRows = "exclude",
        topics: str | None = None,
        merit: Merit | None = None,
        merit_floor: float = MERIT_FLOOR,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
    ) -> Self:
        """Sample users, binarise, split in half, take features from one half, users from the other.

        Args:
            ratings: Who rated what, such as `load_dataset("ml-1m")`, or what `load_dataset` takes:
                a data set's name, a file or a DataFrame.
            dim: Number of features, d.
            k: Length of a slate, K.
            seed: Of the sample and the split.
            users: How many users to sample, 1,000 unless given; all, if there are fewer.
            sampling: "active" takes those with the most ratings, "random" any.
            threshold: The rating from which on an item counts as liked, or a quantile of all
                ratings ("q0.7"). By default every interaction of implicit feedback and counts,
                and three quarters up the scale of ratings: 4 on 1 to 5, 8 on 1 to 10.
            train_share: Share of each user's liked items in the train half, in (0, 1).
            world: How ratings become attraction. In "popular" the items that many like attract
                more, as they do in ratings that were held out; in "paper" they do not. It decides
                what the next three are, unless they are given.
            popularity_power: From 0 (feature rows are equally long) to 1 (those of popular items
                are longer, as the factorisation makes them).
            click_rate: How often the optimal slates are clicked, in (0, 1), if users click as in a
                cascade; preferences are scaled to it. Under another `click_model` these slates
                earn something else.
            preferences: From the test half by "lstsq" on the features, or by "svd".
            align: How the factors of "svd" are matched with those of the train half: by "sign", by
                "procrustes", or not at all ("none", which depends on the machine's LAPACK).
            zero_rows: Items without features are never recommended ("exclude"), or may be ("keep").
            topics: What items are about, for policies that learn from it: a column of the items
                such as "genre", or "factors" of the likes themselves; nothing unless given.
            merit: "svd" (mean rank-`dim` relevance), "popularity" (share of users who like the
                item), "column" (given with the data; the default where there is one), an array
                with one value for each of `ratings.item_ids`, or a function of the `Split`.
            merit_floor: The least merit of an item, > 0.
            click_model: How users click, a component or its name; `cascade` unless given.
            dynamics: How users and items change by round, likewise; `still` unless given.
            delay: When feedback reaches the policy, likewise; `none` unless given.
        """
        chosen = find_world(
            world,
            popularity_power=popularity_power,
            click_rate=click_rate,
            preferences=preferences,
        )
        if merit_floor <= 0:
            raise ParameterError("merit_floor", "must be positive", merit_floor)
        if not isinstance(ratings, Ratings):
            ratings = load_dataset(ratings)
        if merit is not None and not isinstance(merit, str) and not callable(merit):
            ratings, merit = with_merit(ratings, merit), "column"
        liked_from, decided = resolve_threshold(ratings, threshold)
        sample = sample_users(ratings, USERS if users is None else users, sampling, seed)
        positives = binarise(sample, liked_from)
        if positives.n_items < k:
            rule = f"must be at most {positives.n_items} (the items with a positive)"
            raise ParameterError("k", rule, k)
        split = split_positives(positives, train_share, seed)
        with one_blas_thread():
            X, theta = _factorise(split, dim, k, chosen, align)
            worth = merit_of(split, merit, dim)
            about = topics_of(split, topics, dim)
        zero = np.asarray(~X.any(axis=1))
        env = cls(
            items=Items.of(
                X,
                ids=positives.item_ids,
                eligible=~zero if zero_rows == "exclude" else None,
                merit=np.maximum(worth, merit_floor),
                popularity=np.asarray(split.train.sum(axis=0), dtype=np.float64).ravel(),
                groups=dict(positives.item_groups),
                topics=about,
            ),
            users=Users(ids=positives.user_ids, preferences=theta),
            k=k,
            info={
                "data": ratings.name,
                "seed": seed,
                "sampling": sampling,
                "feedback": ratings.feedback,
                "threshold": liked_from,
                "train_share": train_share,
                "world": world,
                "popularity_power": chosen.popularity_power,
                "click_rate": chosen.click_rate,
                "preferences": chosen.preferences,
                "align": align,
                "zero_rows": zero_rows,
                **({} if topics is None else {"topics": topics}),
                "merit": merit_name(split, merit),
                "merit_floor": merit_floor,
                "items_with_zero_row": int(zero.sum()),
                "items_with_floored_merit": int((worth < merit_floor).sum()),
                "positives": len(positives),
                "users_without_positives": sample.n_users - positives.n_users,
                "notes": [*ratings.notes, *decided],
            },
            **given_parts(click_model=click_model, dynamics=dynamics, delay=delay),
        )
        found = cautions(cast("Environment", env), ratings, sample, chosen=users is not None)
        env.info["cautions"] = list(found)
        for caution in env.info["cautions"]:
            _warn_once(caution)
        return env


def _factorise(split: Split, dim: int, k: int, world: World, align: Align) -> tuple[Floats, Floats]:
    """Return features of items (m, d) and preferences of users (n, d), scaled as the world says."""
    svd = truncated_svd(split.train, dim, raw_signs=align == "none")
    X = item_features(split.train, svd, popularity_power=world.popularity_power)
    theta = user_preferences(split.test, svd, X, method=world.preferences, align=align)
    known = np.asarray(X.any(axis=1))
    check_length(k, known)
    if world.click_rate is not None:
        theta = calibrate(theta, X[known], k, world.click_rate)
    return X, theta


@cache
def _warn_once(caution: str) -> None:
    """Say it once, however many environments are like that."""
    log.warning("%s.", caution)
