"""Inverses that rank-one updates have worn, made exact again."""

from __future__ import annotations

import numpy as np

from faircascade.numerics import AIM, LARGEST_RESIDUAL, RESIDUAL, inverse, ordered_dot
from faircascade.types import Floats, Ints

REFINE_EVERY = 256  # a power of two: engines halve it, and take remainders by a mask
"""A user's inverse is refined against M after this many updates of that user at the latest, and
after the first, second, fourth, ... update, as it changes most at the start."""


def refine_where_due(M: Floats, M_inv: Floats, updates: Ints, interval: Ints) -> Ints:
    """Refine, in place, inverses (d, d, n) of users whose number of updates asks for it.

    Returns the intervals (n,) to the next refinement.
    """
    due = (updates % interval == 0) | (updates & (updates - 1) == 0)
    if due.any():
        interval = interval.copy()
        M_inv[:, :, due], interval[due] = refine(M[:, :, due], M_inv[:, :, due], interval[due])
    return interval


def refine(M: Floats, M_inv: Floats, interval: Ints) -> tuple[Floats, Ints]:
    """Return better inverses of M, and after how many updates of a user to look again.

    A Newton step is enough while |M M^-1 - I| is small. It leaves an error of some u cond(M)^2,
    though, u being the roundoff. From where that shows, inverses are computed from M anew, which
    leaves about u cond(M), and as often as that keeps the residual small.
    """
    rest = -_product(M, M_inv)
    for i in range(len(M)):
        rest[i, i] += 2.0
    residual = np.abs(rest - np.eye(len(M))[:, :, None]).max(axis=(0, 1))  # (n,)
    if (residual[interval == 1] > LARGEST_RESIDUAL).any():
        raise FloatingPointError(f"M^-1 is off by more than {LARGEST_RESIDUAL:g}")
    afresh = (interval < REFINE_EVERY) | (residual > RESIDUAL)
    better = np.empty_like(M)
    step = _product(M_inv[:, :, ~afresh], rest[:, :, ~afresh])
    better[:, :, ~afresh] = 0.5 * (step + step.transpose(1, 0, 2))
    better[:, :, afresh] = inverse(M[:, :, afresh])
    return better, next_interval(interval, residual)


def next_interval(interval: Ints, residual: Floats) -> Ints:
    """Return after how many updates to refine again, by the residual after the last so many."""
    afresh = (interval < REFINE_EVERY) | (residual > RESIDUAL)
    calm = afresh & (residual < AIM / 8) & (interval < REFINE_EVERY // 2)
    interval = np.where(calm, 2 * interval, interval)
    while (late := afresh & (residual > AIM) & (interval > 1)).any():
        interval = np.where(late, interval // 2, interval)
        residual = np.where(late, residual / 2, residual)
    return interval


def _product(A: Floats, B: Floats) -> Floats:
    """Multiply matrices (d, d, n) user by user."""
    return ordered_dot(A.transpose(1, 0, 2)[:, :, None, :], B[:, None, :, :])
