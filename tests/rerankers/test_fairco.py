"""fairco as published: the gap to the group that has most exposure per merit, times lambda."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.policies import LinUCB
from faircascade.rerankers import FairCo, Identity, Ledger
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank


def test_lists_by_hand() -> None:
    # scores 0.5, 0.4, 0.3; merit 1, 1/2, 1; lambda 0.2; one position, so E counts slates.
    # after   E/merit   gap        added            sums
    # -       0 0 0     0 0 0      0   0   0        0.5 0.4 0.3   -> 0
    # 0       1 0 0     0 1 1      0   0.2 0.2      0.5 0.6 0.5   -> 1
    # 0 1     1 2 0     1 0 2      0.2 0   0.4      0.7 0.4 0.7   (tied)
    items = catalogue(3, merit=np.array([1.0, 0.5, 1.0]))
    asked = request(items=items, users=["ann"], k=1)
    fairco = FairCo(strength=0.2)
    books = Ledger.of(fairco.terms, 1)
    for expected, score in ((0, 0.5), (1, 0.6)):
        found = rerank(fairco, asked, [0.5, 0.4, 0.3], books)
        assert found.items.tolist() == [[expected]]
        assert found.scores[0, 0] == pytest.approx(score, abs=1e-4)
        books.enter(EVERY, found.items, items)
        fairco.settle([books])
    assert rerank(fairco, asked, [0.5, 0.4, 0.3], books).scores[0, 0] == pytest.approx(0.7)


def test_groups_compare_their_sums() -> None:
    # group x has items 0 and 1 with merit 2 in all, and E 1; group y has item 2, merit 1, E 0.
    # the gap of y is 1 / 2, times lambda; merit counts relative to the largest, which is that of x
    items = catalogue(3, groups={"genre": ["x", "x", "y"]})
    fairco = FairCo(strength=1.0, by="genre")
    books = Ledger.of(fairco.terms, 1)
    books.enter(EVERY, np.array([[0]]), items)
    fairco.settle([books])
    found = fairco.shift(books, EVERY, items, 1).added[0]
    assert found.tolist() == pytest.approx([0.0, 0.0, 1.0])


@settings(max_examples=50)
@given(data=st.data())
def test_scores_are_what_the_formula_says(data) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    m, strength = data.draw(st.integers(2, 10)), data.draw(st.sampled_from([0.0, 0.01, 1.0]))
    genres = rng.integers(0, 3, size=m)
    items = catalogue(m, merit=rng.uniform(0.1, 1, size=m), groups={"genre": genres})
    fairco = FairCo(strength=strength, by="genre")
    books = Ledger.of(fairco.terms, 3)
    shown = np.zeros(m)
    for _ in range(3):
        slates = np.array([rng.permutation(m)[:2] for _ in range(3)])
        np.add.at(shown, slates, np.tile(1.0 / np.log2([2.0, 3.0]), (3, 1)))
        books.enter(EVERY, slates, items)
        fairco.settle([books])
    sums = {g: (shown[genres == g].sum(), items.merit[genres == g].sum()) for g in set(genres)}
    largest = max(merit for _, merit in sums.values())
    ratio = np.array([sums[g][0] / (sums[g][1] / largest) for g in genres])
    expected = strength * (ratio.max() - ratio)
    assert np.allclose(fairco.shift(books, EVERY, items, 2).added[0], expected, atol=2e-3)


def test_without_strength_or_exposure_nothing_changes() -> None:
    scores = np.random.default_rng(0).normal(size=(7, 9))
    asked = request(items=catalogue(9), users=range(7), k=5)
    plain = rerank(Identity(), asked, scores)
    for fairco in (FairCo(strength=9.0), FairCo(strength=9.0, ledger="user")):
        found = rerank(fairco, asked, scores, Ledger.of(fairco.terms, 7))
        assert np.array_equal(found.items, plain.items)
    env = small_environment()
    first, second = (
        simulate(env, policy, rounds=20, seed=1).record.appearances
        for policy in (LinUCB(), LinUCB(reranker=FairCo(strength=0.0)))
    )
    assert np.array_equal(first, second)


def test_the_gap_in_exposure_per_merit_closes() -> None:
    # the article proves that it falls like 1 / time
    env = small_environment(users=3, items=20, k=3)
    gaps = []
    for rounds in (100, 400, 1600):
        result = simulate(env, LinUCB(reranker=FairCo(strength=0.1)), rounds=rounds, seed=1)
        worth = result.state.ledger.worth(EVERY, env.items)[0] / (3 * rounds)
        gaps.append(worth.max() - worth.min())
    assert gaps[1] < gaps[0] / 2
    assert gaps[2] < gaps[1] / 2


def test_forgetting_keeps_the_controller_from_winding_up() -> None:
    env = small_environment(users=3, items=20, k=3)
    clicks = [
        simulate(env, LinUCB(reranker=FairCo(half_life=h)), rounds=800, seed=1).clicks
        for h in (20.0, None)
    ]
    assert clicks[0] > clicks[1]
