"""From scores to lists: the K largest, with ties that float noise cannot decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faircascade.numerics import ROUNDOFF, mean_error, ordered_dot
from faircascade.random import Words, draws
from faircascade.types import Floats, Ints, Lists, Pool

RESOLUTION = 2.0**-32
"""Scores are compared as multiples of this (a power of two, so that scaling is exact)."""

_AT_ONCE = 4096
"""Pairs of user and item that are scored exactly in one go, which bounds the memory."""

TieKeys = Callable[[Ints, Ints], Words]
"""Keys of (rows, columns): among equal scores the smaller key comes first."""


def tie_keys(seed: int, users: Words, round: int | Ints, pool: Pool) -> TieKeys:
    """Return ties drawn for (seed, user, round, item), so that no item is favoured for ever."""
    rounds = np.broadcast_to(np.asarray(round), users.shape)

    def keys(rows: Ints, columns: Ints) -> Words:
        return draws(seed, "tie", users[rows], rounds[rows], pool.keys[columns])

    return keys


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all items, fast and a little off, and exact ones for those near the top.

    Fast sums (a matrix product) round differently from one machine and engine to the next. Lists
    depend on the exact scores alone, which are sums in a fixed order.
    """

    rough: Floats
    """Of every item of the pool, (n, p)."""
    error: Floats
    """How far rough and exact scores can be apart, (n,)."""
    exact: Callable[[Ints, Ints], Floats]
    """Scores of (rows, columns)."""

    @classmethod
    def final(cls, scores: Floats) -> Scores:
        """Return scores that are exact as they are."""
        return cls(scores, np.zeros(len(scores)), lambda rows, columns: scores[rows, columns])

    def replaced(
        self, rough: Floats, factor: float, exact: Callable[[Ints, Ints], Floats]
    ) -> Scores:
        """Return scores that are these times a factor, plus something known exactly."""
        largest = factor * np.abs(self.rough).max(axis=1) + np.abs(rough).max(axis=1)
        return Scores(rough, factor * self.error + 8.0 * ROUNDOFF * largest, exact)

    def of(self, lists: Ints, pool: Pool) -> Floats:
        """Return the exact scores of listed items (n, K), as they are compared, (n, K)."""
        n, k = lists.shape
        columns = np.searchsorted(pool.rows, lists).reshape(-1)
        exact = self.exact(np.repeat(np.arange(n), k), columns)
        return np.asarray(np.rint(exact / RESOLUTION) * RESOLUTION).reshape(n, k)


def top_k(scores: Scores, k: int, pool: Pool, ties: TieKeys) -> Lists:
    """Return the k items of the pool with the largest scores, in descending order."""
    too_low = _lower_bound(scores.rough, k) - 2.0 * scores.error - RESOLUTION
    rows, columns = np.nonzero(~(scores.rough < too_low[:, None]))  # a bound of NaN rules out none
    parts = [
        scores.exact(rows[first : first + _AT_ONCE], columns[first : first + _AT_ONCE])
        for first in range(0, len(rows), _AT_ONCE)
    ]
    values = np.rint(np.concatenate(parts) / RESOLUTION)
    order = np.lexsort((ties(rows, columns), -values, rows))
    first = np.searchsorted(rows, np.arange(len(scores.rough)))
    best = order[first[:, None] + np.arange(k)]  # (n, k)
    return Lists(items=pool.rows[columns[best]], scores=values[best] * RESOLUTION)


def _lower_bound(scores: Floats, k: int) -> Floats:
    """Return a level that is not above the k-th largest score, (n,).

    With the columns in at least k groups, the k-th largest of the groups' maxima is such a level.
    """
    n, p = scores.shape
    size = max(1, min(16, p // (4 * k)))
    groups = p // size
    maxima = scores[:, : groups * size].reshape(n, size, groups).max(axis=1)
    return np.partition(maxima, groups - k, axis=1)[:, groups - k]


def most_attractive(preferences: Floats, pool: Pool, k: int) -> Lists:
    """Return each user's optimal list: the k largest w = clip(x . theta*, 0, 1), ties by key."""
    theta, x = preferences.T, pool.by_feature  # (d, n), (d, p)
    scores = Scores(
        np.clip(preferences @ x, 0.0, 1.0),
        mean_error(theta, pool.radius),
        lambda rows, columns: np.clip(ordered_dot(theta[:, rows], x[:, columns]), 0.0, 1.0),
    )
    return top_k(scores, k, pool, lambda _rows, columns: pool.keys[columns])
