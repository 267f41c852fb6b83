"""The formulas of Theorem 1: Eq. (11) to (13)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from faircascade.errors import ParameterError
from faircascade.types import Floats, Ints, check_finite, whole

LONGEST = 10**15
"""Rounds up to which `informative_from` looks; all of them are exact as floats."""


@overload
def alpha_min(
    dim: int, k: int, rounds: int, *, sigma: float = 1.0, theta_norm: float = 1.0
) -> float: ...
@overload
def alpha_min(
    dim: int, k: int, rounds: Ints | Floats, *, sigma: float = 1.0, theta_norm: float = 1.0
) -> Floats: ...
def alpha_min(
    dim: int, k: int, rounds: int | Ints | Floats, *, sigma: float = 1.0, theta_norm: float = 1.0
) -> float | Floats:
    """Return the least alpha that the theorem allows, Eq. (11); `rounds` may be an array.

    `theta_norm` is |theta*|, or the largest of several users.

    >>> round(alpha_min(10, 10, 50_000), 2)
    12.39
    """
    n, growth = _growth(dim, k, rounds, sigma)
    if not (theta_norm >= 0 and math.isfinite(theta_norm)):
        raise ParameterError("theta_norm", "must be >= 0", theta_norm)
    return _plain(np.sqrt(dim * growth + 2.0 * np.log(n)) / sigma + theta_norm)


def gamma_max(
    rewards: Sequence[float] | Floats, penalties: Sequence[float] | Floats | None = None
) -> float:
    """Return the largest gamma that the theorem allows, Eq. (12): the least 1/F(k) - 1.

    `rewards` are F(1), ..., F(K). A negative value means that no gamma fits, not even 0.

    The paper has one F for rewards and penalties. Where `penalties` are others, the step of the
    proof that needs F(k) (1 + gamma) <= 1 needs reward(k) + gamma penalty(k) <= 1 instead, and the
    least (1 - reward(k)) / penalty(k) is returned.

    >>> gamma_max([0.25, 0.5])
    1.0
    """
    F = _positive(rewards, "rewards")
    P = F if penalties is None else _positive(penalties, "penalties")
    if P.shape != F.shape:
        raise ParameterError("penalties", f"must be one for each of the {len(F)} rewards", len(P))
    return float(np.min((1.0 - F) / P))


@overload
def bound(dim: int, k: int, rounds: int, *, alpha: float, sigma: float = 1.0) -> float: ...
@overload
def bound(
    dim: int, k: int, rounds: Ints | Floats, *, alpha: float | Floats, sigma: float = 1.0
) -> Floats: ...
def bound(
    dim: int, k: int, rounds: int | Ints | Floats, *, alpha: float | Floats, sigma: float = 1.0
) -> float | Floats:
    """Return the bound on n-step regret, Eq. (13); arrays of `rounds` and `alpha` make a curve.

    It is a number for every alpha, and a bound only where alpha is at least `alpha_min`.

    >>> round(bound(10, 10, 50_000, alpha=12.4))
    692842
    """
    n, growth = _growth(dim, k, rounds, sigma)
    width = check_finite(np.asarray(alpha), "alpha")
    if (width < 0).any():
        raise ParameterError("alpha", "must be >= 0", width.min())
    return _plain(2.0 * width * k * np.sqrt(dim * n * growth / math.log1p(sigma**-2)) + 1.0)


def informative_from(
    dim: int, k: int, *, alpha: float | None = None, sigma: float = 1.0, theta_norm: float = 1.0
) -> int | None:
    """Return the round from which on the bound stays below n, which regret never exceeds.

    Without `alpha` it is `alpha_min`, which grows with n. None means not within `LONGEST` rounds.

    >>> informative_from(1, 1, alpha=0.0)  # the bound is 1
    2
    """

    def says_nothing(rounds: Ints) -> Any:
        width = (
            alpha_min(dim, k, rounds, sigma=sigma, theta_norm=theta_norm)
            if alpha is None
            else alpha
        )
        return bound(dim, k, rounds, alpha=width, sigma=sigma) >= rounds

    grid = np.unique(np.geomspace(1, LONGEST, 4000).round().astype(np.int64))  # steps of 1%
    last = int(np.flatnonzero(says_nothing(grid))[-1])  # there is one: no bound is below 1
    if last == len(grid) - 1:
        return None
    below, above = int(grid[last]), int(grid[last + 1])
    while above - below > 1:
        middle = (below + above) // 2
        if says_nothing(np.array([middle]))[0]:
            below = middle
        else:
            above = middle
    return above


def _growth(dim: int, k: int, rounds: int | Ints | Floats, sigma: float) -> tuple[Floats, Floats]:
    """Return n and ln(1 + n K / (d sigma^2)), which the formulas share."""
    for name, value in (("dim", dim), ("k", k)):
        if whole(value, name) < 1:
            raise ParameterError(name, "must be at least 1", value)
    n = check_finite(np.asarray(rounds), "rounds")
    if not (n >= 1).all():
        raise ParameterError("rounds", "must be at least 1", n.min())
    if not 1e-100 <= sigma <= 1e100:  # so that no square overflows
        raise ParameterError("sigma", "must be positive, from 1e-100 to 1e100", sigma)
    return n, np.log1p(n * k / (dim * sigma**2))


def _plain(value: Floats) -> float | Floats:
    """Return a single number as a float."""
    return float(value) if np.ndim(value) == 0 else value


def _positive(values: Sequence[float] | Floats, what: str) -> Floats:
    """Return one positive value for each position, (K,)."""
    array = check_finite(np.asarray(values), what)
    if array.ndim != 1 or len(array) == 0:
        raise ParameterError(what, "must be one for each position", array.shape)
    for position, value in enumerate(array.tolist(), start=1):
        if value <= 0:
            raise ParameterError(what, f"must be positive at position {position}", value)
    return array
