"""Worlds: named ways to make attraction out of ratings, and what they do to the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from faircascade.data.factors import Preferences
from faircascade.errors import ParameterError, check_choice
from faircascade.types import Floats

_USERS_AT_ONCE = 256
_LARGEST_SCALE = 1e12


@dataclass(frozen=True, kw_only=True)
class World:
    """How features and preferences become attraction."""

    popularity_power: float
    """Feature rows are as long as the factorisation makes them, to this power: 1 keeps that, and
    popular items have long rows; 0 makes all rows equally long."""
    preferences: Preferences
    """How preferences are estimated from the test half."""
    click_rate: float | None
    """How often the optimal slate is clicked under a cascade, mean over users; None takes what
    comes."""
    summary: str = ""
    """What it is good for, one line."""

    def __post_init__(self) -> None:
        if not 0 <= self.popularity_power <= 1:
            raise ParameterError("popularity_power", "must be from 0 to 1", self.popularity_power)
        if self.click_rate is not None and not 0 < self.click_rate < 1:
            rule = "must be between 0 and 1, both excluded"
            raise ParameterError("click_rate", rule, self.click_rate)


WORLDS = {
    "popular": World(
        popularity_power=1.0,
        preferences="lstsq",
        click_rate=0.4,
        summary="popular items attract more, as in held-out ratings: what products live in",
    ),
    "paper": World(
        popularity_power=0.0,
        preferences="svd",
        click_rate=None,
        summary="all items have features of one length, as in the paper: for its numbers",
    ),
}
"""By name. Each of their options can be overridden."""


def find_world(name: str, **overridden: Any) -> World:
    """Return a world by name, with the options that are not None in the place of its own."""
    check_choice("world", name, WORLDS)
    own = {f.name: getattr(WORLDS[name], f.name) for f in fields(World)}
    return World(**own | {option: v for option, v in overridden.items() if v is not None})


def is_world(name: str, info: Mapping[str, Any]) -> bool:
    """Say whether an environment, by what is kept of how it was made, is that world."""
    marks = ("popularity_power", "preferences")
    return all(info.get(mark) == getattr(WORLDS[name], mark) for mark in marks)


def world_words(info: Mapping[str, Any], *, cascade: bool = True) -> str:
    """Name the world of an environment, by what is kept of how it was made; nothing without one.

    `cascade` says whether users click as the click rate takes them to.

    >>> world_words({"world": "popular", "popularity_power": 1.0, "preferences": "lstsq"})
    'world popular'
    """
    if info.get("world") not in WORLDS:
        return ""
    changed = "" if is_world(info["world"], info) else " (changed)"
    words, rate = f"world {info['world']}{changed}", info.get("click_rate")
    if rate is None:
        return words
    return f"{words}, click rate {rate:g}{'' if cascade else ' under a cascade'}"


def calibrate(preferences: Floats, features: Floats, k: int, click_rate: float) -> Floats:
    """Return preferences times a factor with which optimal slates are clicked at a rate.

    A slate is clicked if any of its items attracts, as under the cascade. `features` are those of
    the items that can be recommended, (p, d).
    """
    best = np.concatenate(
        [
            np.partition(rows @ features.T, len(features) - k, axis=1)[:, len(features) - k :]
            for rows in np.array_split(preferences, -(-len(preferences) // _USERS_AT_ONCE))
        ]
    )  # (n, k)
    best = np.maximum(best, 0.0)

    def rate(scale: float) -> float:
        return float((1.0 - np.prod(1.0 - np.minimum(scale * best, 1.0), axis=1)).mean())

    low, high = 0.0, 1.0
    while rate(high) < click_rate:
        high *= 2.0
        if high > _LARGEST_SCALE:
            reached = f"must be at most {rate(high):.3g} (the users whom any item attracts)"
            raise ParameterError("click_rate", reached, click_rate)
    for _ in range(60):  # to the last bit
        middle = (low + high) / 2.0
        low, high = (middle, high) if rate(middle) < click_rate else (low, middle)
    return preferences * high
