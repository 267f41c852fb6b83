"""The environments to measure in: the paper's cell, more items, more features, a large one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from faircascade.data.base import Ratings
from faircascade.environment import Environment
from faircascade.errors import ParameterError
from faircascade.types import Floats

DIM = 10
K = 10
SAMPLE = 1000
"""Users of the paper's sample."""
NOISE = 0.02
"""Standard deviation of the noise on a feature; features of a row are about 0.2."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BenchEnvironments:
    """Environments made from one data set, each built once and when it is first needed."""

    ratings: Ratings
    users: int
    """Users to serve; items and features come from the paper's sample, or a larger one."""

    @cached_property
    def paper(self) -> Environment:
        """The paper's cell: d = 10, K = 10."""
        return self._of_dim(DIM)

    @cached_property
    def wide(self) -> Environment:
        """The same data with twice the features."""
        return self._of_dim(2 * DIM)

    @cached_property
    def topical(self) -> Environment:
        """The paper's cell, with topics found in the likes."""
        return self._of_dim(DIM, topics="factors")

    @cached_property
    def tenfold(self) -> Environment:
        """The same users and ten times the items."""
        return more_items(self.paper, copies=10)

    def _of_dim(self, dim: int, **options: Any) -> Environment:
        sample = max(self.users, SAMPLE)
        with threadpool_limits(1):  # threads of the linear algebra spin on for a while after it
            env = Environment.from_ratings(
                self.ratings, dim=dim, k=K, users=sample, world="paper", **options
            )
        if not 1 <= self.users <= len(env.users):
            raise ParameterError("users", f"must be between 1 and {len(env.users)}", self.users)
        return env.take(np.linspace(0, len(env.users) - 1, self.users).astype(np.int64))


def more_items(env: Environment, *, copies: int) -> Environment:
    """Return the environment with copies of its catalogue, all but the first with noise."""
    rng = np.random.default_rng(0)
    X = np.tile(env.items.pool.by_feature.T, (copies, 1))  # (copies * p, d)
    p = len(env.items.pool)
    X[p:] += rng.normal(scale=NOISE, size=X[p:].shape)
    return Environment.from_arrays(
        _scaled(X),
        env.preferences,
        k=env.k,
        user_ids=env.users.ids,
        name=f"{env.info['data']} x {copies}",
    )


def low_rank(*, users: int, items: int, dim: int = DIM, k: int = K) -> Environment:
    """Return random users and items, for sizes that no data set at hand has."""
    rng = np.random.default_rng(0)
    X = _scaled(rng.normal(size=(items, dim)))
    theta = np.abs(rng.normal(size=(users, dim))) * 0.05
    return Environment.from_arrays(X, theta, k=k, name="low rank")


def _scaled(X: Floats) -> Floats:
    """Give every row the norm 1 / sqrt(2) of features made from ratings."""
    return np.asarray(X / (np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)))
