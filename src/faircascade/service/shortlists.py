"""The best items of each of some users, found in one piece of the catalogue after the other.

A piece is scored roughly, and only items that may still get among the best are scored exactly. What
comes out is what `ranking.top_k` would find in all pieces at once: both order by exact scores,
rounded to the resolution of ties, and equal ones by keys that belong to user, round and item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.random import Words, absorb
from faircascade.ranking import RESOLUTION, Scores, lower_bound
from faircascade.types import Bools, Floats, Ints, Pool, Rows

Scoring = Callable[[Rows], Scores]
"""Scores of the items of a piece for some of the users."""

_AT_ONCE = 4_096
"""Pairs of user and item that are scored exactly in one go."""
_CROWD = 8
"""Items that may get among the best, for each place, from which on a user is looked at alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Shortlist:
    """Items in the order of a user's ranking."""

    values: Floats
    """Exact scores as multiples of the resolution of ties, (k,)."""
    keys: Words
    """What decides between equal ones, (k,)."""
    rows: Ints
    """Rows of the catalogue, (k,)."""

    def best(self, k: int) -> Shortlist:
        """Return the first k in order."""
        order = np.lexsort((self.keys, -self.values))[:k]
        return Shortlist(self.values[order], self.keys[order], self.rows[order])

    def take(self, places: Sequence[int]) -> Shortlist:
        """Return some of them, in their order."""
        rows = list(places)
        return Shortlist(self.values[rows], self.keys[rows], self.rows[rows])

    def with_others(self, others: Shortlist) -> Shortlist:
        """Return both, in no order."""
        return Shortlist(
            np.concatenate([self.values, others.values]),
            np.concatenate([self.keys, others.keys]),
            np.concatenate([self.rows, others.rows]),
        )


NOTHING = Shortlist(np.empty(0), np.empty(0, np.uint64), np.empty(0, np.int64))


class Shortlists:
    """The best items found so far."""

    def __init__(self, depth: Ints, lots: Words) -> None:
        """Look for so many items for each user (n,), whose ties are drawn with `lots` (n,)."""
        self.found = [NOTHING] * len(depth)
        self._depth = depth
        self._lots = lots
        self._level = np.full(len(depth), -np.inf)
        """What an item needs to get among the best, in multiples of the resolution, (n,)."""

    def offer(
        self, piece: Pool, rows: Callable[[Ints], Ints], left_out: list[Ints], score: Scoring
    ) -> None:
        """Take in what belongs there of a piece.

        `rows` returns the rows of the catalogue of some columns, `left_out` are the columns that
        are left out for each user, ascending.
        """
        scores = score(slice(None))
        users = np.arange(len(self._depth))
        near = self._near(scores, users, left_out)
        counts = np.count_nonzero(near, axis=1)
        crowd = np.maximum(_CROWD * self._depth, len(piece) // 8)
        for user in np.flatnonzero(counts > crowd).tolist():
            near[user] = False
            alone = scores if len(users) == 1 else score(slice(user, user + 1))
            self._offer_alone(piece, rows, alone, user, left_out[user])
        owners, columns = np.divmod(np.flatnonzero(near), len(piece))
        if len(owners):
            self._compare(piece, rows, scores, owners, owners, columns)

    def _near(self, scores: Scores, users: Ints, left_out: list[Ints]) -> Bools:
        """Return which items may be among the best, (n, p).

        An exact score is at most `error` from the rough one, and at most half the resolution from
        what it is rounded to.
        """
        rough, p = scores.rough, scores.rough.shape[1]
        bound = self._level[users] * RESOLUTION - scores.error - RESOLUTION
        for row in np.flatnonzero(np.isneginf(self._level[users])).tolist():
            deep = int(self._depth[users[row]]) + len(left_out[row])
            if deep < p:
                least = float(lower_bound(rough[row : row + 1], deep)[0])
                bound[row] = least - 2.0 * scores.error[row] - RESOLUTION
        if rough.dtype == np.float32:  # rounded down
            bound = np.nextafter(bound.astype(np.float32), np.float32(-np.inf))
        near = np.logical_not(rough < bound[:, None])  # what is not a number rules out nothing
        for row, columns in enumerate(left_out):
            near[row, columns] = False
        return near

    def _compare(
        self,
        piece: Pool,
        rows: Callable[[Ints], Ints],
        scores: Scores,
        users: Ints,
        places: Ints,
        columns: Ints,
    ) -> None:
        """Score items exactly, by ascending user, and keep those that belong to the best.

        `places` are the users' rows in the scores.
        """
        values = _exact(scores, places, columns)
        good = values >= self._level[users]
        users, columns, values = users[good], columns[good], values[good]
        if not len(users):
            return
        keys = absorb(self._lots[users], piece.keys[columns])
        starts = np.flatnonzero(np.diff(users, prepend=-1))
        for begin, end in zip(starts, [*starts[1:], len(users)], strict=True):
            part = Shortlist(values[begin:end], keys[begin:end], rows(columns[begin:end]))
            self._keep(int(users[begin]), part)

    def _keep(self, user: int, more: Shortlist) -> None:
        depth = int(self._depth[user])
        found = self.found[user].with_others(more).best(depth)
        self.found[user] = found
        if len(found.values) == depth:
            self._level[user] = found.values[-1]

    def _offer_alone(
        self,
        piece: Pool,
        rows: Callable[[Ints], Ints],
        scores: Scores,
        user: int,
        left_out: Ints,
    ) -> None:
        """Take in what belongs there for one user, whose scores may be closer to exact ones."""
        near = self._near(scores, np.array([user]), [left_out])
        columns = np.flatnonzero(near[0])
        if len(columns) <= max(_CROWD * int(self._depth[user]), len(piece) // 8):
            users, places = np.full(len(columns), user), np.zeros(len(columns), dtype=np.int64)
            if len(columns):
                self._compare(piece, rows, scores, users, places, columns)
            return
        values = scores.exact(slice(0, 1), slice(None)).reshape(-1)
        values = np.rint(values / RESOLUTION)
        values[left_out] = -np.inf
        columns = leading(values, int(self._depth[user]), float(self._level[user]))
        keys = absorb(self._lots[user], piece.keys[columns])
        self._keep(user, Shortlist(values[columns], keys, rows(columns)))


def leading(values: Floats, k: int, level: float) -> Ints:
    """Return where the k largest are, with all that are equal to the last; none below a level."""
    if k < len(values):
        level = max(level, float(np.partition(values, len(values) - k)[len(values) - k]))
    return np.flatnonzero((values >= level) & (values > -np.inf))


def _exact(scores: Scores, rows: Ints, columns: Ints) -> Floats:
    """Return exact scores as multiples of the resolution."""
    parts = [
        scores.exact(rows[first : first + _AT_ONCE], columns[first : first + _AT_ONCE])
        for first in range(0, len(rows), _AT_ONCE)
    ]
    return np.asarray(np.rint(np.concatenate(parts) / RESOLUTION))
