"""Environments calibrated on the traffic of a log."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.log import Log, as_log
from faircascade.environment.calibration import calibration
from faircascade.environment.item_features import item_features
from faircascade.errors import ParameterError, check_choice
from faircascade.fitting import FittedClickModel
from faircascade.fitting.fit import names_of
from faircascade.fitting.forecasts import Forecasts
from faircascade.fitting.log_sample import sample_users
from faircascade.fitting.personal import Personal, PersonalFit, fit_personal
from faircascade.random import keys_of
from faircascade.types import Items, Users

UsersAs = Literal["drawn", "mean"]
MOST_TO_CHOOSE = 200_000
"""Impressions that click models are chosen by at most."""
_MERIT_FLOOR = 1e-3


class LogWorld(NamedTuple):
    """What an environment is made of."""

    items: Items
    users: Users
    k: int
    click_model: ClickModel
    info: dict[str, Any]


def world_of_log(
    source: Any,
    *,
    k: int | None,
    dim: int,
    click_model: str | FittedClickModel,
    features: Any,
    users: UsersAs,
    held_out: float,
    smoothing: float,
    seed: int,
) -> LogWorld:
    """Fit how users click and what they like to a log."""
    if dim < 1:
        raise ParameterError("dim", "must be at least 1", dim)
    if not 0 < held_out < 1:
        raise ParameterError("held_out", "must be between 0 and 1, both excluded", held_out)
    check_choice("users", users, get_args(UsersAs))
    log = as_log(source)
    sample = sample_users(log, MOST_TO_CHOOSE, seed)
    _check_fitted(log, click_model)
    given = None if features is None else item_features(features, log)
    how = Personal(sample.k, given, dim, held_out, smoothing, seed)
    found = fit_personal(log, click_model, sample, how)
    preferences = found.preferences
    ids = log.user_ids if log.has_users else np.array(["everyone"])
    own = preferences.means if users == "mean" else preferences.drawn(seed, keys_of(ids))
    length = sample.k if k is None else k
    _check_length(found, sample.k, length)
    until = int((1.0 - held_out) * sample.of)
    past = how.preferences(log, found.model, preferences, until=until)
    checked = calibration(log, Forecasts(past, found.model), sample, until)
    return LogWorld(
        items=Items.of(
            preferences.features,
            ids=log.item_ids,
            merit=np.maximum(preferences.mean_attraction, _MERIT_FLOOR),
            popularity=preferences.clicks,
        ),
        users=Users(ids=ids, preferences=np.ascontiguousarray(own)),
        k=length,
        click_model=found.model,
        info={
            "data": log.name,
            "seed": seed,
            "feedback": "clicks",
            "fitted_click_model": found.name,
            "choice": found.choice,
            "features": "fitted" if features is None else "given",
            "users": users,
            "dim": preferences.features.shape[1],
            "impressions": sample.of,
            "impressions_per_user": {
                "mean": float(preferences.impressions.mean()),
                "median": float(np.median(preferences.impressions)),
                "most": int(preferences.impressions.max()),
            },
            "calibration": checked.document(),
            "notes": list(found.notes),
        },
    )


def _check_fitted(log: Log, click_model: str | FittedClickModel) -> None:
    """Refuse a click model that was fitted to something else."""
    if isinstance(click_model, str):
        names_of(click_model)
    elif click_model.context_ids is not None or (
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
