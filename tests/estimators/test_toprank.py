"""TopRank: pairs of items, against a slow and obvious count of everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.environment.delays import Delay
from faircascade.environment.dynamics import Dynamics
from faircascade.estimators import TopRankBlocks
from faircascade.estimators.toprank import CONSTANT, MOST_ITEMS, blocks
from faircascade.policies import Bandit, TopRank
from faircascade.random import Words
from faircascade.ranker import Ranker
from faircascade.types import Bools, Ints, Items
from tests.environments import small_environment


def test_blocks_peel_off_what_nothing_left_is_better_than() -> None:
    better = np.zeros((2, 4, 4), dtype=bool)
    better[0, 0, 1] = better[0, 0, 2] = better[0, 1, 3] = True
    assert blocks(better).tolist() == [[0, 1, 1, 2], [0, 0, 0, 0]]


def test_items_that_beat_each_other_in_a_circle_share_the_last_block() -> None:
    better = np.zeros((1, 3, 3), dtype=bool)
    better[0, 0, 1] = better[0, 1, 2] = better[0, 2, 1] = True
    assert blocks(better).tolist() == [[0, 1, 1]]


def slow_toprank(env: Environment, rounds: int, seed: int, delta: float) -> list[list[int]]:
    """The slates of one user, with every pair counted from the clicks of all rounds."""
    m = len(env.items)
    S, N, G = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m), dtype=bool)
    policy, shown = TopRank(delta=delta), []
    state = policy.start(env.users, env.items.dim)
    for t in range(1, rounds + 1):
        left, partition = set(range(m)), []
        while left:
            block = {j for j in left if not any(G[i, j] for i in left)}
            partition.append(block)
            left -= block
        slate = policy.recommend(state, slice(None), env.items.pool, env.k, round=t, seed=seed)
        items = slate.items[0].tolist()
        order = [place for item in items for place, block in enumerate(partition) if item in block]
        assert order == sorted(order)
        assert all(set(items) >= block for block in partition[: order[-1]])
        clicks = env.respond(slate.items, round=t, seed=seed).clicks
        C = np.zeros(m)
        C[slate.items[0]] = clicks[0]
        for block in partition:
            for i in block:
                for j in block:
                    S[i, j] += C[i] - C[j]
                    N[i, j] += abs(C[i] - C[j])
        for i, j in zip(*np.nonzero(N), strict=True):
            G[i, j] |= S[i, j] >= np.sqrt(2 * N[i, j] * np.log(CONSTANT * np.sqrt(N[i, j]) / delta))
        policy.update(state, slice(None), feedback(env, slate.items, clicks))
        shown.append(items)
    return shown


def feedback(env: Environment, slates, clicks):
    from tests.evidence import feedback_on

    return feedback_on(env, slates, clicks)


def test_slates_are_those_of_a_count_of_every_pair() -> None:
    attraction = np.array([[0.9, 0.6, 0.3, 0.1, 0.1, 0.0]])
    env = Environment.from_arrays(np.eye(6), attraction, k=3)
    shown = slow_toprank(env, rounds=300, seed=3, delta=0.1)
    result = simulate(env, TopRank(delta=0.1), rounds=300, seed=3)
    found = np.zeros((6, 3), dtype=int)
    for slate in shown:
        found[slate, np.arange(3)] += 1
    assert np.array_equal(result.tally.appearances.sum(axis=0), found)
    assert shown[-1][0] == 0  # the best item has come to the top


def test_many_items_are_refused_in_one_line() -> None:
    env = Environment.from_arrays(np.ones((MOST_ITEMS + 1, 1)), [[0.1]], k=2)
    with pytest.raises(ValueError, match="compares all pairs of items, so it takes up to 256"):
        simulate(env, TopRank(), rounds=2)


def test_weights_are_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="leaves nothing of their positions to correct"):
        Bandit(estimator=TopRankBlocks(), exploration="shuffled-blocks", reward="exposure-aware")


def test_a_shuffle_is_uniform_within_blocks() -> None:
    env = small_environment(users=2000, items=4, k=2)
    result = simulate(env, TopRank(), rounds=1, seed=5)
    counts = result.tally.appearances.sum(axis=0)  # (4, 2)
    assert np.abs(counts - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


class Closing(Dynamics):
    """The last item is there in every second round."""

    def present(self, items: Items, round: int) -> Bools:
        present = np.ones(len(items), dtype=bool)
        present[-1] = round % 2 == 0
        return present


class Late(Delay):
    """Feedback comes a round later."""

    def rounds(self, users: Words, round: int, seed: int) -> Ints:
        return np.ones(len(users), dtype=np.int64)


@pytest.mark.parametrize("change", [{"dynamics": Closing()}, {"delay": Late()}])
def test_items_that_come_and_go_and_delays_are_refused(change: dict[str, Any]) -> None:
    env = replace(small_environment(items=6, k=2), **change)
    with pytest.raises(ValueError, match="'toprank' compares all items slate by slate"):
        simulate(env, TopRank(), rounds=2)
    simulate(env, "cascade-ucb1", rounds=2)


def test_a_ranker_leaves_no_item_out() -> None:
    ranker = Ranker(TopRank(), items=np.eye(4), item_ids=list("abcd"))
    ranker.update(ranker.recommend("u", k=2), clicked=1)
    for leave_out in (
        lambda: ranker.recommend("u", k=2, exclude=["a"]),
        lambda: ranker.recommend("u", k=2, candidates=["a", "b"]),
        lambda: ranker.remove_items(["a"]),
    ):
        with pytest.raises(ValueError, match="compares all items of the catalogue"):
            leave_out()
    assert len(ranker.recommend("u", k=2, exclude=["gone"]).items) == 2
