"""What is in a table of ratings, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.data.base import Ratings
from faircascade.data.prepare import Threshold, resolve_threshold

TOP = 0.2
"""Share of the items that are called the most popular."""


def describe(ratings: Ratings, threshold: Threshold = None) -> dict[str, Any]:
    """Return kind and scale of the feedback, sizes, what counts as liked, and groups."""
    liked_from, decided = resolve_threshold(ratings, threshold)
    values, counts = np.unique(ratings.ratings, return_counts=True)
    few = len(values) <= _MOST_VALUES
    return {
        "feedback": ratings.feedback,
        "scale": None if ratings.scale is None else str(ratings.scale),
        "threshold": liked_from,
        "positives": int((ratings.ratings >= liked_from).sum()),
        "positive_share": round(float((ratings.ratings >= liked_from).mean()), 4),
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "density": round(len(ratings) / (ratings.n_users * ratings.n_items), 6),
        "top_20_percent_share": round(popularity_concentration(ratings), 4),
        "values": {f"{v:g}": int(n) for v, n in zip(values, counts, strict=True)} if few else {},
        "groups": {
            group: len({label for row in column.tolist() for label in row.split("|")})
            for group, column in ratings.item_groups.items()
        },
        "notes": [*ratings.notes, *decided],
    }


_MOST_VALUES = 50
"""More different ratings than these are not listed one by one."""


def popularity_concentration(ratings: Ratings, top: float = TOP) -> float:
    """Return the share of all ratings that the most rated items have; 0.2 is the top 20%."""
    counts = np.sort(np.bincount(ratings.items, minlength=ratings.n_items))[::-1]
    return float(counts[: max(1, round(top * len(counts)))].sum() / len(ratings))
