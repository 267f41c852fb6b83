"""How likely a policy is to show logged slates, and which slates it would show itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faircascade.engine.output_checks import check_slates
from faircascade.engine.propensities import other_seed
from faircascade.errors import ParameterError
from faircascade.evaluation.estimators.slates import Chances
from faircascade.policies import Policy
from faircascade.propensities import is_drawn, knows_chances
from faircascade.types import Bools, Floats, Ints, Items, Pool

_CELLS = 1 << 22
"""Pairs of slate and item that a policy is asked about at a time."""
_QUERIES, _QUERY_CELLS = 2_000_000, 200_000_000
"""Slates, and pairs of slate and item, that the expectations of Cascade-DR may take."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PolicyQuery:
    """A policy with its items, asked for some users in a certain state."""

    policy: Policy
    items: Items
    k: int
    seed: int

    def __post_init__(self) -> None:
        if len(self.pool) < self.k:
            rule = f"must be at least {self.k} that can be shown, as the log has slates of {self.k}"
            raise ParameterError("items", rule, len(self.pool))

    @cached_property
    def pool(self) -> Pool:
        """The items that it may show."""
        return self.items.pool

    @property
    def is_random(self) -> bool:
        """Whether it draws."""
        return is_drawn(self.policy)

    def exact(self, state: Any, slates: Ints, users: Ints, rounds: Ints) -> Chances | None:
        """Return the chances of slates of catalogue rows (n, K) if the policy knows them."""
        if not (self.is_random and knows_chances(self.policy)):
            return None
        cascade, alone = np.empty(slates.shape), np.empty(slates.shape)
        for rows in self._parts(len(slates)):
            who, places = np.unique(users[rows], return_inverse=True)
            found = self.policy.propensities(
                self.policy.take(state, who),
                places.reshape(-1),
                self.pool,
                slates[rows],
                round=rounds[rows],
                seed=self.seed,
            )
            if found is None:
                return None
            cascade[rows] = found.cascade
            alone[rows] = np.nan if found.item_position is None else found.item_position
        return Chances(cascade=cascade, item_position=None if np.isnan(alone).all() else alone)

    def own(self, state: Any, users: Ints, rounds: Ints, draws: int) -> Ints:
        """Return slates that it would show to distinct users, catalogue rows (draws, n, K)."""
        found = np.empty((draws, len(users), self.k), dtype=np.int64)
        for draw in range(draws):
            seed = self.seed if draw == 0 else other_seed(self.seed, draw)
            for rows in self._parts(len(users)):
                slates = self.policy.recommend(
                    self.policy.take(state, users[rows]),
                    slice(None),
                    self.pool,
                    self.k,
                    round=rounds[rows],
                    seed=seed,
                ).items
                check_slates(slates, len(slates), self.k, self.pool, self.policy)
                found[draw, rows] = slates
        return found

    def exposure(self, state: Any, users: Ints, rounds: Ints) -> Floats | None:
        """Return the chance of each item at each position for distinct users, (n, m, K).

        Every item is asked for at every position by sliding a slate over the pool. None if the
        policy does not know it, or if that would take too long.
        """
        n, p = len(users), len(self.pool)
        if n * p > _QUERIES or n * p * p > _QUERY_CELLS:
            return None
        found = np.zeros((n, len(self.items), self.k))
        for first in range(p):
            slate = self.pool.rows[(first + np.arange(self.k)) % p]
            chances = self.exact(state, np.tile(slate, (n, 1)), users, rounds)
            if chances is None or chances.item_position is None:
                return None
            found[:, slate, np.arange(self.k)] = chances.item_position
        return found

    def query_items(self, impressions: int) -> int:
        """Return for how many items of a position a policy can be asked in reasonable time."""
        queries = min(_QUERIES, _QUERY_CELLS // len(self.pool))
        return int(min(queries // max(1, impressions * self.k), len(self.pool)))

    def _parts(self, n: int) -> Iterator[slice]:
        step = max(1, _CELLS // len(self.pool))
        return (slice(first, first + step) for first in range(0, n, step))

    @cached_property
    def showable(self) -> Bools:
        """Which catalogue rows can be shown, (m + 1,); the last is for none."""
        found = np.zeros(len(self.items) + 1, dtype=bool)
        found[self.pool.rows] = True
        return found

    def filled(self, slates: Ints) -> tuple[Ints, Bools]:
        """Return slates without gaps, and which positions the policy could fill so, (n, K).

        Positions of unknown items, and of such that the policy does not have, get any others.
        """
        inside = np.where((slates >= 0) & (slates < len(self.items)), slates, len(self.items))
        good = self.showable[inside]
        full = np.where(good, slates, -1)
        spare = self.pool.rows[: 2 * self.k]
        for position in range(self.k):
            rows = np.flatnonzero(full[:, position] < 0)
            if len(rows):
                taken = (full[rows][:, :, None] == spare).any(axis=1)  # (rows, spare)
                full[rows, position] = spare[taken.argmin(axis=1)]
        return full, good


def matches(own: Ints, slates: Ints) -> Chances:
    """Return the chances of logged slates by counting own slates (draws, n, K) that agree."""
    same = own == slates  # (draws, n, K)
    prefix = np.logical_and.accumulate(same, axis=2)
    return Chances(cascade=prefix.mean(axis=0), item_position=same.mean(axis=0))


def of_known(chances: Chances, good: Bools, known: Bools, last: Ints) -> Chances:
    """Return chances as estimators need them: 0 for what the policy does not have.

    Those of slates are unknown (NaN) if there is a gap above their last known position.
    """
    assert chances.cascade is not None
    gaps = ~known & (np.arange(known.shape[1]) <= last[:, None])
    possible = np.logical_and.accumulate(good | ~known, axis=1)
    cascade: Floats = np.where(possible, chances.cascade, 0.0)
    cascade = np.where(np.logical_or.accumulate(gaps, axis=1), np.nan, cascade)
    alone = chances.item_position
    return Chances(
        slate=cascade[np.arange(len(cascade)), last],
        cascade=cascade,
        item_position=None if alone is None else np.where(good, alone, 0.0),
    )
