"""Expectation-maximisation: what all models have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from faircascade.types import Floats

ITERATIONS = 2000
"""E-steps at most, unless said otherwise."""
TOLERANCE = 0.01
"""EM ends when the rest of the way, extrapolated, gains less than this in log-likelihood: far less
than the half that each parameter gains by chance."""
_LEAST = 1e-12
"""Parameters stay as far from 0 and 1 in extrapolated steps."""

_LEAST_RATE = 0.9
"""EM is not trusted to converge faster than this, however well it began."""


class Step(NamedTuple):
    """What an E-step and an M-step find."""

    objective: float
    """Log-likelihood, plus that of the prior, of the parameters that came in."""
    parameters: Floats
    """Better ones, (p,)."""


@dataclass
class Optimum:
    """Where EM ended, and how it came there."""

    parameters: Floats
    objectives: list[float] = field(default_factory=list)
    """After each accepted step; they never fall."""
    steps: int = 0
    """E-steps that were made."""
    converged: bool = False


def maximise(
    step: Callable[[Floats], Step],
    start: Floats,
    *,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    accelerate: bool = True,
) -> Optimum:
    """Repeat EM steps until the log-likelihood stands still.

    Every third step is extrapolated from the two before it (SQUAREM, Varadhan and Roland 2008) and
    taken back if it was for the worse, so that the objective never falls.
    """
    found = Optimum(start)
    current = step(start)
    found.steps, found.objectives = 1, [current.objective]
    while found.steps < iterations:
        after = step(current.parameters)
        found.steps += 1
        if not accelerate:
            found.parameters, current = current.parameters, after
        else:
            leap = _extrapolated(found.parameters, current.parameters, after.parameters)
            jumped = step(leap)
            found.steps += 1
            better = jumped.objective >= after.objective
            found.parameters = leap if better else current.parameters
            current = jumped if better else after
        found.objectives.append(current.objective)
        if _nearly_there(found.objectives, tolerance):
            found.converged = True
            break
    return found


def _extrapolated(first: Floats, second: Floats, third: Floats) -> Floats:
    """Return where three points of EM in a row point to."""
    r = second - first
    v = third - second - r
    curvature = float(np.sqrt(v @ v))
    if curvature == 0.0:
        return third
    alpha = min(-1.0, -float(np.sqrt(r @ r)) / curvature)
    leap = first - 2.0 * alpha * r + alpha * alpha * v
    low, high = np.minimum(third, _LEAST), np.maximum(third, 1.0 - _LEAST)
    return np.clip(leap, low, high)


def _nearly_there(objectives: list[float], tolerance: float) -> bool:
    """Tell whether what is left to gain, as a geometric series goes on, is little."""
    if len(objectives) < 3:
        return False
    before, last = objectives[-2] - objectives[-3], objectives[-1] - objectives[-2]
    noise = 1e-13 * abs(objectives[-1])
    if last <= noise:
        return True
    rate = min(max(last / before, _LEAST_RATE), 0.999) if before > 0 else 0.999
    return last * rate / (1.0 - rate) < tolerance
