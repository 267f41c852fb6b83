"""reorder: the items of the exploration, those first whose exposure lags their merit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.policies import Bandit, FRMLinUCB, LinUCB
from faircascade.rerankers import Identity, Ledger, Reorder
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank


def account(items, units) -> Ledger:
    """Exposure in units of every user, or of all, given by the number of rows."""
    books = Ledger.of("user", len(units))
    books.follow(items.ids)
    books.units[:] = units
    return books


def test_before_anything_was_shown_the_slate_stays_as_it_is() -> None:
    scores = np.random.default_rng(0).normal(size=(7, 9))
    asked = request(items=catalogue(9), users=range(7), k=5)
    plain = rerank(Identity(), asked, scores)
    found = rerank(Reorder(), asked, scores, Ledger.of("user", 7))
    assert np.array_equal(found.items, plain.items)
    assert np.array_equal(found.scores, plain.scores)


def test_the_order_by_hand() -> None:
    # the slate is 0 1 2 3 of 5 items; E_P / merit is 6 / 3 = 2, 1, 1 / 0.5 = 2 and 0
    items = catalogue(5, merit=np.array([3.0, 1.0, 0.5, 1.0, 1.0]))
    books = account(items, [[6, 1, 1, 0, 9]])
    asked = request(items=items, users=["ann"], k=4)
    found = rerank(Reorder(), asked, [5.0, 4.0, 3.0, 2.0, 1.0], books)
    assert found.items.tolist() == [[3, 1, 0, 2]]  # 0 and 2 are equal: they stay in their order
    assert found.scores.tolist() == [[2.0, 4.0, 5.0, 3.0]]


def test_one_account_for_all_orders_every_slate() -> None:
    items = catalogue(3)
    books = Ledger.of("global", 2)
    books.follow(items.ids)
    books.units[:] = [[5, 3, 1]]
    asked = request(items=items, users=["ann", "bob"], k=2)
    found = rerank(Reorder(ledger="global"), asked, [[3, 2, 1], [1, 3, 2]], books)
    assert found.items.tolist() == [[1, 0], [2, 1]]


@settings(max_examples=60)
@given(data=st.data())
def test_the_same_items_in_rising_order_of_exposure_by_merit(data) -> None:
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 12))
    k = data.draw(st.integers(1, m))
    items = catalogue(m, merit=2.0 ** rng.integers(-2, 3, size=m))  # so that ratios are exact
    units = 2**10 * rng.integers(0, data.draw(st.sampled_from([2, 5, 100])), size=(n, m))
    scores = rng.normal(size=(n, m))
    asked = request(items=items, users=range(n), k=k, seed=seed)
    plain = rerank(Identity(), asked, scores)
    found = rerank(Reorder(), asked, scores, account(items, units))
    assert np.array_equal(np.sort(found.items), np.sort(plain.items))
    for user, (after, before) in enumerate(
        zip(found.items.tolist(), plain.items.tolist(), strict=True)
    ):
        worth = units[user] / items.merit
        assert after == sorted(before, key=lambda i: worth[i])  # sorted() is stable


def test_a_bandit_shows_the_same_items_with_and_without_it() -> None:
    env = small_environment(users=6, items=25, k=5)
    policy = Bandit(reranker=Reorder())
    state = simulate(env, policy, rounds=30, seed=1, engine="loop").state
    plain, found = (
        bandit.recommend(
            bandit.take(state, EVERY), EVERY, env.items.pool, 5, round=31, seed=1
        ).items
        for bandit in (Bandit(), policy)
    )
    assert np.array_equal(np.sort(plain), np.sort(found))
    assert not np.array_equal(plain, found)
    worth = np.take_along_axis(state.ledger.units / env.items.merit, found, axis=1)
    assert (np.diff(worth) > -1.0).all()  # to within the unit that the account is kept in


@pytest.mark.parametrize("ledger", ["user", "global"])
def test_relabelling_items_relabels_the_slates(ledger) -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(8)
    names, scores = np.array([f"item-{i}" for i in range(8)]), rng.normal(size=(3, 8))
    merit, units = rng.uniform(0.1, 1, 8), rng.integers(0, 10**7, size=(3, 8))
    shown = []
    for rows in (np.arange(8), order):
        items = catalogue(8, ids=names[rows], merit=merit[rows])
        books = Ledger.of(ledger, 3)
        books.follow(items.ids)
        books.units[:] = units[: len(books.units), rows]
        asked = request(items=items, users=range(3), k=5)
        found = rerank(Reorder(ledger=ledger), asked, scores[:, rows], books)
        shown.append(items.ids[found.items])
    assert np.array_equal(*shown)


def test_positions_are_shared_out_more_evenly() -> None:
    env = small_environment(users=8, items=30, k=5, merit=np.ones(30))
    plain = simulate(env, LinUCB(), rounds=200, seed=1)
    fair = simulate(env, FRMLinUCB(variant="reorder"), rounds=200, seed=1)
    assert plain.equality_b - plain.equality_p > 3 * abs(fair.equality_b - fair.equality_p)


def test_a_wrong_ledger_is_named() -> None:
    with pytest.raises(ValueError, match="ledger must be one of user, global, got 'mine'"):
        Reorder(ledger="mine")
