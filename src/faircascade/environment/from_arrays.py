"""Environments made of arrays, of a table of attraction, or of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast, get_args

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.environment.attraction import attraction_table, indicators, preferences_of
from faircascade.environment.construction import MERIT_FLOOR, given_parts
from faircascade.environment.delays import Delay
from faircascade.environment.dynamics import Dynamics
from faircascade.errors import ParameterError, check_choice
from faircascade.parameters import checked_arguments
from faircascade.types import Floats, Ids, Items, Users, as_ids, check_finite


class FromArrays:
    """Constructors of an `Environment` of what is known of it."""

    if TYPE_CHECKING:  # it is what `Environment` has

        def __init__(self, *, items: Items, users: Users, k: int, **others: Any) -> None: ...

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
        activity: Floats | None = None,
        groups: dict[str, Any] | None = None,
        topics: Floats | None = None,
        click_model: ClickModel | None = None,
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
        name: str = "arrays",
    ) -> Self:
        """Build an environment from feature rows (m, d) and true preferences (n, d).

        `activity` says how likely each user comes in a round; they all do unless it is given.
        """
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
        ids = as_ids(user_ids, len(theta), "user")
        users = Users(ids=ids, preferences=theta, activity=activity)
        return cls(
            items=items,
            users=users,
            k=k,
            info={"data": name},
            **given_parts(click_model=click_model, dynamics=dynamics, delay=delay),
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
        activity: Floats | None = None,
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
            merit=np.maximum(mean, MERIT_FLOOR) if merit is None else merit,
            popularity=mean if popularity is None else popularity,
            item_ids=item_ids,
            user_ids=user_ids,
            activity=activity,
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
        activity: str = "logged",
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
            activity: How likely users come in a round: "logged", as often as in the log compared
                with the busiest, who comes in every round; or "equal", all in every round.
            held_out: Share of the log that it is tested on.
            smoothing: Imagined impressions of each item.
            seed: Of what is held out, and of what is drawn.
            dynamics: How users and items change by round, a component or its name.
            delay: When feedback reaches the policy, likewise.
        """
        from faircascade.environment.traffic import ActivityAs, UsersAs, fit_traffic

        check_choice("users", users, get_args(UsersAs))
        check_choice("activity", activity, get_args(ActivityAs))
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
            seed=seed,
            users=cast("UsersAs", users),
            activity=cast("ActivityAs", activity),
            dynamics=dynamics,
            delay=delay,
        )
        return cast("Self", found)
