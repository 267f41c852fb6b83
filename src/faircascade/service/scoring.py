"""Score items for users and choose their slates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.policies import Policy
from faircascade.propensities import Propensities
from faircascade.rerankers.ledger import Ledger
from faircascade.service.stores.base import Slots
from faircascade.types import Floats, Ints, Items, Pool, SlatePropensities, Slates, Users

_PAIRS_MEMORY = 2**28
"""Bytes that products of features may take; above that, users are scored a few at a time."""
_SCORES_MEMORY = 2**19
"""Bytes that scores of users scored together should take: several such tables stay in the cache."""
_MANY_USERS = 16
"""So many are scored together however large their tables become: fewer cost more each."""
_FEW_USERS = 7


@dataclass(frozen=True, slots=True, eq=False)
class RankedSlate:
    """A slate that can be handed out."""

    slots: Slots
    """Items from the top, (k,)."""
    features: Floats
    """Features, then topics, (k, d + t)."""
    scores: Sequence[float | None]
    """What the items were ranked by; None for those that were not."""
    propensities: SlatePropensities | None = None
    """How likely it was, if that is wanted and known."""
    explored: bool = False
    """Whether logged randomisation drew a position of it."""
    pinned: tuple[int, ...] = ()
    """Positions of items that the policy did not choose."""


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
    rates: bool = False
    """Whether slates are to say how likely they were."""

    @property
    def nothing(self) -> RankedSlate:
        """A slate without items, where rules leave none."""
        empty = np.empty(0, dtype=np.int32)
        return RankedSlate(slots=empty, features=np.empty((0, 0)), scores=[])

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
        return self.policy.ledger_of(items, units)


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
        if len(self.users) == 1:
            return self._ranked(np.arange(1))
        out: dict[int, RankedSlate] = {}
        for part in self._parts():
            out.update(zip(part.tolist(), self._ranked(part), strict=True))
        return [out[row] for row in range(len(self.users))]

    def _parts(self) -> Iterator[Ints]:
        """Yield which users are scored together.

        New users go separately: for them all items are tied, which is quick to decide only among
        themselves.
        """
        step = _users_at_once(self.policy.dim_of(self.pool.items), len(self.pool))
        known = self.sums.any(axis=1)
        for kind in (~known, known):
            rows = np.flatnonzero(kind)
            yield from np.array_split(rows, -(-len(rows) // step)) if len(rows) else ()

    def _ranked(self, part: Ints) -> list[RankedSlate]:
        """Return the slates of some of the users."""
        every, seed, rounds = slice(None), self.seed, self.rounds[part]
        slates = self.policy.recommend(
            self._state(part), every, self.pool, self.k, round=rounds, seed=seed
        )
        known = None
        if self.rates:  # with the state as it was: recommending leaves its mark on a ledger
            known = self.policy.propensities(
                self._state(part), every, self.pool, slates.items, round=rounds, seed=seed
            )
        return ranked_slates(slates, self.pool.items, known)

    def _state(self, part: Ints) -> Any:
        users = Users(ids=np.array([self.users[row] for row in part.tolist()]))
        items = self.pool.items
        return self.policy.from_sums(
            users, self.sums[part], self.policy.dim_of(items), ledger=self.ledger(part, items)
        )


def ranked_slates(
    slates: Slates, items: Items, known: Propensities | None = None
) -> list[RankedSlate]:
    """Return slates one by one, with what they show and how likely they were, if that is known."""
    slots = np.asarray(items.ids[slates.items], dtype=np.int32)  # (n, k)
    shown = [items.features[slates.items], items.topics[slates.items]]
    features = np.concatenate(shown, axis=2)  # (n, k, d + t)
    n = len(slots)
    chances: Sequence[SlatePropensities | None]
    chances = [None] * n if known is None else propensities_of_each(known)
    explored = [False] * n if slates.explored is None else slates.explored.tolist()
    return list(map(RankedSlate, slots, features, slates.scores.tolist(), chances, explored))


def propensities_of_each(known: Propensities) -> list[SlatePropensities]:
    """Return propensities slate by slate."""
    single = known.item_position
    alone = [None] * len(known.cascade) if single is None else single.tolist()
    return [
        SlatePropensities.of(slate=down[-1], cascade=down, item_position=one)
        for down, one in zip(known.cascade.tolist(), alone, strict=True)
    ]


def _users_at_once(d: int, p: int) -> int:
    if d * (d + 1) // 2 * p * 8 > _PAIRS_MEMORY:
        return _FEW_USERS
    return max(_MANY_USERS, _SCORES_MEMORY // int(8 * p))


def _columns(account: Mapping[int, int], items: Items) -> Ints:
    """Return the units of an account by catalogue row; items that were removed have none."""
    units = np.zeros(len(items), dtype=np.int64)
    slots = np.fromiter(account.keys(), dtype=np.int32)
    there = np.isin(slots, items.ids)
    values = np.fromiter(account.values(), dtype=np.int64)
    units[np.searchsorted(items.ids, slots[there])] = values[there]
    return units
