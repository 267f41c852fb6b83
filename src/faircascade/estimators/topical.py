"""Ridge regression on how much an item adds to the topics that the items above it cover."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from faircascade.estimators.base import Evidence
from faircascade.estimators.ridge import (
    Ridge,
    RidgeBeliefs,
    RidgeState,
    draw_theta,
    width_of,
)
from faircascade.random import Words
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Ints, Items, Pool, Rows


@register("topical", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Topical(Ridge):
    """Ridge on gains in topic coverage, alone or beside the features.

    A slate covers 1 - prod (1 - x) of a topic, so an item below others gains x times what they
    left of it (Yue and Guestrin, 2011). Slates are filled from the top, each position by the gains
    that are left. With features it is the hybrid model of Li et al. (2010) with both of its parts
    personal: eliminating one block of the normal equations, as they do, gives the same estimates
    and widths as one ridge on both. `SharedTopical` has a topical part that all users share.
    """

    conditional: ClassVar[bool] = True
    needs_topics: ClassVar[bool] = True

    features: bool = False
    """True if it learns from the items' features too."""

    def dim_of(self, items: Items) -> int:
        topics = int(items.topics.shape[1])
        if topics == 0:
            raise ValueError(
                f"estimator {self.name!r} needs items with topics, and these have none; "
                "give them as topics (those of ratings can be 'genre' or 'factors')"
            )
        return topics + (items.dim if self.features else 0)

    def update(self, state: RidgeState, rows: Rows, evidence: Evidence) -> None:
        Ridge.update(self, state, rows, self._learned_from(evidence))

    def increments(self, evidence: Evidence) -> Floats:
        return Ridge.increments(self, self._learned_from(evidence))

    def _learned_from(self, evidence: Evidence) -> Evidence:
        return replace(evidence, features=self.rows_of(evidence))

    def rows_of(self, evidence: Evidence) -> Floats:
        """Return what is learned from slates: features, if it has them, and gains, (n, K, d)."""
        gains = topical_gains(evidence.topics)
        return np.concatenate([evidence.features, gains], axis=2) if self.features else gains

    def beliefs(self, state: RidgeState, rows: Rows, pool: Pool) -> TopicalBeliefs:
        view = pool.with_topics if self.features else pool.by_topic
        first = pool.items.dim if self.features else 0
        return TopicalBeliefs(state.theta[:, rows], state.M_inv[:, :, rows], view, first)


def topical_gains(topics: Floats) -> Floats:
    """Return what each item of slates (n, K, t) adds to the topics covered above it, (n, K, t)."""
    left = np.ones_like(topics)
    for position in range(1, topics.shape[1]):
        left[:, position] = left[:, position - 1] * (1.0 - topics[:, position - 1])
    return topics * left


class TopicalBeliefs(RidgeBeliefs):
    """Those of a ridge whose topical weights shrink by what is left of each topic.

    Gains are x times what is left, so leaving x as it is and multiplying theta and M^-1 gives the
    same products for all items at once.
    """

    conditional: ClassVar[bool] = True

    def __init__(
        self, theta: Floats, M_inv: Floats, view: Pool, first: int, left: Floats | None = None
    ) -> None:
        """Take theta (d, n), M^-1 (d, d, n), items with topics from column `first` on, and what
        is left of each column, (d, n)."""
        self._posterior = theta, M_inv
        self._first = first
        self._left = left
        if left is not None:
            theta, M_inv = theta * left, M_inv * (left[:, None] * left[None])
        super().__init__(theta, M_inv, view)

    def given(self, above: Ints) -> TopicalBeliefs:
        theta, M_inv = self._posterior
        topics = self._pool.items.topics
        left = np.ones_like(theta)
        for position in range(above.shape[1]):
            left[self._first :] *= 1.0 - topics[above[:, position]].T
        return TopicalBeliefs(theta, M_inv, self._pool, self._first, left)

    def sample(self, scale: float, *, seed: int, users: Words, round: int | Ints) -> Scores:
        theta = draw_theta(*self._posterior, scale, seed, users, round)
        return self._products(theta if self._left is None else theta * self._left)

    def widths_of(self, slates: Ints, pool: Pool) -> Floats:
        x = self._pool.items.features[slates]  # (n, K, d), a copy
        x[:, :, self._first :] = topical_gains(x[:, :, self._first :])
        return width_of(self._posterior[1][:, :, :, None], x.transpose(2, 0, 1))
