"""Click models: their clicks, values and best slates against all outcomes and all slates."""

from __future__ import annotations

from collections import defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import faircascade as fc
from faircascade.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ClickDraws, ClickModel
from faircascade.errors import ParameterError
from faircascade.random import keys_of
from faircascade.ranking import Scores
from tests.clicks.outcomes import outcomes
from tests.environments import small_environment

ITEMS = 6
MODELS: list[ClickModel] = [
    Cascade(),
    DCM(),
    DCM(stop=1.0),
    DCM(stop=(0.2, 0.9, 0.0, 0.7)),
    DBN(),
    DBN(satisfaction=(0.9, 0.1, 0.5, 0.0, 1.0, 0.3), continuation=0.7),
    DBN(satisfaction=0.4, continuation=1.0),
    PBM(),
    PBM(kappa=(0.3, 1.0, 0.0, 0.6)),
    PBM(kappa=0.5),
    UBM(),
    UBM(kappa=((0.9,), (0.8, 0.3), (0.1, 0.9, 0.5), (0.7, 0.2, 0.0, 1.0))),
    CCM(),
    CCM(t1=1.0, t2=1.0, t3=0.0),
    CCM(t1=0.5, t2=0.2, t3=0.9),
    CCM(t1=1.0, t2=1.0, t3=1.0),
    CCM(t1=0.0, t2=0.0, t3=0.0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def draws(n: int, slate: list[int], round: int = 1) -> ClickDraws:
    items = np.tile(keys_of(np.arange(ITEMS))[slate], (n, 1))
    return ClickDraws(seed=3, round=round, users=keys_of(np.arange(n)), items=items)


def worth(model: ClickModel, w: list[float], slate: list[int]) -> float:
    """Return the value of a slate as the table of models defines it, over all outcomes."""
    every = list(outcomes(model, w, slate))
    assert sum(one.probability for one in every) == pytest.approx(1.0)
    if isinstance(model, Cascade | DCM | DBN):
        return sum(one.probability for one in every if one.satisfied)
    return sum(one.probability * sum(one.clicks) for one in every)


@every_model
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_value_is_the_mean_over_all_outcomes(model: ClickModel, k: int) -> None:
    rng = np.random.default_rng(k)
    for slate in permutations(range(ITEMS), k):
        w = rng.uniform(size=k).tolist()
        found = model.value(np.array([w]), np.array([slate]))
        assert found == pytest.approx(worth(model, w, list(slate)), abs=1e-12)


@every_model
def test_clicks_come_as_often_as_the_model_says(model: ClickModel) -> None:
    n, slate, w = 40_000, [4, 0, 2, 5], [0.6, 0.3, 0.9, 0.5]
    clicks = model.click(np.tile(w, (n, 1)), np.tile(slate, (n, 1)), draws(n, slate))
    expected: dict[tuple[bool, ...], float] = defaultdict(float)
    for one in outcomes(model, w, slate):
        expected[one.clicks] += one.probability
    for path, chance in expected.items():
        share = float((clicks == np.array(path)).all(axis=1).mean())
        error = max(chance * (1.0 - chance), 1e-12) ** 0.5 / n**0.5
        assert abs(share - chance) <= 4.5 * error, path


@every_model
def test_the_best_slates_are_the_best_of_all(model: ClickModel) -> None:
    # a user browsing model says that it does not know them, but no exchange of two is better
    env = small_environment(users=8, items=ITEMS, k=3)
    w = np.random.default_rng(1).uniform(size=(30, ITEMS))
    w[:3] = w[:3].round(1)  # ties
    w[3] = 0.0
    w[4] = 1.0
    for k in (1, 3, 4):
        best = model.best(Scores.final(w), k, env.items.pool)
        assert all(len(set(slate)) == k for slate in best.tolist())
        found = model.value(np.take_along_axis(w, best, axis=1), best)
        every = [
            model.value(w[:, list(slate)], np.tile(slate, (30, 1)))
            for slate in permutations(range(ITEMS), k)
        ]
        if model.best_is_optimal or model == UBM():
            assert (found >= np.max(every, axis=0) - 1e-9).all()
        for one, other in permutations(range(k), 2):
            swapped = best.copy()
            swapped[:, [one, other]] = best[:, [other, one]]
            there = model.value(np.take_along_axis(w, swapped, axis=1), swapped)
            assert (found >= there - 1e-9).all()


def test_an_attractive_item_can_cost_more_clicks_than_it_brings() -> None:
    # t1 = 1, t3 = 0: who clicks a perfect item leaves, so that it belongs to the end
    env = small_environment(users=1, items=4, k=3)
    best = CCM(t1=1.0, t2=1.0, t3=0.0).best(
        Scores.final(np.array([[1.0, 0.5, 0.4, 0.1]])), 3, env.items.pool
    )
    assert best.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Cascade(), DCM(stop=1.0)),
        (DCM(stop=0.3), DBN(satisfaction=0.3, continuation=1.0)),
        (DCM(stop=0.25), CCM(t1=1.0, t2=0.75, t3=0.75)),
        (PBM(kappa=(1.0, 0.5, 0.2)), UBM(kappa=((1.0,), (0.5, 0.5), (0.2, 0.2, 0.2)))),
        (PBM(), UBM(kappa=((1.0,), (0.5, 0.5), (1 / 3, 1 / 3, 1 / 3)))),
        (DCM(stop=0.0), PBM(kappa=1.0)),
    ],
)
def test_models_that_mean_the_same_click_the_same(one: ClickModel, other: ClickModel) -> None:
    w, slates = np.random.default_rng(0).uniform(size=(500, 3)), np.tile([1, 4, 2], (500, 1))
    found = [model.click(w, slates, draws(500, [1, 4, 2])) for model in (one, other)]
    assert np.array_equal(*found)
    assert found[0].any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DCM(stop=1.2), r"stop must be in \[0, 1\], got 1.2"),
        (lambda: DCM(stop=(0.5, -0.1)), r"stop must be in \[0, 1\] at place 2, got -0.1"),
        (lambda: DCM(stop=()), "stop must be a number or a list of numbers"),
        (lambda: DBN(satisfaction=2), r"satisfaction must be in \[0, 1\]"),
        (lambda: DBN(continuation=-1), r"continuation must be in \[0, 1\]"),
        (lambda: PBM(kappa="high"), "kappa must be a number or a list of numbers"),
        (lambda: PBM(kappa=float("nan")), "kappa must be finite"),
        (lambda: UBM(kappa=((1.0,), (0.5,))), "kappa must have 2 numbers in row 2"),
        (lambda: UBM(kappa=(1.0,)), "kappa must be a list of lists of numbers"),
        (lambda: UBM(kappa=()), "kappa must have a row"),
        (lambda: UBM(kappa=((1.5,),)), r"kappa must be in \[0, 1\]"),
        (lambda: CCM(t2=1.01), r"t2 must be in \[0, 1\], got 1.01"),
    ],
)
def test_parameters_out_of_range_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DCM(stop=(0.5, 0.5)), "click_model.stop must be .* one for each of the 3 positions"),
        (PBM(kappa=(1.0,)), "click_model.kappa must be .* one for each of the 3 positions"),
        (UBM(kappa=((1.0,),)), "click_model.kappa must have a row for each of the 3 positions"),
        (
            DBN(satisfaction=(0.5,) * 19),
            r"click_model.satisfaction must be .* a list of 20 \(the items of the catalogue\)",
        ),
    ],
)
def test_an_environment_refuses_a_model_of_the_wrong_length(
    model: ClickModel, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        small_environment(items=20, k=3, click_model=model)


def test_a_longer_list_of_positions_is_cut() -> None:
    cut, long = DCM(stop=(0.3, 0.6)), DCM(stop=(0.3, 0.6, 0.9))
    w, slates = np.random.default_rng(0).uniform(size=(100, 2)), np.tile([1, 4], (100, 1))
    assert np.array_equal(cut.value(w, slates), long.value(w, slates))


@pytest.mark.parametrize("model", [Cascade(), PBM(), UBM(), CCM()], ids=repr)
def test_the_optimal_slates_get_as_many_clicks_as_they_are_worth(model: ClickModel) -> None:
    env = small_environment(users=200, items=30, k=4, click_model=model)
    result = fc.simulate(env, fc.Optimal(), rounds=100, seed=5, realised=True)
    error = (4 * result.clicks / result.recommendations) ** 0.5  # K clicks at most
    assert abs(result.clicks - result.optimal_value) < 4.5 * error
    assert result.regret == pytest.approx(0.0)
    assert result.measure("regret") == pytest.approx(0.0)
    assert result.tally.optimal_clicks.sum() == result.tally.clicks.sum()
    assert (result.clicked < result.clicks) == (model != Cascade())
