"""Policies that do not learn, to measure others by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.policies.base import Policy
from faircascade.propensities import Propensities
from faircascade.random import uniforms
from faircascade.ranking import Scores, attraction_of, tie_keys, top_k
from faircascade.registry import register
from faircascade.rerankers.ledger import Ledger
from faircascade.types import Feedback, Floats, Ints, Pool, Rows, Slates, Users


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick(Policy):
    """The state is the users alone: nothing is learned."""

    learns: ClassVar[bool] = False

    @property
    def needs_features(self) -> bool:
        return False

    def scores(self, pool: Pool) -> Floats | None:
        """Return what the items of a pool score for everybody in every round, (p,).

        None if scores are drawn afresh for every slate, uniform and keyed by "random".
        """
        return None

    def recommend(
        self, state: Users, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Slates:
        keys, fixed = state.keys[users], self.scores(pool)
        if fixed is None:
            rounds = np.broadcast_to(np.asarray(round), keys.shape)
            scores = uniforms(seed, "random", keys[:, None], rounds[:, None], pool.keys[None])
        else:
            scores = np.tile(fixed, (len(keys), 1))
        return top_k(Scores.final(scores), k, pool, tie_keys(seed, keys, round, pool))

    def start(self, users: Users, dim: int) -> Users:
        return users

    def join(self, states: Sequence[Users]) -> Users:
        return Users.join(states)

    def take(self, state: Users, users: Rows) -> Users:
        return state[users]

    def sums(self, state: Users) -> Floats:
        return np.zeros((len(state), 0))

    def increments(self, feedback: Feedback) -> Floats:
        return np.zeros((len(feedback), 0))

    def from_sums(
        self, users: Users, sums: Floats, dim: int, *, ledger: Ledger | None = None
    ) -> Users:
        return users

    def arrays(self, state: Users) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, users: Users, arrays: Mapping[str, NDArray[Any]]) -> Users:
        return users


@register("random", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Random(Yardstick):
    """Every slate is a uniform draw: as even as it gets, and few clicks."""

    def propensities(
        self, state: Users, users: Rows, pool: Pool, slates: Ints, *, round: int | Ints, seed: int
    ) -> Propensities:
        choices = 1.0 / (len(pool) - np.arange(slates.shape[1]))  # (K,)
        everywhere = np.full(slates.shape, 1.0 / len(pool))
        return Propensities.of_choices(np.broadcast_to(choices, slates.shape), everywhere)


@register("most-popular", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class MostPopular(Yardstick):
    """The items most liked in the training data, the same for everyone."""

    @property
    def is_random(self) -> bool:
        return False

    def scores(self, pool: Pool) -> Floats:
        return pool.items.popularity[pool.rows]


@register("optimal", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Optimal(Yardstick):
    """Knows what attracts each user: no regret, whatever the click model and its dynamics.

    A simulator shows the best slates of the round. `recommend`, which knows no environment, shows
    the most attractive items to users whose preferences are known.
    """

    omniscient: ClassVar[bool] = True

    @property
    def is_random(self) -> bool:
        return False

    def recommend(
        self, state: Users, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Slates:
        preferences = state[users].preferences
        if preferences is None:
            raise ValueError("policy 'optimal' needs users whose preferences are known")
        attraction = attraction_of(preferences, pool)
        return top_k(attraction, k, pool, lambda _rows, columns: pool.keys[columns])
