"""merit-draws: items drawn one after the other, in proportion to exp(sharpness * score)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.exploration import UCB
from faircascade.policies import Bandit, FRMLinUCB, LinUCB
from faircascade.rerankers import Identity, MeritDraws
from faircascade.types import Users
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank

SCORES = np.array([0.3, 0.1, 0.25, -0.4, 0.0])
MANY = 20_000


def shares(sharpness: float, scores=SCORES) -> np.ndarray:
    """softmax(c U)."""
    weights = np.exp(sharpness * np.asarray(scores))
    return weights / weights.sum()


def assert_counts(counts: np.ndarray, expected: np.ndarray, total: int) -> None:
    """Every count lies within five standard errors of a binomial's mean."""
    error = np.sqrt(total * expected * (1 - expected))
    assert (np.abs(counts - total * expected) < 5 * error).all()


@pytest.mark.parametrize("by", ["user", "round"])
@pytest.mark.parametrize("sharpness", [0.5, 2.0, 6.0])
def test_the_first_item_is_drawn_by_the_softmax_of_the_scores(by: str, sharpness: float) -> None:
    many = np.arange(1, MANY + 1)
    if by == "user":
        asked = request(items=catalogue(5), users=many, k=3)
    else:
        asked = request(items=catalogue(5), users=np.zeros(MANY), k=3, round=many)
    first = rerank(MeritDraws(sharpness=sharpness), asked, SCORES).items[:, 0]
    assert_counts(np.bincount(first, minlength=5), shares(sharpness), MANY)


def test_the_second_item_is_drawn_from_those_left_by_plackett_and_luce() -> None:
    p = shares(2.0)
    asked = request(items=catalogue(5), users=range(MANY), k=2)
    pairs = rerank(MeritDraws(sharpness=2.0), asked, SCORES).items
    counts = np.zeros((5, 5))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    expected = np.outer(p, p) / (1 - p)[:, None]  # p_i p_j / (1 - p_i)
    np.fill_diagonal(expected, 0.0)
    assert expected.sum() == pytest.approx(1)
    assert not np.diag(counts).any()
    assert_counts(counts[expected > 0], expected[expected > 0], MANY)


def test_sharpness_zero_is_uniform_over_the_pool_at_every_position() -> None:
    items = catalogue(6, eligible=[True, True, False, True, True, True])
    asked = request(items=items, users=range(MANY), k=5)
    found = rerank(MeritDraws(sharpness=0.0), asked, SCORES * 1e6).items
    for position in found.T:
        counts = np.bincount(position, minlength=6)
        assert counts[2] == 0
        assert_counts(counts[[0, 1, 3, 4, 5]], np.full(5, 0.2), MANY)


def test_a_very_large_sharpness_gives_the_slate_of_the_exploration() -> None:
    env = small_environment(users=30, items=40, k=5)
    learned = simulate(env, LinUCB(), rounds=20, seed=1).state

    def slates(reranker) -> np.ndarray:
        bandit = Bandit(exploration=UCB(alpha=0.25), reranker=reranker)
        pool = env.items.pool
        return bandit.recommend(learned, EVERY, pool, env.k, round=21, seed=1).items

    plain = slates(Identity())
    assert np.array_equal(slates(MeritDraws(sharpness=1e12)), plain)
    assert not np.array_equal(slates(MeritDraws(sharpness=10.0)), plain)


@settings(max_examples=30)
@given(gone=st.integers(0, 7), seed=st.integers(0, 99))
def test_the_order_of_two_items_does_not_depend_on_a_third(gone: int, seed: int) -> None:
    # Luce's axiom, here draw by draw: without an item the others keep their order
    scores = np.random.default_rng(seed).normal(size=8)
    items, rest = catalogue(8), [i for i in range(8) if i != gone]
    whole = request(items=items, users=range(6), k=8, seed=seed)
    part = request(items=items, users=range(6), k=7, seed=seed, candidates=rest)
    with_it = rerank(MeritDraws(sharpness=1.0), whole, scores).items
    without = rerank(MeritDraws(sharpness=1.0), part, scores[rest]).items
    assert [[i for i in row if i != gone] for row in with_it.tolist()] == without.tolist()


def test_relabelling_items_relabels_the_slates() -> None:
    order = np.random.default_rng(0).permutation(5)
    names = np.array([f"item-{i}" for i in range(5)])
    shown = []
    for rows in (np.arange(5), order):
        asked = request(items=catalogue(5, ids=names[rows]), users=range(50), k=4)
        found = rerank(MeritDraws(sharpness=3.0), asked, SCORES[rows])
        shown.append(asked.pool.items.ids[found.items])
    assert np.array_equal(*shown)


def test_users_rounds_and_seeds_have_draws_of_their_own() -> None:
    slates = [
        rerank(MeritDraws(sharpness=0.0), request(items=catalogue(50), **where, k=10), 0.0).items[0]
        for where in (
            {"users": ["ann"]},
            {"users": ["bob"]},
            {"users": ["ann"], "round": 2},
            {"users": ["ann"], "seed": 1},
        )
    ]
    assert len({tuple(found.tolist()) for found in slates}) == 4


def test_exposure_evens_out_and_clicks_fall_as_sharpness_falls() -> None:
    env = small_environment(users=8, items=40, k=4)
    runs = [
        simulate(env, FRMLinUCB(variant="merit-draws", sharpness=c), rounds=400, seed=1)
        for c in (1000.0, 30.0, 3.0, 0.0)
    ]
    equality = [run.equality_b for run in runs]
    assert equality == sorted(equality)
    regret = [run.regret for run in runs]
    assert regret == sorted(regret)


def test_a_bandit_with_merit_draws_keeps_no_account() -> None:
    bandit = Bandit(reranker=MeritDraws())
    assert bandit.start(Users(ids=np.arange(2)), 3).ledger is None
    assert not bandit.shares


@pytest.mark.parametrize("sharpness", [-1.0, float("nan"), float("inf")])
def test_a_wrong_sharpness_is_named(sharpness: float) -> None:
    with pytest.raises(ValueError, match="sharpness must be"):
        MeritDraws(sharpness=sharpness)
