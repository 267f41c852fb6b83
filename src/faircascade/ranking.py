"""From scores to lists: the K largest, with ties that float noise cannot decide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faircascade.random import Words, draws
from faircascade.types import Floats, Ints, Lists, Pool

RESOLUTION = 2.0**-32
"""Scores are compared as multiples of this (a power of two, so that scaling is exact)."""

TieKeys = Callable[[Ints, Ints], Words]
"""Keys of (rows, columns): among equal scores the smaller key comes first."""


def tie_keys(seed: int, users: Words, round: int | Ints, pool: Pool) -> TieKeys:
    """Return ties drawn for (seed, user, round, item), so that no item is favoured for ever."""
    rounds = np.broadcast_to(np.asarray(round), users.shape)

    def keys(rows: Ints, columns: Ints) -> Words:
        return draws(seed, "tie", users[rows], rounds[rows], pool.keys[columns])

    return keys


def top_k(scores: Floats, k: int, pool: Pool, ties: TieKeys) -> Lists:
    """Return the k items of the pool with the largest scores (n, p), in descending order."""
    rows, columns = np.nonzero(scores >= _lower_bound(scores, k)[:, None])
    values = np.rint(scores[rows, columns] / RESOLUTION)
    order = np.lexsort((ties(rows, columns), -values, rows))
    first = np.searchsorted(rows, np.arange(len(scores)))
    best = order[first[:, None] + np.arange(k)]  # (n, k)
    return Lists(items=pool.rows[columns[best]], scores=values[best] * RESOLUTION)


def _lower_bound(scores: Floats, k: int) -> Floats:
    """Return a level that all of the k largest scores reach after rounding, (n,).

    With the columns in at least k groups, the k-th largest of the groups' maxima is not above the
    k-th largest score. One unit less allows for the rounding of both.
    """
    n, p = scores.shape
    size = max(1, min(16, p // (4 * k)))
    groups = p // size
    maxima = scores[:, : groups * size].reshape(n, size, groups).max(axis=1)
    return np.partition(maxima, groups - k, axis=1)[:, groups - k] - RESOLUTION


def most_attractive(preferences: Floats, pool: Pool, k: int) -> Lists:
    """Return each user's optimal list: the k largest w = clip(x . theta*, 0, 1), ties by key."""
    scores = np.clip(preferences @ pool.by_feature, 0.0, 1.0)  # (n, p)
    return top_k(scores, k, pool, lambda _rows, columns: pool.keys[columns])
