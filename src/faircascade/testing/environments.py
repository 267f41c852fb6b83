"""A small environment to try parts in."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.environment import Environment


def small_environment(
    *, users: int = 6, items: int = 30, dim: int = 4, k: int = 3, seed: int = 0, **options: Any
) -> Environment:
    """Return random features of norm 1/sqrt(2) and preferences under which some items attract."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)
    theta = rng.normal(size=(users, dim)) * 0.4
    options.setdefault("merit", rng.uniform(0.1, 1.0, size=items))
    options.setdefault("popularity", rng.integers(0, 50, size=items).astype(float))
    options.setdefault("topics", np.round(rng.uniform(0.0, 0.9, size=(items, 3)), 1))
    options.setdefault("item_ids", [f"item-{i}" for i in range(items)])
    options.setdefault("user_ids", [f"user-{u}" for u in range(users)])
    return Environment.from_arrays(X, theta, k=k, **options)
