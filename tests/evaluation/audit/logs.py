"""Small logs to audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Slate = tuple[Any, list[Any], list[int]]
"""User, items from the top, clicked positions from 1 on."""


def table(slates: Sequence[Slate], times: Sequence[float] | None = None) -> pa.Table:
    """Return a log with one row an impression."""
    columns: dict[str, Any] = {
        "user": [user for user, _, _ in slates],
        "items": [items for _, items, _ in slates],
        "clicked_positions": pa.array([hits for _, _, hits in slates], pa.list_(pa.int64())),
    }
    return pa.table(columns | ({} if times is None else {"time": list(times)}))


def random_slates(
    seed: int, impressions: int = 200, *, items: int = 8, k: int = 3, users: int = 40
) -> list[Slate]:
    """Return slates in which the first items are shown more."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, items + 1)
    found: list[Slate] = []
    for _ in range(impressions):
        length = int(rng.integers(1, k + 1))
        chosen = rng.choice(items, size=length, replace=False, p=weights / weights.sum())
        hits = [at for at in range(1, length + 1) if rng.random() < 0.4 / at]
        found.append((f"u{rng.integers(users)}", [f"i{i}" for i in chosen], hits))
    return found
