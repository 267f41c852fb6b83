"""Indices of items in a table: how good an item may be, given its mean, its count and the time.

Plain arithmetic on floats or arrays, with the logarithm of `random`: compiled engines use these
very functions and get the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.random import ln, normal_pair, uniform
from faircascade.types import Bools, Floats

UNSEEN = 2.0**20
"""Index of an item that was never seen: above all others, and still exact on the grid of ties."""
MOST_STEPS = 64
"""Steps of a search that a few end in practice."""
CLOSE = 2.0**-22
"""A search ends with a step of this share of q (1 - q): the error is of the order of its square."""
_TINY = 2.0**-1000
_BELOW_1 = 1.0 - 2.0**-53


def log_time(time: Any) -> Any:
    """Return ln t, in which the bonus of UCB1 grows, for t >= 1."""
    return ln(time)


def kl_time(time: Any) -> Any:
    """Return ln t + 3 ln ln t, in which that of KL-UCB grows; 0 where that is negative."""
    level = ln(time)
    late = level > 0.5  # t >= 2
    return np.maximum(level + 3.0 * ln(level * late + 1.0 * (1.0 - late)), 0.0) * late


def ucb1_bonus(count: Any, positions: Any, level: Any) -> Any:
    """Return sqrt(level / T) with T = count^2 / positions, for counts > 0."""
    return np.sqrt(level * positions) / count


def kl_start(mean: Any, budget: Any) -> Any:
    """Return where to begin: (q - m)^2 = 2 b q (1 - q), as kl is about its second derivative."""
    spread = budget * (budget + 2.0 * mean * (1.0 - mean))
    start = np.minimum((mean + budget + np.sqrt(spread)) / (1.0 + 2.0 * budget), _BELOW_1)
    return np.maximum(start, mean)  # a mean may be nearer to 1 than that


def kl_rest(mean: Any) -> Any:
    """Return m ln m + (1 - m) ln(1 - m), the part of kl(m, q) without q, for m in [0, 1)."""
    return mean * ln(np.maximum(mean, _TINY)) + (1.0 - mean) * ln(1.0 - mean)


def kl_step(mean: Any, rest: Any, budget: Any, q: Any) -> Any:
    """Return a point nearer to where kl(m, q) is the budget, for m < q < 1.

    Newton's step for sqrt(kl), which is nearly straight, along -ln(1 - q), which keeps q below 1.
    """
    left = 1.0 - q
    kl = np.maximum(rest - mean * ln(q) - (1.0 - mean) * ln(left), _TINY)
    move = 2.0 * (np.sqrt(kl * budget) - kl) * (q / (q - mean))
    size = np.abs(move)
    factor = 1.0 + size + 0.5 * size * size  # about exp(size)
    up = move > 0.0
    moved = np.minimum(1.0 - left * (up / factor + (1.0 - up) * factor), _BELOW_1)
    inside = moved > mean
    return moved * inside + 0.5 * (q + mean) * (1.0 - inside)


def kl_index(mean: Floats, budget: Floats) -> Floats:
    """Return the largest q with kl(m, q) <= budget, for means in [0, 1]."""
    found = mean.copy()
    open_: Bools = (budget > 0.0) & (mean < 1.0)
    m, b = mean[open_], budget[open_]
    rest, q = kl_rest(m), kl_start(m, b)
    left = np.flatnonzero(q > m)  # a budget may be too small to tell
    for _ in range(MOST_STEPS):
        if not len(left):
            break
        now = kl_step(m[left], rest[left], b[left], q[left])
        far = np.abs(now - q[left]) > CLOSE * now * (1.0 - now)
        q[left] = now
        left = left[far]
    found[open_] = q
    return found


def gaussian_spread(mean: Any, count: Any, level: Any) -> Any:
    """Return max(sqrt(v l / (T + 1)), l / (T + 1)) with v = m (1 - m), for means in [0, 1]."""
    share = level / (count + 1.0)
    return np.maximum(np.sqrt(mean * (1.0 - mean) * share), share)


def gamma_trial(shape: Any, radius: Any, angle: Any, luck: Any) -> tuple[Any, Any]:
    """Return a draw from Gamma(shape) for shape >= 1, and whether it may be kept.

    Marsaglia and Tsang (2000): about one in twenty is refused.
    """
    base = shape - 1.0 / 3.0
    z, _ = normal_pair(radius, angle)
    root = np.maximum(1.0 + z / np.sqrt(9.0 * base), 0.0)
    cube = root * root * root
    proposal = np.maximum(cube, _TINY)
    bound = 0.5 * z * z + base - base * cube + base * ln(proposal)
    return base * cube, (cube > 0.0) & (ln(1.0 - uniform(luck)) < bound)
