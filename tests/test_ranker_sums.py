"""What a ranker learned, as sums that can be kept elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faircascade.policies import LinUCB, Random
from faircascade.ranker import Ranker
from faircascade.types import Users


def test_sums_and_rounds_follow_the_users() -> None:
    ranker = Ranker(LinUCB(), items=np.eye(3))
    ranker.recommend("bob", k=1)
    for clicked in (1, None):
        ranker.update(ranker.recommend("ann", k=2), clicked)
    sums, rounds = ranker.sums()
    assert ranker.users == ("bob", "ann")
    assert rounds.tolist() == [1, 2]
    assert sums.shape == (2, 1 + 3 + 6)
    assert sums[:, 0].tolist() == [0, 2]  # updates
    assert not sums[0].any()


def test_a_model_made_of_the_sums_recommends_the_same() -> None:
    policy = LinUCB(ridge=2.0, sigma=0.5)
    ranker = Ranker(policy, items=np.random.default_rng(0).normal(size=(9, 4)), seed=3)
    for clicked in (1, 3, None, 2):
        ranker.update(ranker.recommend("ann", k=4), clicked)
    sums, rounds = ranker.sums()
    state = policy.from_sums(Users(ids=np.array(ranker.users)), sums, 4)
    slates = policy.recommend(
        state, slice(None), ranker.items.pool, 4, round=rounds + 1, seed=ranker.seed
    )
    slate = ranker.recommend("ann", k=4)
    assert ranker.items.ids[slates.items[0]].tolist() == list(slate.items)
    np.testing.assert_allclose(slates.scores[0], slate.scores, atol=1e-12)


def test_saving_keeps_the_sums(tmp_path: Path) -> None:
    ranker = Ranker(LinUCB(), items=np.eye(3))
    ranker.update(ranker.recommend("ann", k=2), 1)
    ranker.save(tmp_path / "ranker.npz")
    sums, rounds = Ranker.load(tmp_path / "ranker.npz").sums()
    assert np.array_equal(sums, ranker.sums()[0])
    assert rounds.tolist() == [1]


def test_nobody_has_no_sums_and_neither_has_a_policy_that_does_not_learn() -> None:
    sums, rounds = Ranker(LinUCB(), items=np.eye(3)).sums()
    assert (sums.shape, rounds.shape) == ((0, 10), (0,))
    ranker = Ranker(Random(), items=np.eye(3))
    ranker.recommend("ann", k=1)
    sums, rounds = ranker.sums()
    assert sums.shape == (1, 0)
    assert rounds.tolist() == [1]
