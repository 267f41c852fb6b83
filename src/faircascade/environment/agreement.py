"""How well simulated users agree with what real users went on to like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from faircascade.data.base import Ratings
from faircascade.data.prepare import (
    Sampling,
    Threshold,
    binarise,
    resolve_threshold,
    sample_users,
    split_positives,
)
from faircascade.environment.environment import Environment
from faircascade.errors import ParameterError
from faircascade.types import Bools, Floats

TOP = 10
"""Precision is that of so many items."""


class Estimate(NamedTuple):
    """A mean over users and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Attraction against likes that no part of the environment was made of.

    For each user, items that they like and that were held out are ranked among all items that
    were not used. Popularity alone, the same ranking for everybody, is what to compare with.
    """

    users: int
    """Users with something held out."""
    auc: Estimate
    """Chance that a held-out item attracts more than another one."""
    popularity_auc: Estimate
    precision: Estimate
    """Share of held-out items among the ten most attractive ones."""
    popularity_precision: Estimate


def agreement(
    ratings: Ratings,
    *,
    held_out: float = 0.2,
    seed: int = 0,
    users: int = 1000,
    sampling: Sampling = "active",
    threshold: Threshold = None,
    **options: Any,
) -> Agreement:
    """Hold out a share of each user's likes, make an environment of the rest, and compare.

    Options are those of `Environment.from_ratings`.
    """
    if not 0 < held_out < 1:
        raise ParameterError("held_out", "must be between 0 and 1, both excluded", held_out)
    liked_from, _ = resolve_threshold(ratings, threshold)
    positives = binarise(sample_users(ratings, users, sampling, seed), liked_from)
    split = split_positives(positives, 1.0 - held_out, seed)
    used = split.train.tocoo()
    kept = replace(
        positives,
        users=used.row.astype(np.int32),
        items=used.col.astype(np.int32),
        ratings=np.ones(used.nnz, dtype=np.float32),
        feedback="implicit",
    )
    env = Environment.from_ratings(kept, users=kept.n_users, threshold=1.0, seed=seed, **options)
    return _compare(env, split, positives)


def _compare(env: Environment, split: Any, positives: Ratings) -> Agreement:
    pool = env.pool_at(1)
    columns = np.searchsorted(positives.item_ids, env.items.ids[pool.rows])  # (p,)
    rows = np.searchsorted(positives.user_ids, env.users.ids)
    popularity = np.asarray(split.train.sum(axis=0), dtype=np.float64).ravel()[columns]
    found: list[tuple[float, ...]] = []
    for user, row in enumerate(rows):
        known = split.train[[row]].toarray()[0, columns] > 0  # (p,)
        liked = split.test[[row]].toarray()[0, columns] > 0
        if liked.any() and not (known | liked).all():
            attraction = env.attraction_over(pool, np.array([user])).rough[0]
            rankings = (attraction, popularity)
            found.append(tuple(f(s, liked, known) for f in (_auc, _precision) for s in rankings))
    if not found:
        raise ValueError("no user has a held-out item that could be recommended: hold out more")
    values = np.array(found)
    means, errors = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
    auc, popular_auc, precision, popular_precision = map(Estimate, means.tolist(), errors.tolist())
    return Agreement(
        users=len(values),
        auc=auc,
        popularity_auc=popular_auc,
        precision=precision,
        popularity_precision=popular_precision,
    )


def _auc(scores: Floats, liked: Bools, known: Bools) -> float:
    """Return how often a liked item has a higher score than another; ties count half."""
    others = np.sort(scores[~known & ~liked])
    below = np.searchsorted(others, scores[liked], "left")
    not_above = np.searchsorted(others, scores[liked], "right")
    return float((below + not_above).mean() / (2 * len(others)))


def _precision(scores: Floats, liked: Bools, known: Bools) -> float:
    """Return the share of liked items among those with the highest scores."""
    candidates = np.flatnonzero(~known)
    top = candidates[np.argsort(-scores[candidates], kind="stable")[:TOP]]
    return float(liked[top].mean())
