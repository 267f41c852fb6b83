"""Score items for users and choose their slates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.policies import Policy
from faircascade.rerankers.ledger import Ledger
from faircascade.service.stores.base import Slots
from faircascade.types import Floats, Ints, Items, Pool, Slates, Users

_PAIRS_MEMORY = 2**28
"""Bytes that products of features may take; above that, users are scored a few at a time."""
_SCORES_MEMORY = 2**26
"""Bytes that scores of all users and items may take at a time."""
_FEW_USERS = 7


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoringJob:
    """Slates of one length, out of one pool."""

    policy: Policy
    pool: Pool
    k: int
    users: Sequence[str]
    sums: Floats
    """(n, s)."""
    rounds: Ints
    """(n,)."""
    accounts: Sequence[Mapping[int, int]]
    """Each user's, if the policy's ledger scope is `user`."""
    everybody: Ints
    """Exposure units of every item of the catalogue, (m,), if its ledger scope is `global`."""
    seed: int

    @property
    def size(self) -> int:
        """Pairs of user and item to score."""
        return len(self.users) * len(self.pool)

    @property
    def _dim(self) -> int:
        """How many numbers of an item count."""
        return self.policy.dim_of(self.pool.items)

    def run(self) -> Slates:
        """Return the slates of all users, (n, k), catalogue rows."""
        n = len(self.users)
        if n == 1:
            return self._slates(np.arange(1))
        items = np.empty((n, self.k), dtype=np.int64)
        scores = np.empty((n, self.k))
        for part in self._parts():
            slates = self._slates(part)
            items[part], scores[part] = slates.items, slates.scores
        return Slates(items=items, scores=scores)

    def _parts(self) -> Iterator[Ints]:
        """Yield which users are scored together.

        New users go separately: for them all items are tied, which is quick to decide only among
        themselves.
        """
        step = _users_at_once(self._dim, len(self.pool))
        known = self.sums.any(axis=1)
        for kind in (~known, known):
            rows = np.flatnonzero(kind)
            yield from (rows[first : first + step] for first in range(0, len(rows), step))

    def _slates(self, part: Ints) -> Slates:
        users = Users(ids=np.array([self.users[row] for row in part.tolist()]))
        state = self.policy.from_sums(users, self.sums[part], self._dim, ledger=self._ledger(part))
        return self.policy.recommend(
            state, slice(None), self.pool, self.k, round=self.rounds[part], seed=self.seed
        )

    def _ledger(self, part: Ints) -> Ledger | None:
        items, scope = self.pool.items, self.policy.ledger_scope
        if scope is None:
            return None
        if scope == "global":
            units = self.everybody[None].copy()
        else:
            units = np.stack([_columns(self.accounts[row], items) for row in part.tolist()])
        return Ledger(
            scope=scope, ids=items.ids, units=units, fresh=np.zeros(len(items), dtype=np.int64)
        )


def _users_at_once(d: int, p: int) -> int:
    if d * (d + 1) // 2 * p * 8 > _PAIRS_MEMORY:
        return _FEW_USERS
    return max(1, _SCORES_MEMORY // int(8 * p))


def _columns(account: Mapping[int, int], items: Items) -> Ints:
    """Return the units of an account by catalogue row; items that were removed have none."""
    units = np.zeros(len(items), dtype=np.int64)
    slots = np.fromiter(account.keys(), dtype=np.int32)
    there = np.isin(slots, items.ids)
    values = np.fromiter(account.values(), dtype=np.int64)
    units[np.searchsorted(items.ids, slots[there])] = values[there]
    return units


def rows_to_slots(slates: Slates, items: Items) -> Slots:
    """Return the slots of the items of slates, (n, k)."""
    return np.asarray(items.ids[slates.items], dtype=np.int32)
