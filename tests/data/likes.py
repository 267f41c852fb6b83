"""What tests ask of generated ratings: who likes how much, and whether two tables are one."""

from __future__ import annotations

import numpy as np

from faircascade.data.base import Ratings


def likes_by_user(data: Ratings) -> np.ndarray:
    return np.bincount(data.users[data.ratings >= 4], minlength=data.n_users)


def likes_by_item(data: Ratings) -> np.ndarray:
    return np.bincount(data.items[data.ratings >= 4], minlength=data.n_items)


def gini(values: np.ndarray) -> float:
    ascending, m = np.sort(values), len(values)
    return float((2 * np.arange(1, m + 1) - m - 1) @ ascending / (m * values.sum()))


def same(a: Ratings, b: Ratings) -> bool:
    return (
        np.array_equal(a.users, b.users)
        and np.array_equal(a.items, b.items)
        and np.array_equal(a.ratings, b.ratings)
        and all(np.array_equal(a.item_groups[name], b.item_groups[name]) for name in a.item_groups)
    )
