"""p-mmf: providers that get more than their share pay a price, and it never exceeds lambda."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from faircascade.engine import simulate
from faircascade.policies import LinUCB
from faircascade.rerankers import PMMF, Ledger
from faircascade.rerankers.p_mmf import project
from tests.environments import small_environment
from tests.rerankers.asking import EVERY, catalogue, request, rerank


def test_prices_by_hand() -> None:
    # two providers with shares 2/3 and 1/3, so rho is 1 and 1/2; step 0.1, the newest gradient.
    # item 2 of the second is shown: g = rho - e = (1, -1/2), and mu - step g / rho^2 is
    # (-0.1, 0.2), with rho mu = (-0.1, 0.1): within lambda
    items = catalogue(3, groups={"supplier": ["a", "a", "b"]})
    mmf = PMMF(by="supplier", step=0.1, momentum=1.0, strength=0.1)
    books = Ledger.of(mmf.terms, 1)
    books.enter(EVERY, np.array([[2]]), items)
    mmf.settle([books])
    assert books.memory["dual"].tolist() == pytest.approx([-0.1, 0.2])
    assert mmf.shift(books, EVERY, items, 1).added[0].tolist() == pytest.approx([0.1, 0.1, -0.2])
    tighter = PMMF(by="supplier", step=0.1, momentum=1.0, strength=0.04)
    books = Ledger.of(tighter.terms, 1)
    books.enter(EVERY, np.array([[2]]), items)
    tighter.settle([books])
    assert books.memory["dual"].tolist() == pytest.approx([-0.04, 0.2])


def test_the_gradient_has_momentum() -> None:
    items = catalogue(2)
    mmf = PMMF(step=1.0, momentum=0.1, strength=10.0)
    books = Ledger.of(mmf.terms, 1)
    for first, second in ((-0.025, 0.075), (-0.0475, 0.1425)):  # rho is 3/4: 0.1 * -1/4, ...
        books.enter(EVERY, np.array([[0]]), items)
        mmf.settle([books])
        assert books.memory["gradient"].tolist() == pytest.approx([first, second])


@settings(max_examples=60)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.sampled_from([0.0, 0.1, 1.0]))
def test_a_projection_is_the_nearest_feasible_point(y: list[float], largest: float) -> None:
    point = np.array(y)
    found = project(point, largest)
    assert np.maximum(-found, 0).sum() <= largest + 1e-9
    assert np.array_equal(found[point >= 0], point[point >= 0])
    distance = ((found - point) ** 2).sum()
    rng = np.random.default_rng(0)
    for other in rng.normal(size=(200, len(y))) * 2 + point:
        debts = np.maximum(-other, 0).sum()
        if debts > largest:
            other[other < 0] *= largest / debts
        assert ((other - point) ** 2).sum() >= distance - 1e-9


def test_the_projection_solves_the_program_of_the_article() -> None:
    # min |rho (x - y)| subject to the sums of the smallest rho x staying above -lambda
    rng = np.random.default_rng(3)
    y, largest = np.sort(rng.normal(size=5)), 0.3
    rows = np.tril(np.ones((5, 5)))
    solved = minimize(
        lambda x: ((x - y) ** 2).sum(),
        np.zeros(5),
        constraints={"type": "ineq", "fun": lambda x: rows @ x + largest},
        tol=1e-12,
    )
    assert np.allclose(project(y, largest), solved.x, atol=1e-5)


def test_slates_are_ordered_by_score_and_chosen_by_price() -> None:
    items = catalogue(3)
    mmf = PMMF()
    books = Ledger.of(mmf.terms, 1)
    books.follow(items.ids)
    books.memory["dual"] = np.array([0.0, 0.3, -0.05])
    found = rerank(mmf, request(items=items, users=["ann"], k=2), [0.5, 0.7, 0.6], books)
    assert found.items.tolist() == [[2, 0]]
    books.memory["dual"] = np.array([-0.2, 0.3, 0.0])  # now 0 has the larger sum, not the score
    found = rerank(mmf, request(items=items, users=["ann"], k=2), [0.5, 0.7, 0.6], books)
    assert found.items.tolist() == [[2, 0]]
    assert found.scores[0].tolist() == pytest.approx([0.6, 0.7])


def test_a_provider_that_had_all_of_its_budget_gets_no_more() -> None:
    # two providers, two slates of one: at most 2 * 1 * 1/2 * (1 + 1/2) = 1.5 for each
    items = catalogue(2)
    mmf = PMMF(horizon=2, step=0.0)
    books = Ledger.of(mmf.terms, 1)
    asked = request(items=items, users=["ann"], k=1)
    slates = []
    for _ in range(3):
        found = rerank(mmf, asked, [0.9, 0.1], books).items
        books.enter(EVERY, found, items)
        mmf.settle([books])
        slates.append(int(found[0, 0]))
    assert slates == [0, 0, 1]


def test_the_worst_off_provider_gets_more_as_lambda_grows() -> None:
    groups = {"supplier": [f"s{i % 5}" for i in range(25)]}
    env = small_environment(users=5, items=25, k=3, groups=groups)
    least = []
    for strength in (0.0, 0.05, 1.0):
        policy = LinUCB(reranker=PMMF(by="supplier", strength=strength, step=0.01))
        ledger = simulate(env, policy, rounds=300, seed=1).state.ledger
        least.append(float(ledger.units.min() / ledger.units.sum()))
    assert least == sorted(least)
    assert least[-1] > 0.15  # an equal share is 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1.0}, "strength must be >= 0, got -1.0"),
        ({"momentum": 0.0}, r"momentum must be in \(0, 1\], got 0.0"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
    ],
)
def test_wrong_parameters_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PMMF(**options)
