"""One ridge for all users: it is the ridge of everything that anybody did."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.policies import LinUCB, SharedLinUCB
from tests.environments import small_environment
from tests.evidence import feedback_on


def test_it_is_the_ridge_of_one_user_who_did_everything() -> None:
    env = small_environment(users=3, items=20, k=4)
    alone = env.take([0])
    shared, own = SharedLinUCB(), LinUCB()
    together, single = shared.start(env.users, 4), own.start(alone.users, 4)
    rng = np.random.default_rng(1)
    for t in range(1, 20):
        slates = np.stack([rng.permutation(20)[:4] for _ in range(3)])
        clicks = env.respond(slates, round=t, seed=1).clicks
        shared.update(together, slice(None), feedback_on(env, slates, clicks))
        for user in range(3):
            own.update(single, slice(None), feedback_on(env, slates[[user]], clicks[[user]]))
    for name in ("M", "M_inv", "B", "theta"):
        found, expected = getattr(together.learned.everybody, name), getattr(single.learned, name)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_users_with_one_model_see_the_same_but_for_ties() -> None:
    env = small_environment(users=5, items=30, k=3)
    policy = SharedLinUCB()
    state = simulate(env, policy, rounds=30, seed=2).state
    slates = policy.recommend(state, slice(None), env.items.pool, 3, round=31, seed=2)
    assert (slates.scores == slates.scores[0]).all()


def test_the_service_does_not_keep_it() -> None:
    env = small_environment()
    with pytest.raises(TypeError, match="does not keep what it learns as sums"):
        SharedLinUCB().sums(SharedLinUCB().start(env.users, 4))
