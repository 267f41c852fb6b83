"""First scores in single precision are as close to the exact ones as they say."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.estimators.ridge import RidgeBeliefs
from faircascade.types import Items, Pool


@given(
    dim=st.integers(1, 12),
    users=st.integers(1, 12),
    spread=st.floats(-12, 4),
    rounds=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_rough_scores_are_within_their_error(
    dim: int, users: int, spread: float, rounds: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(50, dim)) * 10.0 ** draw.uniform(spread, 4, size=(50, 1))
    seen = draw.normal(size=(users, rounds, dim)) * 10.0 ** draw.uniform(-3, 3)
    M_inv = np.linalg.inv(np.eye(dim) + seen.transpose(0, 2, 1) @ seen)
    M_inv = 0.5 * (M_inv + M_inv.transpose(0, 2, 1))
    theta = draw.normal(size=(dim, users)) * 10.0 ** draw.uniform(-6, 3)
    pool = Pool(items=Items.of(features), rows=np.arange(50), single=True)
    beliefs = RidgeBeliefs(theta, np.ascontiguousarray(M_inv.transpose(1, 2, 0)), pool)
    for scores in (beliefs.mean(), beliefs.width(), beliefs.mean().plus(0.25, beliefs.width())):
        assert scores.rough.dtype == np.float32
        off = np.abs(scores.rough.astype(np.float64) - scores.all())
        assert (off <= scores.error[:, None]).all()


def test_one_user_is_scored_more_exactly_than_many() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 10))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    pool = Pool(items=Items.of(rows), rows=np.arange(50), single=True)
    many = np.repeat(np.eye(10)[:, :, None], 9, axis=2)
    theta = np.zeros((10, 9))
    assert RidgeBeliefs(theta[:, :1], many[:, :, :1], pool).width().error[0] < 1e-5
    assert RidgeBeliefs(theta, many, pool).width().error[0] < 1e-2
