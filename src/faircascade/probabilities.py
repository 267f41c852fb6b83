"""Probabilities that parts have as parameters: one number, or one for each position or item."""

from __future__ import annotations

import numpy as np

from faircascade.errors import ParameterError
from faircascade.types import Floats

Probabilities = float | tuple[float, ...]
"""One number for all, or one for each."""


def check_probabilities(name: str, given: Probabilities | None) -> None:
    """Refuse numbers below 0 or above 1, and none at all."""
    if isinstance(given, tuple) and not given:
        raise ParameterError(name, "must be a number or a list of numbers", list(given))
    for place, value in enumerate(given if isinstance(given, tuple) else [given], start=1):
        if value is not None and not 0 <= value <= 1:
            where = f" at place {place}" if isinstance(given, tuple) else ""
            raise ParameterError(name, f"must be in [0, 1]{where}", value)


def by_position(name: str, given: Probabilities, k: int) -> Floats:
    """Return a probability for each of k positions, (k,); a longer list is cut."""
    if not isinstance(given, tuple):
        return np.full(k, given, dtype=np.float64)
    if len(given) < k:
        rule = f"must be one number, or one for each of the {k} positions"
        raise ParameterError(name, rule, list(given))
    return np.array(given[:k], dtype=np.float64)


def examination_by_position(name: str, kappa: Probabilities | None, k: int) -> Floats:
    """Return how likely each position is to be looked at, (k,): 1 / position unless given."""
    if kappa is None:
        return 1.0 / np.arange(1.0, k + 1)
    return by_position(name, kappa, k)
