"""Score items for users and choose their slates."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


@dataclass(frozen=True, slots=True, eq=False)
class RankedSlate:
    """A slate that can be handed out."""

    slots: Slots
    """Items from the top, (k,)."""
    features: Floats
    """Features, then topics, (k, d + t)."""
    scores: list[float]


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoringJob(ABC):
    """Slates for some users."""

    policy: Policy
    users: Sequence[str]
    sums: Floats
    """(n, s)."""
    rounds: Ints
    """(n,)."""
    accounts: Sequence[Mapping[int, int]]
    """Each user's, if the policy's ledger scope is `user`."""
    seed: int

    @property
    @abstractmethod
    def size(self) -> int:
        """Pairs of user and item to score."""

    @abstractmethod
    def run(self) -> list[RankedSlate]:
        """Return the slates of all users."""

    @abstractmethod
    def everybody(self, items: Items) -> Ints:
        """Return the exposure units of items, if the policy's ledger scope is `global`, (m,)."""

    def ledger(self, part: Ints, items: Items) -> Ledger | None:
        """Return the account of some of the users and items, if the policy keeps one."""
        scope = self.policy.ledger_scope
        if scope is None:
            return None
        if scope == "global":
            units = self.everybody(items)[None]
        else:
            units = np.stack([_columns(self.accounts[row], items) for row in part.tolist()])
        return Ledger(
            scope=scope, ids=items.ids, units=units, fresh=np.zeros(len(items), dtype=np.int64)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolJob(ScoringJob):
    """Slates of one length out of one pool, by the policy itself."""

    pool: Pool
    k: int
    units: Ints
    """Exposure units of every item of the pool's catalogue, (m,), if they count."""

    @property
    def size(self) -> int:
        return len(self.users) * len(self.pool)

    def everybody(self, items: Items) -> Ints:
        return self.units.copy()

    def run(self) -> list[RankedSlate]:
        n = len(self.users)
        if n == 1:
            return ranked_slates(self._slates(np.arange(1)), self.pool.items)
        items = np.empty((n, self.k), dtype=np.int64)
        scores = np.empty((n, self.k))
        for part in self._parts():
            slates = self._slates(part)
            items[part], scores[part] = slates.items, slates.scores
        return ranked_slates(Slates(items=items, scores=scores), self.pool.items)

    def _parts(self) -> Iterator[Ints]:
        """Yield which users are scored together.

        New users go separately: for them all items are tied, which is quick to decide only among
        themselves.
        """
        step = _users_at_once(self.policy.dim_of(self.pool.items), len(self.pool))
        known = self.sums.any(axis=1)
        for kind in (~known, known):
            rows = np.flatnonzero(kind)
            yield from (rows[first : first + step] for first in range(0, len(rows), step))

    def _slates(self, part: Ints) -> Slates:
        users = Users(ids=np.array([self.users[row] for row in part.tolist()]))
        items = self.pool.items
        state = self.policy.from_sums(
            users, self.sums[part], self.policy.dim_of(items), ledger=self.ledger(part, items)
        )
        return self.policy.recommend(
            state, slice(None), self.pool, self.k, round=self.rounds[part], seed=self.seed
        )


def ranked_slates(slates: Slates, items: Items) -> list[RankedSlate]:
    """Return slates one by one, with what they show."""
    slots = np.asarray(items.ids[slates.items], dtype=np.int32)  # (n, k)
    shown = [items.features[slates.items], items.topics[slates.items]]
    features = np.concatenate(shown, axis=2)  # (n, k, d + t)
    return list(map(RankedSlate, slots, features, slates.scores.tolist()))


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
