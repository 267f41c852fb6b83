"""The click chain model: whether users go on after a click depends on what they found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.clicks.sequential import Continuation, SequentialModel
from faircascade.probabilities import check_probabilities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints, Pool

_ENTRIES_AT_ONCE = 1 << 23
"""Entries of the table of choices that are held at a time."""


@register("ccm", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CCM(SequentialModel):
    """Users go on with probability t1 without a click, and t2 (1 - w) + t3 w after a click on an
    item of attraction w (Guo 2009). The defaults are a choice, fitted to no data.

    A slate is worth its expected number of clicks. Where t3 is small, an attractive item costs the
    clicks below it, so that descending attraction need not be best. With g(w) the probability of
    going on, exchanging neighbours shows that any set of items is best in the order of
    w / (1 - g(w)), the largest first; which set is best is found by dynamic programming over the
    items in that order.
    """

    t1: float = 0.9
    """Probability of going on without a click, in [0, 1]."""
    t2: float = 0.7
    """After a click on an item that does not attract at all, in [0, 1]."""
    t3: float = 0.3
    """After a click on one that attracts everybody, in [0, 1]."""

    def __post_init__(self) -> None:
        for name in ("t1", "t2", "t3"):
            check_probabilities(name, getattr(self, name))

    def numbers(self, k: int) -> Continuation:
        return Continuation(ignored=self.t1, clicked=np.full(k, self.t2), slope=self.t3 - self.t2)

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        n, p = attraction.rough.shape
        at_once = max(1, _ENTRIES_AT_ONCE // (p * k))
        found = [
            pool.rows[self._best(_all_of(attraction, first, min(n, first + at_once)), k, pool)]
            for first in range(0, n, at_once)
        ]
        return np.concatenate(found)

    def _best(self, w: Floats, k: int, pool: Pool) -> Ints:
        """Return the best slates for attraction (n, p), as columns, (n, k)."""
        n, p = w.shape
        going = (1.0 - w) * self.t1 + w * (self.t2 + (self.t3 - self.t2) * w)
        leaving = 1.0 - going
        ratio = np.divide(w, leaving, out=np.where(w > 0, np.inf, 0.0), where=leaving > 0)
        order = np.lexsort((np.broadcast_to(pool.keys, w.shape), -ratio), axis=1)  # (n, p)
        w, going = np.take_along_axis(w, order, 1), np.take_along_axis(going, order, 1)
        most = np.full((n, k + 1), -np.inf)  # from so many items, of those that come later
        most[:, 0] = 0.0
        taken = np.zeros((p, n, k + 1), dtype=bool)
        for item in range(p - 1, -1, -1):
            there = min(k, p - item)
            with_it = w[:, item, None] + going[:, item, None] * most[:, :there]
            taken[item, :, 1 : there + 1] = with_it >= most[:, 1 : there + 1]
            most[:, 1 : there + 1] = np.maximum(with_it, most[:, 1 : there + 1])
        return np.take_along_axis(order, _walk(taken, k), axis=1)


def _all_of(attraction: Scores, first: int, last: int) -> Floats:
    """Return the exact attraction of all items for some users, (n, p)."""
    rows = [attraction.exact(slice(r, r + 1), slice(None)).reshape(-1) for r in range(first, last)]
    return np.stack(rows)


def _walk(taken: Bools, k: int) -> Ints:
    """Return which items are taken, by how many are left to take, (n, k)."""
    p, n, _ = taken.shape
    left, chosen = np.full(n, k), np.empty((n, k), dtype=np.int64)
    for item in range(p):
        here = np.flatnonzero(taken[item, np.arange(n), left])
        chosen[here, k - left[here]] = item
        left[here] -= 1
    return chosen
