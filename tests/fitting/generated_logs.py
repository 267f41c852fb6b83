"""Logs whose click model is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from faircascade.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ClickDraws, ClickModel
from faircascade.data.log import Log

ITEMS, K = 12, 4
_luck = np.random.default_rng(7)
ATTRACTION = _luck.uniform(0.1, 0.6, ITEMS)
SATISFACTION = _luck.uniform(0.2, 0.8, ITEMS)
MODELS: dict[str, ClickModel] = {
    "cascade": Cascade(),
    "dcm": DCM(stop=(0.8, 0.6, 0.5, 0.4)),
    "sdbn": DBN(satisfaction=tuple(SATISFACTION.tolist()), continuation=1.0),
    "dbn": DBN(satisfaction=tuple(SATISFACTION.tolist()), continuation=0.8),
    "pbm": PBM(kappa=(1.0, 0.7, 0.5, 0.35)),
    "ubm": UBM(kappa=((1.0,), (0.9, 0.6), (0.9, 0.5, 0.4), (0.8, 0.5, 0.4, 0.3))),
    "ccm": CCM(t1=0.85, t2=0.7, t3=0.3),
}
"""By the names of fits; of PBM and UBM the first position is always looked at."""


def slates_and_clicks(model: ClickModel, n: int, seed: int = 0, k: int = K):
    """Draw slates at random, and what users click in them."""
    order = np.random.default_rng(seed).random((n, ITEMS)).argsort(axis=1)
    slates = order[:, :k]
    users = np.arange(n, dtype=np.uint64)
    draws = ClickDraws(seed=seed, round=1, users=users, items=slates.astype(np.uint64))
    return slates, model.click(ATTRACTION[slates], slates, draws)


def table(slates, clicks, **columns) -> pa.Table:
    """Return a log with a row for each impression."""
    rows = {"items": list(slates), "click": list(clicks.astype(np.int8))}
    return pa.table({"user_id": np.arange(len(slates)), **rows, **columns})


def log_of(name: str, n: int, seed: int = 0) -> Log:
    """Return a log of a model."""
    return Log(table(*slates_and_clicks(MODELS[name], n, seed)))


def parameters(model: ClickModel, order) -> np.ndarray:
    """Return the numbers of a model that can be known from clicks, items in a given order."""
    if isinstance(model, DBN):
        return np.append(np.array(model.satisfaction)[order], model.continuation)
    if isinstance(model, DCM):
        return np.array(model.stop[:-1])  # nothing comes after the last position
    if isinstance(model, PBM):
        return np.array(model.kappa)
    if isinstance(model, UBM):
        return np.concatenate([np.array(row) for row in model.kappa])
    return np.array([model.t1, model.t2, model.t3]) if isinstance(model, CCM) else np.zeros(0)
