"""Small logs of known policies for tests."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import faircascade as fc
from faircascade.environment import Environment
from faircascade.types import Items


def environment(users: int = 40, items: int = 6, k: int = 2, **options: Any) -> Environment:
    rng = np.random.default_rng(3)
    return fc.Environment.from_arrays(
        rng.normal(size=(items, 3)) / 2, rng.normal(size=(users, 3)) / 2, k=k, **options
    )


def trace(folder: Path, env: Environment, policy: Any = None, rounds: int = 30, seed: int = 1):
    """Write the trace of a run; return its path."""
    path = folder / "trace.parquet"
    policy = policy or fc.EpsilonGreedy(epsilon=0.6)
    fc.simulate(env, policy, rounds=rounds, seed=seed, trace=path)
    return path


def table_log(slates: Any, clicks: Any, users: Any, **columns: Any) -> pa.Table:
    """Return a log of full slates (n, K), with further columns (n, K) or (n,)."""
    slates = np.asarray(slates)
    n, k = slates.shape
    flat = {
        name: np.asarray(v).ravel() if np.ndim(v) == 2 else np.repeat(v, k)
        for name, v in columns.items()
    }
    return pa.table(
        {
            "slate_id": np.repeat(np.arange(n), k),
            "user_id": np.repeat(np.asarray(users), k),
            "position": np.tile(np.arange(1, k + 1), n),
            "item_id": slates.ravel(),
            "click": np.asarray(clicks).ravel().astype(int),
            **flat,
        }
    )


def every_slate(items: Items, k: int) -> np.ndarray:
    return np.array(list(permutations(range(len(items)), k)))
