"""discount: what was shown is explored less, and what was not is explored as before."""

from __future__ import annotations

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.policies import Bandit, DiscountLinUCB, LinUCB
from faircascade.rerankers import Ledger
from faircascade.rerankers.discount import Discount
from tests.environments import small_environment


def test_scores_are_the_mean_plus_a_discounted_bonus() -> None:
    env = small_environment(users=3, items=12, k=3)
    policy = DiscountLinUCB(alpha=0.7)
    run = simulate(env, policy, rounds=15, seed=4)
    state, pool = run.state, env.items.pool
    request = policy.request(state, slice(None), pool, env.k, round=16, seed=4)
    plain = policy.parts.exploration.scores(request)
    found = policy.parts.reranker.adjust(request, plain, state.ledger)
    exposure = state.ledger.exposure(slice(None), env.items)
    expected = request.beliefs.mean().rough
    expected = expected + 0.7 * (1 - exposure / 17) * request.beliefs.width().rough
    np.testing.assert_allclose(found.rough, expected, atol=1e-12)
    rows, columns = np.divmod(np.arange(36), 12)
    np.testing.assert_allclose(found.exact(rows, columns), expected.ravel(), atol=1e-12)
    assert (exposure <= 15).all()


def test_before_anything_was_shown_it_is_linucb() -> None:
    env = small_environment(users=3, items=12, k=3)
    first = [
        simulate(env, policy, rounds=1, seed=1).record.appearances
        for policy in (LinUCB(), DiscountLinUCB())
    ]
    assert np.array_equal(*first)


def test_without_a_bonus_there_is_nothing_to_discount() -> None:
    env = small_environment(users=3, items=12, k=3)
    runs = [
        simulate(env, policy, rounds=30, seed=2, engine="loop").record.appearances
        for policy in (LinUCB(alpha=0.0), DiscountLinUCB(alpha=0.0))
    ]
    assert np.array_equal(*runs)
    assert Ledger.of("user", 2).exposure(slice(None), env.items).sum() == 0


def test_widths_must_be_known() -> None:
    Bandit(reranker=Discount())
    with pytest.raises(ValueError, match="alpha must be >= 0, got -1"):
        Discount(alpha=-1)
