"""The parameters of a confidence ellipsoid under which a draw by merit promises most."""

from __future__ import annotations

import numpy as np

from faircascade.numerics import cholesky
from faircascade.types import Floats

STEPS = 12
"""Steps of each ascent."""


def fair_optimum(
    theta: Floats, M_inv: Floats, x: Floats, sharpness: float, radius: float
) -> Floats:
    """Return where the ellipsoid of each user has the largest `expected_reward`, (d, n).

    The ellipsoid is |t - theta|_M <= radius. The problem is not concave: these are projected
    gradient ascents with falling steps, from the centre and from where the item with the largest
    upper confidence bound looks best, and the best point that they passed.
    """
    if radius == 0.0:
        return theta
    L = cholesky(M_inv)  # (d, d, n)
    found = np.empty_like(theta)
    for user in range(theta.shape[1]):  # one at a time: sums do not depend on who else is there
        found[:, user] = _ascent(theta[:, user], radius * L[:, :, user], x, sharpness)
    return found


def expected_reward(theta: Floats, x: Floats, sharpness: float) -> tuple[float, Floats]:
    """Return sum_a p_a s_a with s = theta . x and p proportional to exp(sharpness s), and its
    gradient."""
    s = theta @ x  # (p,)
    p = np.exp(sharpness * (s - s.max()))
    p /= p.sum()
    value = float(p @ s)
    return value, x @ (p * (1.0 + sharpness * (s - value)))


def _ascent(theta: Floats, L: Floats, x: Floats, sharpness: float) -> Floats:
    """Climb in z, where the parameters are theta + L z and |z| <= 1."""
    best, found = -np.inf, theta
    for start in (np.zeros(len(theta)), _brightest(theta, L, x)):
        z = start
        for step in range(STEPS + 1):
            here = theta + L @ z
            value, slope = expected_reward(here, x, sharpness)
            if value > best:
                best, found = value, here
            slope = L.T @ slope
            norm = float(np.sqrt(slope @ slope))
            if norm == 0.0:
                break
            z = z + slope / (norm * np.sqrt(1.0 + step))
            z = z / max(1.0, float(np.sqrt(z @ z)))
    return found


def _brightest(theta: Floats, L: Floats, x: Floats) -> Floats:
    """Return the z under which the item with the largest upper confidence bound looks best."""
    reach = L.T @ x  # (d, p)
    widths = np.sqrt((reach * reach).sum(axis=0))
    item = int(np.argmax(theta @ x + widths))
    return np.asarray(reach[:, item] / max(float(widths[item]), 1e-300))
