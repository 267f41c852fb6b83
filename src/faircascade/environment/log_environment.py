"""Environments calibrated on the traffic of a log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.clicks import ClickModel
from faircascade.data.log import Log, as_log
from faircascade.environment.calibration import (
    Calibration,
    attraction_of_held_out,
    calibration,
    level_of,
    log_likelihood,
)
from faircascade.environment.log_preferences import (
    STRENGTHS,
    Regression,
    factor_basis,
    given_basis,
    item_table,
)
from faircascade.environment.log_sums import HeldOut, LogSums, read_sums
from faircascade.errors import ParameterError
from faircascade.fitting import FittedClickModel, fit_click_model
from faircascade.numerics import one_blas_thread
from faircascade.types import Floats, Ids, Items, Users

_MERIT_FLOOR = 1e-3
_PARTS = 1 << 20
"""Draws that hold impressions out are cut into so many parts, whose halves make two sets."""


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
    held_out: float,
    smoothing: float,
    seed: int,
) -> LogWorld:
    """Fit a click model, then features and preferences given what users looked at."""
    if dim < 1:
        raise ParameterError("dim", "must be at least 1", dim)
    if not 0 < held_out < 1:
        raise ParameterError("held_out", "must be between 0 and 1, both excluded", held_out)
    log = as_log(source)
    fitted = _fitted(log, click_model, smoothing, seed)
    sums, held = read_sums(log, fitted, held_out=held_out, seed=seed)
    looks, clicks = sums.of_items(sums.looks), sums.of_items(sums.clicks)
    rate = float(clicks.sum() / max(looks.sum(), 1.0))
    mean = (clicks + smoothing * rate) / np.maximum(looks + smoothing, 1e-9)
    mean = np.clip(mean, 0.0, 1.0)
    half = held.lots * _PARTS % 1.0 < 0.5
    tune, test = held.take(half), held.take(~half)
    with one_blas_thread():
        if features is None:
            basis = factor_basis(sums, mean, dim)
        else:
            basis = given_basis(sums, mean, item_table(features, log))
        regression = Regression.of(sums, basis)
        strengths = _strengths(regression, fitted.click_model, tune)
        theta = regression.preferences(strengths)
        own = attraction_of_held_out(basis.features, theta, tune)
        level = level_of(fitted.click_model, own, tune)
        found = calibration(
            fitted.click_model,
            attraction_of_held_out(basis.features, theta * level, test),
            mean[test.items],
            _click_rates(test),
            test,
            shrinkage=tuple(strengths),
            level=level,
        )
    length = fitted.k if k is None else k
    return LogWorld(
        items=Items.of(
            basis.features,
            ids=fitted.item_ids,
            merit=np.maximum(mean, _MERIT_FLOOR),
            popularity=clicks,
        ),
        users=Users(ids=_user_ids(log), preferences=np.ascontiguousarray(theta * level)),
        k=length,
        click_model=_for_length(fitted, length),
        info=_info(log, fitted, sums, found, seed, basis.features.shape[1], features is not None),
    )


def _fitted(
    log: Log, click_model: str | FittedClickModel, smoothing: float, seed: int
) -> FittedClickModel:
    if isinstance(click_model, str):
        return fit_click_model(log, click_model, by="item", smoothing=smoothing, seed=seed)
    for _ in log.blocks():  # so that its items are known
        pass
    if click_model.context_ids is not None or (
        click_model.item_ids.astype(str).tolist() != log.item_ids.astype(str).tolist()
    ):
        raise ParameterError(
            "click_model", "must be fitted to this log, by item, or be a name", repr(click_model)
        )
    return click_model


def _strengths(regression: Regression, model: ClickModel, tune: HeldOut) -> list[float]:
    """Return the shrinkage of each kind of feature with which preferences predict best, one kind
    after the other."""
    X, kinds = regression.basis.features, int(regression.basis.kinds.max()) + 1
    chosen = [float("inf")] * kinds
    if not len(tune):
        return chosen

    def quality(strengths: list[float]) -> float:
        attraction = attraction_of_held_out(X, regression.preferences(strengths), tune)
        return float(log_likelihood(model, attraction, tune).sum())

    for kind in range(kinds):
        tried = [[*chosen[:kind], strength, *chosen[kind + 1 :]] for strength in STRENGTHS]
        chosen = max(tried, key=quality)
    return chosen


def _click_rates(held: HeldOut) -> Floats:
    """Return click rates by position of the held-out impressions: the best constants there are."""
    return np.asarray(held.clicks.sum(axis=0) / np.maximum(held.present.sum(axis=0), 1))


def _for_length(fitted: FittedClickModel, k: int) -> ClickModel:
    try:
        fitted.click_model.check(k, len(fitted.attraction))
    except ParameterError:
        rule = f"must be at most {fitted.k}, the longest slate of the log, for {fitted.name}"
        raise ParameterError("k", rule, k) from None
    return fitted.click_model


def _user_ids(log: Log) -> Ids:
    return log.user_ids if log.has_users else np.array(["everyone"])


def _info(
    log: Log, fitted: FittedClickModel, sums: LogSums, found: Calibration, seed: int, dim: int,
    given: bool,
) -> dict[str, Any]:  # fmt: skip
    per_user = sums.impressions
    return {
        "data": log.name,
        "seed": seed,
        "feedback": "clicks",
        "fitted_click_model": fitted.name,
        "choice": fitted.best,
        "features": "given" if given else "factors of clicks",
        "dim": dim,
        "impressions": fitted.total,
        "impressions_per_user": {
            "mean": float(per_user.mean()),
            "median": float(np.median(per_user)),
            "most": int(per_user.max()),
        },
        "calibration": found.document(),
        "notes": list(fitted.notes),
    }
