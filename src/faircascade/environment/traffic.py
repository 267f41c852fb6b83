"""Environments calibrated on the traffic of a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from faircascade.clicks import DBN, ClickModel
from faircascade.data.base import DataError
from faircascade.data.log import Log, as_log
from faircascade.environment.calibration import Calibration, calibration
from faircascade.environment.construction import MERIT_FLOOR, check_length
from faircascade.environment.delays import Delay, NoDelay
from faircascade.environment.dynamics import Dynamics, Still
from faircascade.environment.environment import Environment
from faircascade.environment.item_features import ItemFeatures, item_features
from faircascade.errors import ParameterError, check_choice
from faircascade.fitting import FittedClickModel
from faircascade.fitting.fit import AUTO
from faircascade.fitting.fitters import FITTERS, NO_CLICKS
from faircascade.fitting.forecasts import Forecasts
from faircascade.fitting.log_sample import sample_users
from faircascade.fitting.personal import Personal, PersonalFit, fit_personal
from faircascade.fitting.preferences import Preferences
from faircascade.parameters import checked_arguments
from faircascade.random import keys_of
from faircascade.types import Ids, Items, Users

UsersAs = Literal["drawn", "mean"]
"""What users of a log may like, or what they most likely do."""
ActivityAs = Literal["logged", "equal"]
"""Whether users come as often as in the log, or all in every round."""
MOST_TO_CHOOSE = 200_000
"""Impressions that click models are chosen by at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedTraffic:
    """What a log says of its items, its users and how they click: a simulator of its traffic."""

    item_ids: Ids
    user_ids: Ids
    k: int
    name: str
    """What was fitted: a click model, or `sdbn`."""
    click_model: ClickModel
    preferences: Preferences
    """Features of items, and what is known of the preferences of users."""
    choice: str
    """Which click models predict as well, in words."""
    calibration: Calibration
    """How well it foresees the last clicks of the log."""
    info: Mapping[str, Any]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"FittedTraffic({self.name}: {len(self.user_ids):,} users, "
            f"{len(self.item_ids):,} items, d={self.preferences.features.shape[1]})"
        )

    def environment(
        self,
        *,
        seed: int = 0,
        users: UsersAs = "drawn",
        activity: ActivityAs = "logged",
        dynamics: Dynamics | None = None,
        delay: Delay | None = None,
    ) -> Environment:
        """Return a world that may have made the log. Users are drawn from what clicks leave open,
        so that worlds differ in what the log does not say of users, if all else is right;
        users="mean" takes the most likely ones, who are more alike than users are. The busiest user
        comes in every round, others as much less often as in the log, unless activity="equal"."""
        check_choice("users", users, get_args(UsersAs))
        check_choice("activity", activity, get_args(ActivityAs))
        known = self.preferences
        drawn = users == "drawn"
        theta = known.drawn(seed, keys_of(self.user_ids)) if drawn else known.means
        often = known.impressions
        even = activity == "equal" or often.min() == often.max()
        return Environment(
            items=Items.of(
                known.features,
                ids=self.item_ids,
                merit=np.maximum(known.mean_attraction, MERIT_FLOOR),
                popularity=known.clicks,
            ),
            users=Users(
                ids=self.user_ids,
                preferences=np.ascontiguousarray(theta),
                activity=None if even else often / often.max(),
            ),
            k=self.k,
            click_model=self.click_model,
            dynamics=Still() if dynamics is None else dynamics,
            delay=NoDelay() if delay is None else delay,
            info={
                **self.info,
                "seed": seed,
                "feedback": "clicks",
                "fitted_click_model": self.name,
                "choice": self.choice,
                "users": users,
                "activity": activity,
                "dim": known.features.shape[1],
                "impressions_per_user": {
                    "mean": float(often.mean()),
                    "median": float(np.median(often)),
                    "most": int(often.max()),
                },
                "calibration": self.calibration.document(),
                "notes": list(self.notes),
            },
        )


@checked_arguments
def fit_traffic(
    log: Any,
    *,
    k: int | None = None,
    dim: int = 10,
    click_model: Any = "auto",
    features: Any = None,
    held_out: float = 0.2,
    smoothing: float = 1.0,
    seed: int = 0,
) -> FittedTraffic:
    """Fit how users click and what they like to a click log.

    A click model, and preferences of users around what they have in common, are fitted together.
    That is right for logs of a policy that learns, as long as what it decides by is in the log:
    earlier clicks of the user, and the features, if it has some.

    Args:
        log: A `Log`, or what it takes. Pairs of user and item that occur are kept in memory.
        k: Length of a slate; that of the longest in the log unless given.
        dim: Number of features, d, if they are fitted.
        click_model: The name of a click model, "auto", which takes the one that predicts best, or
            what `fit_click_model` returned for this log, which is left as it is.
        features: A table of items with numbers (a file or a DataFrame): those that the policy
            behind the log has, best of all. Items of the table that never were in the log are among
            those of the environment. Without a table, features are fitted.
        held_out: Share of the users by whom click models are compared, and of the impressions, the
            last ones, by which the result is tested.
        smoothing: Imagined impressions of each item, clicked at the click rate of the log.
        seed: Of the users who are held out.
    """
    if dim < 1:
        raise ParameterError("dim", "must be at least 1", dim)
    if not 0 < held_out < 1:
        raise ParameterError("held_out", "must be between 0 and 1, both excluded", held_out)
    if smoothing < 0:
        raise ParameterError("smoothing", "must be at least 0", smoothing)
    if k is not None and k < 1:
        raise ParameterError("k", "must be at least 1", k)
    if isinstance(click_model, str):
        check_choice("click_model", click_model, (AUTO, *FITTERS))
    elif not isinstance(click_model, FittedClickModel):
        rule = "must be a name, or what fit_click_model returned for this log"
        raise ParameterError("click_model", rule, click_model)
    opened = as_log(log)
    sample = sample_users(opened, MOST_TO_CHOOSE, seed)
    if not sample.clicks:
        raise DataError(f"{opened.name}: {NO_CLICKS}")
    _check_fitted(opened, click_model)
    given = None if features is None else item_features(features, opened)
    logged = None if given is None else given.logged
    how = Personal(sample.k, logged, dim, held_out, smoothing, seed)
    found = fit_personal(opened, click_model, sample, how)
    length = sample.k if k is None else k
    _check_length(found, sample.k, length)
    until = int((1.0 - held_out) * sample.of)
    past = how.first_preferences(opened, found.model, found.preferences.mean_attraction, until)
    tested = calibration(opened, Forecasts(past, found.model), sample, until)
    traffic = FittedTraffic(
        item_ids=opened.item_ids,
        user_ids=opened.user_ids if opened.has_users else np.array(["everyone"]),
        k=length,
        name=found.name,
        click_model=found.model,
        preferences=found.preferences,
        choice=found.choice,
        calibration=tested,
        info={
            "data": opened.name,
            "features": "fitted" if features is None else "given",
            "impressions": sample.of,
        },
        notes=(*found.notes, *tested.doubts()),
    )
    whole = traffic if given is None else _with_others(traffic, given)
    check_length(length, np.ones(len(whole.item_ids), dtype=bool))
    return whole


def _with_others(traffic: FittedTraffic, given: ItemFeatures) -> FittedTraffic:
    """Add the items that never were in the log: their features say how attractive they are."""
    many, model = len(given.other_ids), traffic.click_model
    if isinstance(model, DBN) and not isinstance(model.satisfaction, float):
        mean = float(np.mean(model.satisfaction))
        model = replace(model, satisfaction=(*model.satisfaction, *[mean] * many))
    known, nothing = traffic.preferences, np.zeros(many)
    return replace(
        traffic,
        item_ids=np.append(traffic.item_ids, given.other_ids),
        click_model=model,
        preferences=replace(
            known,
            features=np.concatenate([known.features, given.others]),
            clicks=np.append(known.clicks, nothing),
            looks=np.append(known.looks, nothing),
        ),
    )


def _check_fitted(log: Log, click_model: str | FittedClickModel) -> None:
    """Refuse a click model that was fitted to something else."""
    if isinstance(click_model, str):
        return
    if click_model.context_ids is not None or (
        click_model.item_ids.astype(str).tolist() != log.item_ids.astype(str).tolist()
    ):
        raise ParameterError(
            "click_model", "must be fitted to this log, by item, or be a name", repr(click_model)
        )


def _check_length(found: PersonalFit, longest: int, k: int) -> None:
    try:
        found.model.check(k, len(found.preferences.features))
    except ParameterError:
        rule = f"must be at most {longest}, the longest slate of the log, for {found.name}"
        raise ParameterError("k", rule, k) from None
