"""Checks of what parts return in a run: a mistake is one line, not a wrong number."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.environment import Environment, Response
from faircascade.metrics.tally import LARGEST
from faircascade.policies import Policy
from faircascade.types import Ints, Pool


def check_slates(slates: Ints, n: int, k: int, pool: Pool, policy: Policy) -> None:
    """Refuse slates that are not k distinct items of the pool for each of n users."""
    if np.shape(slates) != (n, k) or np.asarray(slates).dtype.kind not in "iu":
        raise ValueError(
            f"policy {policy.label!r} must return slates of shape {(n, k)}, "
            f"got {_described(slates)}"
        )
    ordered = np.sort(slates, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError(f"policy {policy.label!r} must show an item once in a slate, got it twice")
    listed = np.zeros(len(pool.items), dtype=bool)
    listed[pool.rows] = True
    inside = (slates >= 0) & (slates < len(listed))
    if not (inside.all() and listed[slates].all()):
        raise ValueError(f"policy {policy.label!r} must show items of the pool, got others")


def check_response(response: Response, slates: Ints, env: Environment) -> None:
    """Refuse clicks and values that are not those of the slates."""
    clicks, value = response
    name = env.click_model.name
    if np.shape(clicks) != slates.shape or np.asarray(clicks).dtype != bool:
        raise ValueError(
            f"click model {name!r} must return True or False for each position, shape "
            f"{slates.shape}, got {_described(clicks)}"
        )
    if np.shape(value) != (len(slates),) or not (np.abs(value) <= LARGEST).all():
        raise ValueError(
            f"click model {name!r} must return a value of at most {LARGEST:,.0f} for each of "
            f"{len(slates)} slates, got {_described(value)}"
        )


def check_waits(waits: Ints, n: int, env: Environment) -> None:
    """Refuse delays that are not whole numbers of rounds."""
    if np.shape(waits) != (n,) or np.asarray(waits).dtype.kind not in "iu" or (waits < 0).any():
        raise ValueError(
            f"delay {env.delay.name!r} must return whole numbers >= 0 of shape {(n,)}, "
            f"got {_described(waits)}"
        )


def _described(value: Any) -> str:
    """Return what something is in a few words: its kind and shape, and the first odd number."""
    if not isinstance(value, np.ndarray):
        return repr(value)[:80]
    words = f"{value.dtype} of shape {value.shape}"
    if value.dtype.kind != "f" or np.isfinite(value).all():
        return f"{words}, {value.flat[0]} first" if value.size else words
    return f"{words} with {value[~np.isfinite(value)][0]}"
