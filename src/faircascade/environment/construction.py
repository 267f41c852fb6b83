"""How an environment is made: from ratings, from arrays, or from a table of attraction."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

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
from faircascade.environment.attraction import attraction_table, indicators, preferences_of
from faircascade.environment.delays import Delay
from faircascade.environment.dynamics import Dynamics
from faircascade.environment.facts import cautions
from faircascade.environment.merit import Merit, merit_name, merit_of, with_merit
from faircascade.environment.worlds import World, calibrate, find_world
from faircascade.errors import ParameterError, check_choice
from faircascade.numerics import one_blas_thread
from faircascade.parameters import checked_arguments
from faircascade.registry import Component
from faircascade.types import Bools, Floats, Ids, Items, Users, as_ids, check_finite

if TYPE_CHECKING:
    from faircascade.environment.environment import Environment

log = logging.getLogger("faircascade")

ZeroRows = Literal["exclude", "keep"]
_MERIT_FLOOR = 1e-3
"""The least merit of an item, unless it is said."""
USERS = 1000
"""Users to sample, unless a number is given."""


class Construction:
    """Constructors of `Environment`.

    The keywords of `from_ratings` are what specs, cells and the command line take as options of an
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
        merit_floor: float = _MERIT_FLOOR,
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
            **_given(click_model=click_model, dynamics=dynamics, delay=delay),
        )
        found = cautions(cast("Environment", env), ratings, sample, chosen=users is not None)
        env.info["cautions"] = list(found)
        for caution in env.info["cautions"]:
            _warn_once(caution)
        return env

    @classmethod
    @checked_arguments
    def from_arrays(
        cls,
        features: Floats,
        preferences: Floats,
        *,
        k: int = 10,
        merit: Floats | None = None,
        popularity: Floats | None = None,
        item_ids: Sequence[Any] | Ids | None = None,
        user_ids: Sequence[Any] | Ids | None = None,
        groups: dict[str, Any] | None = None,
        topics: Floats | None = None,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
        name: str = "arrays",
    ) -> Self:
        """Build an environment from feature rows (m, d) and true preferences (n, d)."""
        items = Items.of(
            features,
            ids=item_ids,
            merit=merit,
            popularity=popularity,
            groups=groups,
            topics=topics,
        )
        theta = check_finite(preferences, "preferences")
        if theta.ndim != 2 or theta.shape[1] != items.dim:
            rule = f"must be users x {items.dim} (the features)"
            raise ParameterError("preferences", rule, theta.shape)
        users = Users(ids=as_ids(user_ids, len(theta), "user"), preferences=theta)
        return cls(
            items=items,
            users=users,
            k=k,
            info={"data": name},
            **_given(click_model=click_model, dynamics=dynamics, delay=delay),
        )

    @classmethod
    @checked_arguments
    def from_attraction(
        cls,
        table: Floats,
        *,
        k: int,
        features: Floats | None = None,
        merit: Floats | None = None,
        popularity: Floats | None = None,
        item_ids: Sequence[Any] | Ids | None = None,
        user_ids: Sequence[Any] | Ids | None = None,
        groups: dict[str, Any] | None = None,
        topics: Floats | None = None,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
        name: str = "attraction",
    ) -> Self:
        """Build an environment from the attraction of items, in [0, 1].

        `table` has a row for each context (a user, a query) and a column for each item; a vector is
        one context. Every item has a feature of its own and preferences are the rows of the table,
        so that attraction is the table's to the last bit; that takes up to 4,096 items. `features`
        (m, d) can be given where preferences exist that reproduce the table with them, for any
        number of items. The popularity of an item is its mean
        attraction, and its merit that or 0.001 if it is less, unless they are given.
        """
        known = attraction_table(table)  # (n, m)
        mean = known.mean(axis=0)
        if features is None:
            X, theta = indicators(known.shape[1]), known
        else:
            X, theta = features, preferences_of(known, features)
        return cls.from_arrays(
            X,
            theta,
            k=k,
            merit=np.maximum(mean, _MERIT_FLOOR) if merit is None else merit,
            popularity=mean if popularity is None else popularity,
            item_ids=item_ids,
            user_ids=user_ids,
            groups=groups,
            topics=topics,
            click_model=click_model,
            dynamics=dynamics,
            delay=delay,
            name=name,
        )

    @classmethod
    @checked_arguments
    def from_log(
        cls,
        log: Any,
        *,
        k: int | None = None,
        dim: int = 10,
        click_model: Any = "auto",
        features: Any = None,
        users: str = "drawn",
        held_out: float = 0.2,
        smoothing: float = 1.0,
        seed: int = 0,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
    ) -> Self:
        """Build an environment calibrated on a click log: its items, its users, and how they click.

        How well it foresees the last clicks of the log, position by position, is in
        `info["calibration"]`. For several draws of the users, call `fit_traffic` once.

        Args:
            log: A `Log`, or what it takes.
            k: Length of a slate; that of the longest in the log unless given.
            dim: Number of features, d, if they are fitted.
            click_model: What `fit_traffic` takes, as are `features`, `held_out` and `smoothing`.
            features: A table of items with numbers; without it, features are fitted.
            users: "drawn" gives every user preferences drawn from what clicks leave open, so that
                users differ as much as those of the log; "mean" the most likely ones, with which
                they are more alike than they are.
            held_out: Share of the log that it is tested on.
            smoothing: Imagined impressions of each item.
            seed: Of what is held out, and of what is drawn.
            dynamics: How users and items change by round, a component or its name.
            delay: When feedback reaches the policy, likewise.
        """
        from faircascade.environment.traffic import UsersAs, fit_traffic

        check_choice("users", users, get_args(UsersAs))
        traffic = fit_traffic(
            log,
            k=k,
            dim=dim,
            click_model=click_model,
            features=features,
            held_out=held_out,
            smoothing=smoothing,
            seed=seed,
        )
        found = traffic.environment(
            seed=seed, users=cast("UsersAs", users), dynamics=dynamics, delay=delay
        )
        return cast("Self", found)


def _factorise(split: Split, dim: int, k: int, world: World, align: Align) -> tuple[Floats, Floats]:
    """Return features of items (m, d) and preferences of users (n, d), scaled as the world says."""
    svd = truncated_svd(split.train, dim, raw_signs=align == "none")
    X = item_features(split.train, svd, popularity_power=world.popularity_power)
    theta = user_preferences(split.test, svd, X, method=world.preferences, align=align)
    known = np.asarray(X.any(axis=1))
    check_length(k, known)
    return X, theta if world.click_rate is None else calibrate(theta, X[known], k, world.click_rate)


@cache
def _warn_once(caution: str) -> None:
    """Say it once, however many environments are like that."""
    log.warning("%s.", caution)


def check_length(k: int, eligible: Bools) -> None:
    """Refuse slates that are longer than what they can be made of."""
    most = int(eligible.sum())
    if not 1 <= k <= most:
        rule = f"must be between 1 and {most} (the items that can be recommended)"
        raise ParameterError("k", rule, k)


def _given(**parts: Component | None) -> dict[str, Any]:
    """Return the parts that were given; others are the environment's defaults."""
    return {name: part for name, part in parts.items() if part is not None}
