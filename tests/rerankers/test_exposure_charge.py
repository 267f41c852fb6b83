"""exposure-charge: items that had more exposure than their merit pay, from the second slate on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import loop, simulate
from faircascade.environment import Environment
from faircascade.exploration import UCB
from faircascade.policies import Bandit, FRMLinUCB, LinUCB, Policy
from faircascade.rerankers import ExposureCharge, Identity, Ledger
from faircascade.rerankers.ledger import UNIT
from faircascade.types import Items, Users
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank

OWN, SHARED = (
    FRMLinUCB(variant="exposure-charge", eta=0.05),
    FRMLinUCB(variant="exposure-charge", eta=0.05, ledger="global"),
)


def shown(env: Environment, policy: Policy, **options) -> np.ndarray:
    """Appearances of a run, (items, k)."""
    return simulate(env, policy, rounds=25, seed=3, **options).record.appearances


def test_while_nothing_was_shown_nothing_is_taken() -> None:
    scores = np.random.default_rng(0).normal(size=(7, 9))
    asked = request(items=catalogue(9), users=range(7), k=5)
    plain = rerank(Identity(), asked, scores)
    for scope, users in (("user", 7), ("global", 7)):
        found = rerank(
            ExposureCharge(eta=100.0, ledger=scope), asked, scores, Ledger.of(scope, users)
        )
        assert np.array_equal(found.items, plain.items)
        assert np.array_equal(found.scores, plain.scores)


def test_lists_by_hand() -> None:
    # scores 0.5, 0.4, 0.3; merit 1, 1/2, 1; eta 0.1; one position, so E_P counts slates.
    # after   E_P/merit  by its mean    charged           left
    # 0       1 0 0      3   0   0      0.3  0    0       0.2  0.4  0.3   -> 1
    # 0 1     1 2 0      1   2   0      0.1  0.2  0       0.4  0.2  0.3   -> 0
    # 0 1 0   2 2 0      1.5 1.5 0      0.15 0.15 0       0.35 0.25 0.3   -> 0
    items = catalogue(3, merit=np.array([1.0, 0.5, 1.0]))
    asked = request(items=items, users=["ann"], k=1)
    books, charge = Ledger.of("user", 1), ExposureCharge(eta=0.1)
    slates = []
    for _ in range(4):
        found = rerank(charge, asked, [0.5, 0.4, 0.3], books)
        books.enter(EVERY, found.items, items)
        slates.append((int(found.items[0, 0]), float(found.scores[0, 0])))
    assert slates == [
        (0, 0.5),
        (1, pytest.approx(0.4, abs=1e-9)),
        (0, pytest.approx(0.4, abs=1e-9)),
        (0, pytest.approx(0.35, abs=1e-9)),
    ]


def test_items_that_cannot_be_chosen_count_in_the_mean() -> None:
    # item 0 had all exposure; the mean is over four items, so its charge is 4 eta
    items = catalogue(4, eligible=[True, True, False, False])
    books = Ledger.of("user", 1)
    books.enter(EVERY, np.array([[0]]), items)
    found = rerank(
        ExposureCharge(eta=0.1), request(items=items, users=["ann"], k=2), [0.5, 0.2], books
    )
    assert found.items.tolist() == [[1, 0]]
    assert found.scores.tolist() == [pytest.approx([0.2, 0.1], abs=1e-9)]


def test_the_second_slate_of_a_bandit_by_hand() -> None:
    # nothing is learned, so the score of an item is alpha times its norm: 1, 0.8 and 0.3.
    # after the first slate, item 0 has all of E_P/merit: three times the mean, and pays 3 eta
    items = Items.of(np.diag([1.0, 0.8, 0.3]), ids=["a", "b", "c"])
    for eta, second in ((0.05, 0), (0.1, 1)):
        bandit = Bandit(exploration=UCB(alpha=1.0), reranker=ExposureCharge(eta=eta))
        state = bandit.start(Users(ids=np.array(["ann"])), 3)
        slates = [
            bandit.recommend(state, EVERY, items.pool, 1, round=t, seed=0).items.tolist()
            for t in (1, 2)
        ]
        assert slates == [[[0]], [[second]]]


def test_with_one_account_for_all_a_round_ends_before_anybody_pays() -> None:
    # both users see item 0 in round 1; in round 2 both know of both slates
    items = Items.of(np.diag([1.0, 0.8, 0.3]), ids=["a", "b", "c"])
    bandit = Bandit(exploration=UCB(alpha=1.0), reranker=ExposureCharge(eta=0.1, ledger="global"))
    users = Users(ids=np.array(["ann", "bob"]))
    states = [bandit.start(users[slice(row, row + 1)], 3) for row in (0, 1)]
    for t, expected in ((1, 0), (2, 1)):
        for state in states:
            slates = bandit.recommend(state, EVERY, items.pool, 1, round=t, seed=0)
            assert slates.items.tolist() == [[expected]]
        bandit.settle(states)
    assert states[0].ledger.units.tolist() == states[1].ledger.units.tolist()
    assert (states[0].ledger.units * UNIT).tolist() == [[2.0, 2.0, 0.0]]


@pytest.mark.parametrize("ledger", ["user", "global"])
def test_without_eta_the_slates_are_those_of_the_exploration(ledger) -> None:
    env = small_environment(users=5, items=25, k=4)
    plain = shown(env, LinUCB())
    assert np.array_equal(
        shown(env, FRMLinUCB(variant="exposure-charge", eta=0.0, ledger=ledger)), plain
    )
    assert not np.array_equal(shown(env, OWN), plain)


@settings(max_examples=60)
@given(data=st.data())
def test_scores_are_what_the_formula_says(data) -> None:
    seed = data.draw(st.integers(0, 10**6))
    eta = data.draw(st.sampled_from([1e-4, 0.1, 10.0]))
    rng = np.random.default_rng(seed)
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 10))
    items = catalogue(m, merit=rng.uniform(0.01, 5.0, size=m))
    books = Ledger.of("user", n)
    books.follow(items.ids)
    books.units[:] = rng.integers(0, 2**30, size=(n, m))
    scores = rng.normal(size=(n, m))
    worth = books.units / items.merit
    expected = scores - eta * worth / worth.mean(axis=1, keepdims=True)
    asked = request(items=items, users=range(n), k=m, seed=seed)
    found = rerank(ExposureCharge(eta=eta), asked, scores, books)
    assert np.allclose(found.scores, -np.sort(-expected), atol=1e-5 * eta + 1e-9)


def test_exposure_by_merit_evens_out_as_eta_grows() -> None:
    env = small_environment(users=5, items=20, k=3)
    for ledger in ("user", "global"):
        equity = [
            simulate(
                env,
                FRMLinUCB(variant="exposure-charge", eta=eta, ledger=ledger),
                rounds=150,
                seed=1,
            ).equity_p
            for eta in (0.0, 0.05, 1.0, 10.0)
        ]
        assert equity == sorted(equity)
        assert equity[-1] > 0.97


def test_regret_is_the_price() -> None:
    env = small_environment(users=5, items=20, k=3)
    regret = [
        simulate(env, FRMLinUCB(variant="exposure-charge", eta=eta), rounds=100, seed=1).regret
        for eta in (0.001, 0.1, 1.0)
    ]
    assert regret == sorted(regret)


def test_users_with_accounts_of_their_own_are_independent() -> None:
    env = small_environment(users=7, items=25, k=4)
    parts = [shown(env.take(rows), OWN) for rows in (slice(0, 3), slice(3, 7))]
    assert np.array_equal(sum(parts), shown(env, OWN))


def test_users_with_one_account_depend_on_who_else_is_served() -> None:
    env = small_environment(users=7, items=25, k=4)
    parts = [shown(env.take(rows), SHARED) for rows in (slice(0, 3), slice(3, 7))]
    assert not np.array_equal(sum(parts), shown(env, SHARED))


@pytest.mark.parametrize("activity", [1.0, 0.5])
def test_one_account_does_not_depend_on_threads_shards_or_the_order_of_users(
    activity: float, monkeypatch
) -> None:
    env = small_environment(users=11, items=25, k=4)
    whole = shown(env, SHARED, threads=1, activity=activity)
    order = np.random.default_rng(0).permutation(11)
    for size in (1, 3, 64):
        monkeypatch.setattr(loop, "SHARD", size)
        for threads in (1, 3):
            assert np.array_equal(shown(env, SHARED, threads=threads, activity=activity), whole)
        assert np.array_equal(shown(env.take(order), SHARED, activity=activity), whole)


@pytest.mark.parametrize("policy", [OWN, SHARED], ids=["user", "global"])
def test_relabelling_items_relabels_the_result(policy: Policy) -> None:
    env = small_environment(users=4, items=25)
    order = np.random.default_rng(5).permutation(25)
    other = Environment.from_arrays(
        env.items.features[order],
        env.preferences,
        k=env.k,
        merit=env.items.merit[order],
        item_ids=env.items.ids[order],
        user_ids=env.users.ids,
    )
    assert np.array_equal(shown(env, policy)[order], shown(other, policy))


def test_a_run_with_one_account_that_is_interrupted_is_a_run_of_fewer_rounds() -> None:
    env = small_environment(users=4, items=25)

    def interrupt(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    stopped = simulate(env, SHARED, rounds=20, seed=1, progress=interrupt)
    assert stopped.interrupted
    assert stopped.rounds < 20
    seen = stopped.tally.checkpoints.tolist()
    whole = simulate(env, SHARED, rounds=stopped.rounds, seed=1, checkpoints=seen)
    assert stopped.metrics == whole.metrics
    assert np.array_equal(stopped.state.ledger.units, whole.state.ledger.units)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": -0.1}, "eta must be >= 0, got -0.1"),
        ({"eta": float("nan")}, "eta must be finite"),
        ({"eta": float("inf")}, "eta must be finite"),
        ({"ledger": "all"}, "ledger must be one of user, global, got 'all'"),
    ],
)
def test_wrong_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExposureCharge(**options)
