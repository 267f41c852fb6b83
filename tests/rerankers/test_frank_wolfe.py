"""frank-wolfe: slates follow the gradient of a welfare, and the welfare reaches its optimum."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from faircascade.engine import simulate
from faircascade.policies import Bandit, LinUCB
from faircascade.rerankers import AlphaFair, FrankWolfe, GeneralisedGini, Identity, Ledger
from faircascade.rerankers.welfare import on_permutahedron
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank

WELFARES = [AlphaFair(), AlphaFair(alpha=0.5), AlphaFair(alpha=3.0), GeneralisedGini()]


def test_lists_by_hand() -> None:
    # two items, one position; Nash with offset 0.5: a gradient of 1 / (z + 0.5), z twice the share.
    # after    z      gradient     0.1 of it     sums
    # 0        2 0    0.4  2       0.04 0.2      0.54 0.50   -> 0
    # 0 0      2 0    the same; with strength 0.2 it is 0.58 0.70 -> 1
    items = catalogue(2)
    for strength, expected in ((0.1, 0), (0.2, 1)):
        climber = FrankWolfe(strength=strength, welfare=AlphaFair(alpha=1.0, offset=0.5))
        books = Ledger.of(climber.terms, 1)
        books.enter(EVERY, np.array([[0]]), items)
        climber.settle([books])
        found = rerank(climber, request(items=items, users=["ann"], k=1), [0.5, 0.3], books)
        assert found.items.tolist() == [[expected]]
        added = climber.shift(books, EVERY, items, 1).added[0]
        assert added.tolist() == pytest.approx([0.4 * strength, 2.0 * strength])


def test_the_gradient_of_gini_by_hand() -> None:
    # weights of two are 3/2 and 1/2. with z = (2, 0) and beta = 1 the projection of (-2, 0) onto
    # the segment from (1/2, 3/2) to (3/2, 1/2) is its first end; with beta = 4 it is that of
    # (-1/2, 0), at which the difference 1/2 is kept: (3/4, 5/4)
    fair = np.array([0.5, 0.5])
    z = np.array([2.0, 0.0])
    assert GeneralisedGini().gradient(z, fair, 1.0).tolist() == pytest.approx([0.5, 1.5])
    wide = GeneralisedGini(smoothing=4.0)
    assert wide.gradient(z, fair, 1.0).tolist() == pytest.approx([0.75, 1.25])
    assert wide.gradient(z, fair, 16.0).tolist() == pytest.approx([0.5, 1.5])  # beta = 1


def test_weights_of_gini_make_it_one_minus_the_gini_index() -> None:
    z = np.random.default_rng(0).uniform(size=30)
    z /= z.mean()
    gini = np.abs(z[:, None] - z).mean() / 2
    assert GeneralisedGini().value(z, np.full(30, 1 / 30)) == pytest.approx(1 - gini)
    worst = GeneralisedGini(worst=0.25).value(z, np.full(30, 1 / 30))
    assert worst == pytest.approx((np.sort(z)[:7].sum() + 0.5 * np.sort(z)[7]) / 7.5)


@settings(max_examples=40)
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=4), st.integers(0, 10**6))
def test_a_projection_onto_the_permutahedron_is_the_nearest_point(y: list[float], seed) -> None:
    rng = np.random.default_rng(seed)
    w = -np.sort(-rng.uniform(size=len(y)))
    point = np.array(y)
    found = on_permutahedron(point, w)
    for falling, total in zip(
        -np.sort(-found), np.cumsum(w) - np.cumsum(-np.sort(-found)), strict=True
    ):
        assert np.isfinite(falling)
        assert total >= -1e-9  # majorised by w
    assert found.sum() == pytest.approx(w.sum())
    distance = ((found - point) ** 2).sum()
    corners = np.array(list(permutations(w)))
    for share in rng.dirichlet(np.ones(len(corners)) * 0.3, size=100):
        assert ((share @ corners - point) ** 2).sum() >= distance - 1e-9


@pytest.mark.parametrize("welfare", [*WELFARES, GeneralisedGini(worst=0.5)], ids=repr)
def test_a_gradient_is_that_of_the_value(welfare) -> None:
    # far from ties and hardly smoothed; by each one's share of exposure, z * fair
    fair = np.array([0.1, 0.2, 0.3, 0.4])
    z = np.array([0.4, 1.6, 0.9, 1.2])
    slope = welfare.gradient(z, fair, 1e12)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-6
        rise = welfare.value(z + step / fair, fair) - welfare.value(z - step / fair, fair)
        assert slope[i] == pytest.approx(rise / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("welfare", WELFARES, ids=repr)
def test_means_over_slates_reach_the_optimum_of_clicks_and_welfare(welfare) -> None:
    # one position, known scores: the best shares of exposure maximise p . s + strength * W(p)
    s, strength, m = np.array([0.5, 0.45, 0.3, 0.1]), 0.15, 4
    items, fair = catalogue(m), np.full(m, 1 / m)
    climber = FrankWolfe(strength=strength, welfare=welfare)
    books = Ledger.of(climber.terms, 1)
    asked = request(items=items, users=["ann"], k=1)
    for _ in range(1500):
        books.enter(EVERY, rerank(climber, asked, s, books).items, items)
        climber.settle([books])
    shares = books.units[0] / books.units.sum()

    def loss(p: np.ndarray) -> float:
        return -float(p @ s + strength * welfare.value(m * p, fair))

    best = min(
        minimize(
            loss,
            start,
            bounds=[(0, 1)] * m,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        ).fun
        for start in (fair, np.array([0.7, 0.1, 0.1, 0.1]), shares)
    )
    assert loss(shares) <= best + 0.005


def test_shares_in_proportion_to_merit() -> None:
    items = catalogue(3, merit=np.array([3.0, 2.0, 1.0]))
    climber = FrankWolfe(strength=50.0, merit=True)
    books = Ledger.of(climber.terms, 1)
    for _ in range(600):
        found = rerank(climber, request(items=items, users=["ann"], k=1), 0.5, books)
        books.enter(EVERY, found.items, items)
        climber.settle([books])
    shares = books.units[0] / books.units.sum()
    assert shares.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=0.01)


def test_suppliers_count_together_and_what_cannot_be_shown_does_not_count() -> None:
    items = catalogue(
        4, groups={"supplier": ["a", "a", "b", "c"]}, eligible=[True, True, True, False]
    )
    climber = FrankWolfe(strength=1.0, by="supplier", welfare=AlphaFair(offset=1.0))
    books = Ledger.of(climber.terms, 1)
    books.enter(EVERY, np.array([[0]]), items)
    climber.settle([books])
    added = climber.shift(books, EVERY, items, 1).added[0]
    assert added.tolist() == pytest.approx([1 / 3, 1 / 3, 1.0, 0.0])  # z is 2 for a, 0 for b


def test_before_any_exposure_nothing_changes() -> None:
    scores = np.random.default_rng(0).normal(size=(7, 9))
    asked = request(items=catalogue(9), users=range(7), k=5)
    plain = rerank(Identity(), asked, scores)
    climber = FrankWolfe(strength=9.0)
    found = rerank(climber, asked, scores, Ledger.of(climber.terms, 7))
    assert np.array_equal(found.items, plain.items)


def test_equality_rises_with_strength_and_each_welfare_is_a_part() -> None:
    env = small_environment(users=5, items=20, k=3)
    for welfare in ("alpha-fair", "gini"):
        equality = [
            simulate(
                env, LinUCB(reranker=FrankWolfe(strength=c, welfare=welfare)), rounds=150, seed=1
            ).equality_p
            for c in (0.0, 0.02, 1.0)
        ]
        assert equality == sorted(equality)
        assert equality[-1] > 0.9
    named = Bandit(reranker={"name": "frank-wolfe", "welfare": {"name": "gini", "worst": 0.5}})
    assert named.reranker == FrankWolfe(welfare=GeneralisedGini(worst=0.5))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FrankWolfe(strength=-1.0), "strength must be >= 0, got -1.0"),
        (lambda: FrankWolfe(welfare="kind"), "welfare"),
        (lambda: AlphaFair(offset=0.0), "offset must be positive, got 0.0"),
        (lambda: AlphaFair(alpha=-1.0), "alpha must be >= 0, got -1.0"),
        (lambda: GeneralisedGini(worst=0.0), r"worst must be in \(0, 1\], got 0.0"),
        (lambda: GeneralisedGini(smoothing=0.0), "smoothing must be positive, got 0.0"),
    ],
)
def test_wrong_parameters_are_named(build, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
