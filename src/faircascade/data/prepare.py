"""From a table of ratings to two halves of each user's positives: sample, binarise, split."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Ratings
from faircascade.data.scale import Scale
from faircascade.errors import ParameterError
from faircascade.random import draws, keys_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Sampling = Literal["active", "random"]
Threshold = float | str | None
"""A rating; `"q0.7"`, a quantile of the ratings; or None, which takes it from their scale."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """Positives of the sampled users, cut in half, over the items that have any."""

    ratings: Ratings
    """The positives alone; its ids are the rows and columns of the matrices."""
    train: csr_matrix
    """Binary, users x items."""
    test: csr_matrix
    """Binary, users x items."""


def sample_users(ratings: Ratings, users: int, sampling: Sampling, seed: int) -> Ratings:
    """Keep the most active users (by number of ratings, ties by id), or a random sample."""
    if users < 1:
        raise ParameterError("users", "must be at least 1", users)
    if users >= ratings.n_users:
        return ratings
    if sampling == "active":
        counts = np.bincount(ratings.users, minlength=ratings.n_users)
        ranked = np.argsort(-counts, kind="stable")
    else:
        ranked = np.argsort(draws(seed, "sample", keys_of(ratings.user_ids)), kind="stable")
    kept = np.zeros(ratings.n_users, dtype=bool)
    kept[ranked[:users]] = True
    return _restrict(ratings, kept[ratings.users])


def check_threshold(threshold: Threshold) -> Threshold:
    """Refuse text that is not a quantile."""
    if isinstance(threshold, str):
        _quantile(threshold)
    elif threshold is not None and not math.isfinite(threshold):
        raise ParameterError("threshold", "must be finite", threshold)
    return threshold


def _quantile(text: str) -> float:
    try:
        share = float(text.removeprefix("q")) if text.startswith("q") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        rule = "must be a number, or a quantile of the ratings such as 'q0.7'"
        raise ParameterError("threshold", rule, text)
    return share


def resolve_threshold(ratings: Ratings, threshold: Threshold) -> tuple[float, tuple[str, ...]]:
    """Return the rating from which on an item counts as liked, and a note if that was decided here.

    None is every interaction of implicit feedback and counts, and of explicit ratings those from
    three quarters up their scale: 4 on 1 to 5, 8 on 1 to 10.
    """
    check_threshold(threshold)
    if isinstance(threshold, str):
        found = float(np.quantile(ratings.ratings, _quantile(threshold), method="higher"))
        why = f"the quantile {threshold} of the ratings is {found:g}"
    elif threshold is not None:
        return float(threshold), ()
    elif ratings.bounds is not None:
        return Scale(*ratings.bounds, step=None).liked, ()
    elif ratings.scale is None:
        happened = ratings.ratings[ratings.ratings > 0]
        return float(happened.min()) if len(happened) else 1.0, ()
    else:
        found, why = ratings.scale.liked, f"ratings are on a scale of {ratings.scale}"
        if found == 4 and ratings.scale.high == 5:
            return found, ()
    return found, (f"{why}: {found:g} or more counts as liked (see threshold)",)


def binarise(ratings: Ratings, threshold: float) -> Ratings:
    """Keep the positives, and the users and items that have one."""
    positive = ratings.ratings >= threshold
    if not positive.any():
        raise DataError(
            f"{ratings.name}: no positives after binarising: the highest rating is "
            f"{ratings.ratings.max():g}, the threshold {threshold:g}"
        )
    return _restrict(ratings, positive)


def split_positives(positives: Ratings, train_share: float, seed: int) -> Split:
    """Draw floor(train_share * n) of each user's n positives for training, the rest for test."""
    from scipy.sparse import csr_matrix

    if not 0 < train_share < 1:
        raise ParameterError("train_share", "must be between 0 and 1, both excluded", train_share)
    pairs = positives.users.astype(np.int64) * positives.n_items + positives.items
    if len(np.unique(pairs)) < len(pairs):
        raise DataError(f"{positives.name}: a user rates an item twice; keep one of the ratings")
    user_keys, item_keys = keys_of(positives.user_ids), keys_of(positives.item_ids)
    lots = draws(seed, "split", user_keys[positives.users], item_keys[positives.items])
    order = np.lexsort((lots, positives.users))
    counts = np.bincount(positives.users, minlength=positives.n_users)
    starts = np.cumsum(counts) - counts
    place = np.empty(len(positives), dtype=np.int64)
    place[order] = np.arange(len(positives)) - starts[positives.users[order]]
    in_train = place < np.floor(train_share * counts).astype(np.int64)[positives.users]

    def matrix(rows: NDArray[np.bool_]) -> Any:
        cells = (positives.users[rows], positives.items[rows])
        shape = (positives.n_users, positives.n_items)
        return csr_matrix((np.ones(int(rows.sum())), cells), shape=shape)

    return Split(ratings=positives, train=matrix(in_train), test=matrix(~in_train))


def _restrict(ratings: Ratings, rows: NDArray[np.bool_]) -> Ratings:
    """Keep some ratings, and the users and items that still have one."""
    user_rows, users = np.unique(ratings.users[rows], return_inverse=True)
    item_rows, items = np.unique(ratings.items[rows], return_inverse=True)
    merit = ratings.item_merit
    return replace(
        ratings,
        user_ids=ratings.user_ids[user_rows],
        item_ids=ratings.item_ids[item_rows],
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        ratings=ratings.ratings[rows],
        item_groups={name: column[item_rows] for name, column in ratings.item_groups.items()},
        item_merit=None if merit is None else merit[item_rows],
    )
