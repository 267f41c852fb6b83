"""Arithmetic whose result must not depend on who does it: every engine gets the same bits.

Sums are taken in index order, one addition after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import factorial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import OpenBLASController, threadpool_limits

Floats = NDArray[np.float64]

_EXP_SERIES = tuple(1.0 / factorial(n) for n in range(15, -1, -1))

_FEW = 8192
"""Numbers up to which a call costs more than the arithmetic in it."""
ROUNDOFF = 2.0**-53
"""Largest relative error of one rounding in float64."""
RESIDUAL = 2.0**-28
"""Where |M M^-1 - I| is found above this, inverses are computed anew from then on."""
AIM = 2.0**-30
"""And so often that it is about this."""
LARGEST_RESIDUAL = 1e-8
"""Where it is above this after a single update, float64 cannot hold the inverse."""
_limits: list[threadpool_limits] = []
"""The limit on BLAS threads, one entry for each of those who asked for it."""
_entrance = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra to one thread: several would round in another order.

    The limit is the whole process's, so it stays until the last of those who asked for it leaves.
    """
    import scipy.linalg  # brings a BLAS of its own, which must be loaded to be limited
    import scipy.sparse.linalg  # noqa: F401

    with _entrance:
        if not _limits:
            _take_control()
            _limits.append(threadpool_limits(1, user_api="blas"))
        else:
            _limits.append(_limits[0])
    try:
        yield
    finally:
        with _entrance:
            if len(_limits) == 1:
                _take_control()
                _limits[0].restore_original_limits()
                _take_control()
            _limits.pop()


def _take_control() -> None:
    """Let this thread set limits: threadpoolctl 3.8 ignores all threads but the first to do so."""
    take = getattr(OpenBLASController, "clear_controlling_thread", None)
    if take is not None:
        take(force=True)


def ordered_sum(terms: Floats) -> Floats:
    """Sum over the first axis in index order."""
    total: Floats = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def ordered_dot(a: Floats, b: Floats) -> Floats:
    """Return sum_i a_i b_i over the first axis in index order, without the array of products."""
    if a.size < _FEW and b.size < _FEW:
        return _last_sum(a * b)
    total: Floats = a[0] * b[0]
    for left, right in zip(a[1:], b[1:], strict=True):
        total += left * right
    return total


def quadratic_form(A: Floats, x: Floats) -> Floats:
    """Return x^T A x for symmetric A (d, d, ...) and x (d, ...), from the upper half of A."""
    d = len(x)
    if A.size < _FEW and x.size * d < _FEW:
        above = _above(d).reshape(d, d, *(1,) * (A.ndim - 2))
        beside = _last_sum((A * above).swapaxes(0, 1) * x[:, None])  # zeros first change nothing
        return _last_sum(x * (A[np.arange(d), np.arange(d)] * x + (beside + beside)))
    total: Floats = np.zeros(np.broadcast_shapes(A.shape[2:], x.shape[1:]))
    for a in range(d):
        inner = A[a, a] * x[a]
        if a + 1 < d:
            beside = ordered_dot(A[a, a + 1 :], x[a + 1 :])
            inner = inner + (beside + beside)
        total += x[a] * inner
    return total


def _last_sum(terms: Floats) -> Floats:
    """Return what `ordered_sum` does, in fewer steps and more memory: good for few numbers."""
    return np.asarray(np.add.accumulate(terms, axis=0)[-1])


@lru_cache(maxsize=64)
def _above(d: int) -> Floats:
    """Return 1 above the diagonal and 0 elsewhere, (d, d)."""
    return np.triu(np.ones((d, d)), 1)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) for x cut to [-30, 30], to about 1e-14.

    No library's exponential, which differ in the last bit: exp(-x) is exp(-x / 64) six times
    squared.
    """
    y = np.minimum(np.maximum(x, -30.0), 30.0) * -0.015625
    power = 0.0 * y
    for coefficient in _EXP_SERIES:
        power = power * y + coefficient
    for _ in range(6):
        power = power * power
    return 1.0 / (1.0 + power)


def mean_error(theta: Floats, radius: float) -> Floats:
    """Bound the rounding of theta . x for |x| <= radius and theta (d, n), in any order, (n,)."""
    norm: Floats = np.sqrt((theta * theta).sum(axis=0))
    return (len(theta) + 2) * ROUNDOFF * radius * norm


def inverse(A: Floats) -> Floats:
    """Return the inverse of symmetric positive definite matrices (d, d, n).

    Gauss-Jordan elimination; the next pivot is the largest that is left. Without that order
    |A A^-1 - I| is ten times larger where some directions have hardly been seen.
    """
    d, n = len(A), A.shape[2]
    A, every = A.copy(), np.arange(n)
    upper = np.triu(np.ones((d, d), dtype=bool))[:, :, None]
    left = np.ones((d, n), dtype=bool)
    for _ in range(d):
        pivot = np.where(left, A[np.arange(d), np.arange(d)], -np.inf).argmax(axis=0)  # (n,)
        left[pivot, every] = False
        column = A[:, pivot, every]  # (d, n)
        scaled = column / column[pivot, every]
        product = column[:, None] * scaled[None]
        A -= np.where(upper, product, product.transpose(1, 0, 2))
        A[:, pivot, every] = scaled
        A[pivot, :, every] = scaled.T
        A[pivot, pivot, every] = -1.0 / column[pivot, every]
    return -A


def cholesky(A: Floats) -> Floats:
    """Return the lower factor of symmetric positive definite matrices (d, d, n)."""
    d = len(A)
    L = np.zeros_like(A)
    for j in range(d):
        for i in range(j, d):
            rest = A[i, j].copy()
            for c in range(j):
                rest -= L[i, c] * L[j, c]
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
    return L
