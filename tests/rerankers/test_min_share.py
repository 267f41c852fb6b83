"""min-share: what lags its guaranteed share is shown first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.policies import LinUCB
from faircascade.rerankers import Ledger, MinShare
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank


def test_lists_by_hand() -> None:
    # two items, one position, share 1/2: each is owed a quarter of the slates so far, strictly.
    # slates so far  1: item 1 is owed 1/4; 2: (1, 1); 3: (2, 1), owed 3/4 - 1 < 0
    items, least = catalogue(2), MinShare(share=0.5)
    books = Ledger.of(least.terms, 1)
    slates = []
    for _ in range(8):
        found = rerank(least, request(items=items, users=["ann"], k=1), [0.9, 0.1], books)
        books.enter(EVERY, found.items, items)
        least.settle([books])
        slates.append(int(found.items[0, 0]))
    assert slates == [0, 1, 0, 0, 0, 1, 0, 0]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_nobody_ever_lags_by_more_than_the_tolerance_and_one(data) -> None:
    # the theorem of the source, for slates of one item and one user
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    m, share = data.draw(st.integers(2, 6)), data.draw(st.sampled_from([0.2, 0.7, 0.95]))
    tolerance = data.draw(st.sampled_from([0.0, 2.0]))
    items, least = catalogue(m), MinShare(share=share, tolerance=tolerance, ledger="user")
    books, asked = Ledger.of(least.terms, 1), request(items=items, users=["ann"], k=1)
    for t in range(1, 80):
        found = rerank(least, asked, rng.uniform(size=m), books)
        books.enter(EVERY, found.items, items)
        assert (share / m * t - books.exposure(EVERY, items)[0]).max() <= tolerance + 1.0 + 1e-9


def test_groups_have_shares_too() -> None:
    groups = {"supplier": ["a"] * 20 + ["b"] * 4}
    env = small_environment(users=4, items=24, k=3, groups=groups)
    policy = LinUCB(reranker=MinShare(share=0.8, by="supplier"))
    ledger = simulate(env, policy, rounds=200, seed=1).state.ledger
    assert ledger.units[0].min() / ledger.units.sum() > 0.39


def test_items_that_cannot_be_shown_are_owed_nothing() -> None:
    items = catalogue(3, eligible=[True, True, False])
    least = MinShare(share=0.9)
    books = Ledger.of(least.terms, 1)
    books.enter(EVERY, np.array([[0]]), items)
    least.settle([books])
    assert least.owed(books, EVERY, items)[0].tolist() == pytest.approx([0.45 - 1.0, 0.45, 0.0])


def test_every_item_gets_its_share_in_the_long_run() -> None:
    env = small_environment(users=6, items=30, k=3)
    for ledger in ("user", "global"):
        policy = LinUCB(reranker=MinShare(share=0.5, ledger=ledger))
        shown = simulate(env, policy, rounds=400, seed=1).record.appearances.sum(axis=1)
        assert shown.min() / shown.sum() > 0.9 * 0.5 / 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 1.0}, "share must be at least 0 and below 1, got 1.0"),
        ({"tolerance": -1.0}, "tolerance must be >= 0, got -1.0"),
        ({"ledger": "all"}, "ledger must be one of user, global, got 'all'"),
    ],
)
def test_wrong_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MinShare(**options)
