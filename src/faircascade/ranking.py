"""From scores to slates: the K largest, with ties that float noise cannot decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from faircascade.numerics import ROUNDOFF, mean_error, ordered_dot
from faircascade.random import Words, absorb, draws
from faircascade.types import Bools, Floats, Ints, Pool, Rows, Singles, Slates

RESOLUTION = 2.0**-32
"""Scores are compared as multiples of this (a power of two, so that scaling is exact)."""

_AT_ONCE = 4096
"""Pairs of user and item that are scored exactly in one go, which bounds the memory."""

_CROWD = 8
"""Items near the top for each place of a slate from which on a row may be looked at as a whole."""

Exact = Callable[[Rows, Rows], Floats]

TieKeys = Callable[[Ints, Ints], Words]
"""Keys of (rows, columns): among equal scores the smaller key comes first."""


def tie_keys(seed: int, users: Words, round: int | Ints, pool: Pool) -> TieKeys:
    """Return ties drawn for (seed, user, round, item), so that no item is favoured for ever."""
    lots = tie_lots(seed, users, round)

    def keys(rows: Ints, columns: Ints) -> Words:
        return absorb(lots[rows], pool.keys[columns])

    return keys


def tie_lots(seed: int, users: Words, round: int | Ints) -> Words:
    """Return what the ties of each user in a round are drawn with, (n,)."""
    return draws(seed, "tie", users, np.broadcast_to(np.asarray(round), users.shape))


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all items, fast and a little off, and exact ones for those near the top.

    Fast sums (a matrix product) round differently from one machine and engine to the next. Slates
    depend on the exact scores alone, which are sums in a fixed order.
    """

    rough: Floats | Singles
    """Of every item of the pool, (n, p); in single precision only where the pool allows it."""
    error: Floats
    """How far rough and exact scores can be apart, (n,)."""
    exact: Exact
    """Scores of (rows, columns), arrays of the same length, or slices."""

    @classmethod
    def final(cls, scores: Floats) -> Scores:
        """Return scores that are exact as they are."""
        return cls(scores, np.zeros(len(scores)), lambda rows, columns: scores[rows, columns])

    def all(self) -> Floats:
        """Return the exact scores of every item, (n, p)."""
        rows, columns = (part.reshape(-1) for part in np.indices(self.rough.shape))
        return np.asarray(self.exact(rows, columns)).reshape(self.rough.shape)

    def plus(self, factor: float, other: Scores) -> Scores:
        """Return these scores plus a factor times others."""
        return Scores(
            self.rough + factor * other.rough,
            self.error + factor * other.error,
            lambda rows, columns: self.exact(rows, columns) + factor * other.exact(rows, columns),
        )

    def replaced(self, rough: Floats, factor: float, exact: Exact) -> Scores:
        """Return scores that are these times a factor, plus something known exactly."""
        largest = factor * np.abs(self.rough).max(axis=1) + np.abs(rough).max(axis=1)
        return Scores(rough, factor * self.error + 8.0 * ROUNDOFF * largest, exact)

    def without(self, slates: Ints, pool: Pool) -> Scores:
        """Return scores that list none of some items again, catalogue rows (n, j)."""
        gone = np.zeros(self.rough.shape, dtype=bool)
        np.put_along_axis(gone, np.searchsorted(pool.rows, slates), values=True, axis=1)
        return Scores(
            np.where(gone, -np.inf, self.rough),
            self.error,
            lambda rows, columns: np.where(gone[rows, columns], -np.inf, self.exact(rows, columns)),
        )

    def of(self, slates: Ints, pool: Pool) -> Floats:
        """Return the exact scores of listed items (n, K), as they are compared, (n, K)."""
        n, k = slates.shape
        columns = np.searchsorted(pool.rows, slates).reshape(-1)
        exact = self.exact(np.repeat(np.arange(n), k), columns)
        return np.asarray(np.rint(exact / RESOLUTION) * RESOLUTION).reshape(n, k)


def top_k(scores: Scores, k: int, pool: Pool, ties: TieKeys) -> Slates:
    """Return the k items of the pool with the largest scores, in descending order."""
    n, p = scores.rough.shape
    too_low = lower_bound(scores.rough, k) - 2.0 * scores.error - RESOLUTION
    near = ~(scores.rough < too_low[:, None])  # (n, p); a bound of NaN rules out none
    crowded = near.sum(axis=1) > max(_CROWD * k, p // 2)
    columns = np.empty((n, k), dtype=np.int64)
    values = np.empty((n, k))
    for row in np.flatnonzero(crowded).tolist():
        columns[row], values[row] = _best_of_all(scores, row, k, ties)
    rest = np.flatnonzero(~crowded)
    if len(rest):
        near[crowded] = False
        columns[rest], values[rest] = _best_of_few(scores, near, rest, k, ties)
    return Slates(items=pool.rows[columns], scores=values * RESOLUTION)


def _best_of_few(
    scores: Scores, near: Bools, wanted: Ints, k: int, ties: TieKeys
) -> tuple[Ints, Floats]:
    """Return the columns and scores of the best for some rows, of those near the top."""
    rows, columns = np.divmod(np.flatnonzero(near), near.shape[1])
    parts = [
        scores.exact(rows[first : first + _AT_ONCE], columns[first : first + _AT_ONCE])
        for first in range(0, len(rows), _AT_ONCE)
    ]
    values = np.rint(np.concatenate(parts) / RESOLUTION)
    order = np.lexsort((ties(rows, columns), -values, rows))
    best = order[np.searchsorted(rows, wanted)[:, None] + np.arange(k)]  # (n, k)
    return columns[best], values[best]


def _best_of_all(scores: Scores, row: int, k: int, ties: TieKeys) -> tuple[Ints, Floats]:
    """Return the columns and scores of the best of one row in which most items may be tied.

    Before anything is known of a user all are. Looking at the whole row, and sorting only what
    comes first, is much faster then.
    """
    values = np.rint(scores.exact(slice(row, row + 1), slice(None)).reshape(-1) / RESOLUTION)
    edge = np.partition(values, len(values) - k)[len(values) - k]  # the k-th largest
    first = np.flatnonzero(~(values < edge))  # more than k if some are tied at the edge
    keys = ties(np.full(len(first), row), first)
    if len(first) > k:
        above, tied = np.flatnonzero(values[first] > edge), np.flatnonzero(values[first] == edge)
        left = k - len(above)
        if len(tied) >= left:  # it is not, if some are not numbers
            chosen = np.append(above, tied[np.argpartition(keys[tied], left - 1)[:left]])
            first, keys = first[chosen], keys[chosen]
    best = first[np.lexsort((keys, -values[first]))[:k]]
    return best, values[best]


def lower_bound(scores: Floats | Singles, k: int) -> Floats:
    """Return a level that is not above the k-th largest score, (n,).

    With the columns in at least k groups, the k-th largest of the groups' maxima is such a level.
    """
    n, p = scores.shape
    size = max(1, min(16, p // (4 * k)))
    groups = p // size
    maxima = scores[:, : groups * size].reshape(n, size, groups).max(axis=1)
    return np.partition(maxima, groups - k, axis=1)[:, groups - k]


def attraction_of(preferences: Floats, pool: Pool) -> Scores:
    """Return w = clip(x . theta*, 0, 1) of every item for users with known preferences (n, d)."""
    theta, x = preferences.T, pool.by_feature  # (d, n), (d, p)
    return Scores(
        np.clip(preferences @ x, 0.0, 1.0),
        mean_error(theta, pool.radius),
        lambda rows, columns: np.clip(ordered_dot(theta[:, rows], x[:, columns]), 0.0, 1.0),
    )
