"""A population in which everything is known: what slates are worth to users, what policies show.

Logs of users drawn from it are what the studies of `fc.evaluate` go through.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from faircascade.data.log import Log
from faircascade.evaluation.frozen import FrozenPolicy
from faircascade.exploration.epsilon import best_left, mingle, place_chances
from faircascade.metrics.exposure import evenness
from faircascade.metrics.tally import discounts
from faircascade.policies import Policy, Random
from faircascade.propensities import Propensities
from faircascade.types import Items, Slates, Users

POPULATION, ITEMS, DIM, K = 20_000, 12, 4, 3
_world = 0
"""Which items and population; 0 is the one that the rules of the verdict were chosen by."""
VISITS = 25
"""Impressions of each user."""
KAPPA = np.array([1.0, 0.6, 0.35])
LOGGING_EPSILON = 0.5


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    """Epsilon-greedy by preferences that are known, mixed with such that have nothing to do."""

    epsilon: float
    agreement: float
    """1 ranks as users like it, 0 as they do not care."""
    name = "greedy-by-preference"
    learns = False

    @property
    def label(self) -> str:
        return f"greedy {self.agreement:g}"

    @property
    def is_random(self) -> bool:
        return self.epsilon > 0

    def start(self, users: Users, dim: int) -> Users:
        return users

    def take(self, state: Users, users: Any) -> Users:
        return state[users]

    def join(self, states: Sequence[Users]) -> Users:
        return Users.join(states)

    def _greedy(self, state: Users, users: Any, k: int) -> np.ndarray:
        own = state.preferences
        theta = self.agreement * own[:, :DIM] + (1 - self.agreement) * own[:, DIM:]
        best = np.argsort(-(theta @ catalogue().features.T), axis=1)[:, :k]
        return best[users]

    def recommend(self, state, users, pool, k, *, round, seed) -> Slates:
        greedy = self._greedy(state, users, k)
        rng = np.random.default_rng([seed % 2**63, int(np.sum(round)), len(greedy)])
        explore, lots = rng.random((2, *greedy.shape))
        items = mingle(greedy, explore < self.epsilon, lots, pool.rows)
        return Slates(items=items, scores=np.zeros(items.shape))

    def propensities(self, state, users, pool, slates, *, round, seed) -> Propensities | None:
        if not self.epsilon:
            return None
        k = slates.shape[1]
        best = self._greedy(state, slice(None), k)
        ranks = np.full((len(best), len(pool)), k)
        np.put_along_axis(ranks, best, np.arange(k)[None], axis=1)
        rank = ranks[users[:, None], slates]  # (n, k)
        table = place_chances(self.epsilon, k, len(pool))
        return Propensities(
            cascade=chances_by_ranks(self.epsilon, k, len(pool))[tuple(rank.T)],
            item_position=table[rank, np.arange(k)],
        )


@cache
def chances_by_ranks(epsilon: float, k: int, pool: int) -> np.ndarray:
    """Return the chances of slates down to each position by the greedy ranks of their items.

    Ranks are k for items beyond the first k; (k + 1, ..., k + 1, k).
    """
    rank = np.indices((k + 1,) * k).reshape(k, -1).T
    choices = epsilon / (pool - np.arange(k)) + (1 - epsilon) * (rank == best_left(rank))
    return np.cumprod(choices, axis=1).reshape(*(k + 1,) * k, k)


LOGGING = Greedy(epsilon=LOGGING_EPSILON, agreement=0.6)


@cache
def catalogue() -> Items:
    rng = np.random.default_rng([7, _world] if _world else 7)
    return Items.of(rng.normal(size=(ITEMS, DIM)) / 2)


@cache
def population() -> Users:
    rng = np.random.default_rng([8, _world] if _world else 8)
    taste = rng.normal(size=(POPULATION, DIM)) + np.array([0.6, 0.3, 0.0, 0.0])
    other = rng.normal(size=(POPULATION, DIM)) - np.array([0.0, 0.0, 0.6, 0.3])
    return Users(ids=np.arange(POPULATION), preferences=np.hstack([taste, other]))


@cache
def attraction() -> np.ndarray:
    """Return how much each item attracts each user of the population, (n, m)."""
    return 1 / (1 + np.exp(1.2 - population().preferences[:, :DIM] @ catalogue().features.T))


def expected_clicks(model: str, w: np.ndarray) -> np.ndarray:
    """Return the clicks that slates with attraction w (n, K) are worth, (n,)."""
    return w @ KAPPA[: w.shape[1]] if model == "pbm" else 1 - np.prod(1 - w, axis=1)


def clicks(model: str, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    attracted = rng.random(w.shape) < w
    if model == "pbm":
        return attracted & (rng.random(w.shape) < KAPPA)
    return attracted & (np.cumsum(attracted, axis=1) == 1)


@dataclass(frozen=True)
class Truth:
    clicks: dict[str, float]
    equality_b: float
    equality_p: float


@cache
def truth(policy: Policy) -> Truth:
    """Return what a policy gives the population: the mean over many own slates."""
    users, pool = population(), catalogue().pool
    draws = 200 if policy.is_random else 1
    shown = np.zeros((ITEMS, K))
    worth = {"cascade": 0.0, "pbm": 0.0}
    for draw in range(draws):
        slates = policy.recommend(
            users, np.arange(len(users)), pool, K, round=draw + 1, seed=100 + draw
        ).items
        w = np.take_along_axis(attraction(), slates, axis=1)
        for model in worth:
            worth[model] += float(expected_clicks(model, w).mean()) / draws
        for position in range(K):
            shown[:, position] += np.bincount(slates[:, position], minlength=ITEMS)
    if isinstance(policy, Random):
        return Truth(worth, 1.0, 1.0)
    return Truth(worth, evenness(shown.sum(axis=1)), evenness(shown @ discounts(K)))


def simulated_log(model: str, users: int, seed: int) -> tuple[Log, Users]:
    """Return a log of users drawn from the population, and who they are."""
    rng = np.random.default_rng([11, seed, users, model == "pbm"])
    drawn = rng.integers(POPULATION, size=users)
    people = Users(ids=np.arange(users), preferences=population().preferences[drawn])
    who = np.tile(np.arange(users), VISITS)
    pool = catalogue().pool
    slates = LOGGING.recommend(people, who, pool, K, round=1, seed=int(rng.integers(2**62))).items
    chances = LOGGING.propensities(people, who, pool, slates, round=1, seed=0)
    hits = clicks(model, np.take_along_axis(attraction()[drawn[who]], slates, axis=1), rng)
    n = len(who)
    table = pa.table(
        {
            "slate_id": np.repeat(np.arange(n), K),
            "user_id": np.repeat(who, K),
            "position": np.tile(np.arange(1, K + 1), n),
            "item_id": slates.ravel(),
            "click": hits.ravel().astype(np.int8),
            "pscore": np.repeat(chances.cascade[:, -1], K),
            "pscore_cascade": chances.cascade.ravel(),
            "pscore_item_position": chances.item_position.ravel(),
        }
    )
    return Log(table, name=f"{model} {users}"), people


Row = dict[str, Any]


def frozen(policies: dict[str, Policy], people: Users, seed: int) -> dict[str, FrozenPolicy]:
    """Return policies that know the users of a log, by their labels."""
    return {
        name: FrozenPolicy(
            policy=policy,
            items=catalogue(),
            state=people,
            users=[str(user) for user in people.ids],
            rounds=[0] * len(people),
            seed=seed,
        )
        for name, policy in policies.items()
    }


def grouped(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return dict(found)


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def set_world(number: int) -> None:
    """Choose items and population, in this process."""
    global _world
    _world = number


def all_rows(
    work: Callable[[Any], list[Row]], tasks: Sequence[Any], world: int, workers: int
) -> list[Row]:
    """Return the rows of all tasks, in so many processes."""
    set_world(world)
    if workers == 1:
        return [row for task in tasks for row in work(task)]
    with ProcessPoolExecutor(workers, initializer=set_world, initargs=[world]) as pool:
        return [row for part in pool.map(work, tasks, chunksize=4) for row in part]
