"""The table of means: what it counts, for whom, and how targets become means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.errors import ParameterError
from faircascade.estimators import Evidence, Tabular
from faircascade.policies import CascadeKLUCB, CascadeUCB1
from faircascade.ranker import Ranker
from faircascade.registry import build
from faircascade.types import Items
from tests.environments import small_environment

EVERY = slice(None)
POOL = Items.of(np.eye(5)).pool


def evidence(items, seen, targets, largest=1.0) -> Evidence:
    items, seen = np.asarray(items), np.asarray(seen, dtype=float)
    return Evidence(
        items=items,
        features=np.zeros((*items.shape, 5)),
        topics=np.zeros((*items.shape, 0)),
        clicks=np.asarray(targets) > 0,
        seen=seen,
        targets=np.asarray(targets, dtype=float),
        factors=np.ones(items.shape),
        largest=largest,
    )


def test_a_mean_is_what_an_item_earned_where_it_was_seen() -> None:
    table = Tabular()
    state = table.start(2, 5)
    table.update(state, EVERY, evidence([[0, 1], [2, 0]], [[1, 1], [1, 0]], [[0, 1], [1, 0]]))
    table.update(state, np.array([0]), evidence([[1, 3]], [[1, 1]], [[0, 0]]))
    beliefs = table.beliefs(state, EVERY, POOL)
    assert beliefs.mean().rough.tolist() == [[0, 0.5, 0, 0, 0], [0, 0, 1, 0, 0]]
    assert beliefs.counts().tolist() == [[1, 2, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert beliefs.time().tolist() == [3, 2]
    assert table.describe(state, 1) == {"slates": 1, "means": {"2": 1.0}}


def test_positions_seen_in_part_count_in_part_and_their_clicks_in_full() -> None:
    table = Tabular()
    state = table.start(1, 5)
    for click in (1, 0, 0, 1):
        table.update(state, EVERY, evidence([[4]], [[0.5]], [[click]]))
    beliefs = table.beliefs(state, EVERY, POOL)
    assert beliefs.mean().rough[0, 4] == 2 / 2
    assert (beliefs.counts()[0, 4], beliefs.positions()[0, 4]) == (2, 4)


def test_a_shared_table_holds_the_slates_of_all_users() -> None:
    table = Tabular(scope="shared")
    state = table.start(3, 5)
    table.update(state, EVERY, evidence([[0], [0], [1]], [[1], [1], [1]], [[1], [0], [1]]))
    beliefs = table.beliefs(state, np.array([2, 0]), POOL)
    assert beliefs.mean().rough.tolist() == [[0.5, 1, 0, 0, 0]] * 2
    assert beliefs.time().tolist() == [4, 4]
    assert table.beliefs(table.take(state, slice(0, 2)), EVERY, POOL).time().tolist() == [4, 4]


def test_weights_are_scaled_by_the_largest_so_that_means_are_at_most_1() -> None:
    policy = CascadeKLUCB(reward="exposure-aware(weight=linear(beta=7))")
    result = simulate(small_environment(), policy, rounds=60, seed=1)
    targets, _, seen = result.state.learned.items.sums
    assert 0 < (targets / np.maximum(seen, 1)).max() <= 1


def test_a_shared_table_is_refused_online() -> None:
    env, policy = small_environment(), CascadeUCB1(scope="shared")
    with pytest.raises(ParameterError, match="must keep its users apart"):
        Ranker(policy, items=env.items)


def test_a_shared_table_of_one_user_is_that_users_own() -> None:
    env = small_environment(users=1)
    own, shared = (
        simulate(env, CascadeKLUCB(scope=scope), rounds=50, seed=2) for scope in ("user", "shared")
    )
    assert np.array_equal(own.tally.appearances, shared.tally.appearances)


@pytest.mark.parametrize("name", ["cascade-ucb1", "cascade-kl-ucb", "cascade-ts", "toprank"])
def test_a_ranker_learns_from_a_table_and_takes_new_items(name: str) -> None:
    env = small_environment(items=12, k=3)
    ranker = Ranker(build("policy", name), items=env.items)
    for _ in range(6):
        slate = ranker.recommend("ann", 3)
        ranker.update(slate, 1)
    ranker.add_items(env.items.features[:1], ["new"])
    seen = set()
    for _ in range(12):
        slate = ranker.recommend("ann", 3)
        seen |= set(slate.items)
        ranker.update(slate, None)
    assert "new" in seen


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(ParameterError, match="scope must be one of user, shared"):
        Tabular(scope="global")  # type: ignore[arg-type]


def test_what_is_learned_does_not_depend_on_the_order_of_slates() -> None:
    table, one, two = Tabular(), Tabular().start(1, 5), Tabular().start(1, 5)
    slates = [evidence([[0, 1]], [[1, 1]], [[0, 1]]), evidence([[3, 0]], [[1, 1]], [[0, 1]])]
    for state, order in ((one, slates), (two, slates[::-1])):
        for each in order:
            table.update(state, EVERY, replace(each))
    found, other = (table.arrays(state) for state in (one, two))
    assert all(np.array_equal(array, other[name]) for name, array in found.items())
