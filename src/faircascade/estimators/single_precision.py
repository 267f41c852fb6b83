"""First scores in single precision, and how far they can be from the exact ones.

Twice as fast as in double precision where millions of items are scored. With u = 2^-24, a row x,
and R its norm at most:

- theta . x: rounding both, d products and d - 1 sums move it by at most (d + 2) u |theta| R.
- sqrt(x^T A x) of one user is |L^T x| with A = L L^T. Rounding moves each component, and so the
  norm of all by at most (d + 2) u |L| R (Frobenius), and adding up their squares by d u / 2 + 2 u
  of |L| R. L itself is off by |A - L L^T| <= (d + 2) 2^-53 |L|^2, of which the root counts.
- x^T A x of many users is a product with x_a x_b for a <= b, of which there are P. Its terms are
  rounded four times each and added up, so that it is off by at most (P + 4) u |A| R^2. The root of
  that is what the width is off by.

A little is added for combining the two, and for numbers that single precision takes for 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from faircascade.types import Floats, Ints, Singles

ROUNDOFF = 2.0**-24
"""Largest relative error of one rounding in float32."""
_TINY = 2.0**-100
"""More than all that is lost because it is next to nothing."""
_BLOCK = 2_048
"""Items whose products stay in the cache."""


def mean_in_single(theta: Floats, x: Singles, radius: float) -> tuple[Singles, Floats]:
    """Return theta . x for theta (d, n) and x (d, p), (n, p), and how far it may be off, (n,)."""
    d = len(theta)
    norm = np.sqrt((theta * theta).sum(axis=0))
    error = ((d + 6) * ROUNDOFF * radius + _TINY) * norm + _TINY * (1.0 + radius)
    return theta.T.astype(np.float32) @ x, error


def width_in_single(M_inv: Floats, x: Singles, radius: float) -> tuple[Singles, Floats] | None:
    """Return sqrt(x^T A x) of one user, A (d, d, 1), (1, p), and how far it may be off, (1,).

    None if A is not positive definite.
    """
    try:
        L = np.linalg.cholesky(M_inv[:, :, 0])
    except np.linalg.LinAlgError:
        return None
    d, size = len(L), float(np.sqrt((L * L).sum()))
    y = L.T.astype(np.float32) @ x  # (d, p)
    width = np.sqrt(np.einsum("ap,ap->p", y, y))
    error = (2 * d + 12) * ROUNDOFF + math.sqrt((d + 2) * 2.0**-53)
    return width[None], np.array([error * size * radius + _TINY * (1.0 + size) * (1.0 + radius)])


def widths_in_single(M_inv: Floats, x: Singles, radius: float) -> tuple[Singles, Floats]:
    """Return sqrt(x^T A x) of many users, A (d, d, n), (n, p), and how far they are off, (n,)."""
    d, p = x.shape
    a, b = _upper(d)
    packed = np.where(a == b, 1.0, 2.0)[:, None] * M_inv[a, b]  # (pairs, n)
    factors = np.ascontiguousarray(packed.T, dtype=np.float32)
    squares = np.empty((len(factors), p), dtype=np.float32)
    for first in range(0, p, _BLOCK):
        part = x[:, first : first + _BLOCK]
        np.matmul(factors, part[a] * part[b], out=squares[:, first : first + _BLOCK])
    np.maximum(squares, 0.0, out=squares)
    norm = np.sqrt((M_inv * M_inv).sum(axis=(0, 1)))
    error = (len(a) + 4) * ROUNDOFF
    share = math.sqrt(error) + 8 * ROUNDOFF
    off = share * radius * np.sqrt(norm) + _TINY * (1.0 + norm) * (1.0 + radius)
    return np.sqrt(squares, out=squares), off


@lru_cache(maxsize=64)
def _upper(d: int) -> tuple[Ints, Ints]:
    return np.triu_indices(d)
