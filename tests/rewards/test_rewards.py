"""Reward tables, by hand arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.engine import simulate
from faircascade.observations import FirstClick
from faircascade.policies import EALinUCB, LinUCB
from faircascade.registry import as_component, from_spec, to_spec
from faircascade.rewards import (
    RBP,
    Custom,
    ExposureAware,
    Linear,
    Log,
    RewardTable,
    Scaled,
    Standard,
    as_weight,
)
from tests.environments import small_environment


def table(weight, reading, gamma=1.0, k=3) -> RewardTable:
    return ExposureAware(weight=weight, gamma=gamma, reading=reading).table(k)


@pytest.mark.parametrize("weight", [[1, 2, 4], (1.0, 2.0, 4.0), np.array([1.0, 2.0, 4.0])])
def test_a_list_is_a_weight_of_each_position(weight) -> None:
    reward = ExposureAware(weight=weight)
    assert reward == ExposureAware(weight=Custom(weights=(1.0, 2.0, 4.0)))
    assert reward.table(3).clicked.tolist() == [[1, 2, 4]] * 3
    assert as_component("reward", "exposure-aware(weight=[1, 2, 4])") == reward
    assert from_spec("reward", to_spec(reward)) == reward


def test_a_class_is_no_weight() -> None:
    with pytest.raises(ValueError, match=r"weight must be a weight, not its class: write Log\(\)"):
        ExposureAware(weight=Log)


def test_standard_gives_one_for_a_click_and_nothing_else() -> None:
    found = Standard().table(3)
    assert found.clicked.tolist() == [[1, 1, 1]] * 3
    assert not found.ignored.any()


@pytest.mark.parametrize(
    ("weight", "F"),
    [
        (Log(), [math.log(2), math.log(3), math.log(4)]),
        (RBP(beta=0.5), [1, 0.5, 0.25]),
        (Linear(beta=0.1), [0.1, 0.2, 0.3]),
        (Custom(weights=(3.0, 1.0, 2.0)), [3, 1, 2]),
        (Custom(weights=lambda position, k: position + k), [4, 5, 6]),
    ],
)
def test_paper_uses_the_printed_weights_for_reward_and_penalty(weight, F: list[float]) -> None:
    found = table(weight, "paper", gamma=0.1)
    assert np.allclose(found.clicked, F)
    for examined in (1, 2, 3):
        expected = [-0.1 * f for f in F[:examined]] + [0] * (3 - examined)
        assert np.allclose(found.ignored[examined - 1], expected)


@pytest.mark.parametrize(
    ("weight", "rising"),
    [
        (Log(), [math.log(2), math.log(3), math.log(4)]),
        (RBP(beta=0.5), [0.25, 0.5, 1]),
        (Linear(beta=0.1), [0.1, 0.2, 0.3]),
        (Custom(weights=(1.0, 4.0, 9.0)), [1, 4, 9]),
    ],
)
def test_intended_meets_both_criteria(weight, rising: list[float]) -> None:
    found = table(weight, "intended", gamma=0.1)
    assert np.allclose(found.clicked, rising)  # a click low in the slate counts more
    assert np.allclose(found.ignored[2], [-0.1 * f for f in rising[::-1]])  # ignored high: worse
    assert (np.diff(found.clicked, axis=1) >= 0).all()
    assert (np.diff(-found.ignored[2]) <= 0).all()


def test_weights_of_ones_own_are_taken_as_they_are() -> None:
    weight = Custom(weights=(2.0, 1.0, 3.0))
    assert np.allclose(table(weight, "intended").clicked, [2, 1, 3])


def test_reference_log_is_to_the_base_of_the_length_and_punishes_with_its_inverse() -> None:
    found = table(Log(), "reference", gamma=0.1, k=3)
    logs = [math.log(1 + position) / math.log(3) for position in (1, 2, 3)]
    assert np.allclose(found.clicked, logs)
    assert np.allclose(found.ignored[1], [-0.1 / logs[0], -0.1 / logs[1], 0])
    assert np.allclose(table(Log(), "reference", k=1).clicked, [1])  # base 2 at K = 1


def test_reference_rbp_pays_one_for_any_click() -> None:
    found = table(RBP(beta=0.9), "reference", gamma=0.2)
    assert found.clicked.tolist() == [[1, 1, 1]] * 3
    assert np.allclose(found.ignored[2], [-0.2, -0.18, -0.162])


def test_reference_linear_counts_the_penalty_back_from_the_last_examined() -> None:
    found = table(Linear(beta=0.05), "reference", gamma=1.0)
    assert np.allclose(found.clicked, [0.05, 0.10, 0.15])
    assert np.allclose(found.ignored[1], [-0.10, -0.05, 0])
    assert np.allclose(found.ignored[2], [-0.15, -0.10, -0.05])


def test_weights_of_outcomes() -> None:
    # clicked at 2: position 1 is penalised, 3 unseen; no click: all penalised; saw two, no click
    found = table(Linear(beta=1.0), "paper", gamma=0.5)
    clicks = np.array([2, 0, 0, 1])[:, None] == np.arange(1, 4)
    seen = FirstClick().seen(clicks, np.array([3, 3, 2, 3]))
    assert found.targets(clicks, seen).tolist() == [
        [-0.5, 2, 0],
        [-0.5, -1, -1.5],
        [-0.5, -1, 0],
        [1, 0, 0],
    ]


@given(k=st.integers(1, 12), gamma=st.floats(0, 2), data=st.data())
def test_unseen_positions_weigh_nothing_and_clicks_are_never_penalised(k, gamma, data) -> None:
    weight = data.draw(st.sampled_from([Log(), RBP(), Linear()]))
    reading = data.draw(st.sampled_from(["paper", "intended", "reference"]))
    found = ExposureAware(weight=weight, gamma=gamma, reading=reading).table(k)
    assert (found.clicked > 0).all()
    assert (found.ignored <= 0).all()
    assert not np.triu(found.ignored, 1).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExposureAware(gamma=-1), "gamma must be >= 0, got -1"),
        (lambda: ExposureAware(reading="x"), "reading must be one of"),
        (lambda: RBP(beta=1.5), r"beta must be in \(0, 1\] for rbp, got 1.5"),
        (lambda: Linear(beta=0), "beta must be positive for linear, got 0"),
        (lambda: Custom(weights=(1.0, -1.0)).values(2), "must be positive at position 2"),
        (lambda: Custom(weights=(1.0,)).values(2), "must cover all 2 positions"),
        (lambda: table(Custom(weights=(1, 2, 3)), "reference"), "has no 'reference' reading"),
        (lambda: as_weight("logg"), r"did you mean 'log'\?"),
        (lambda: as_weight("log", 0.3), "has no parameter 'beta'"),
        (lambda: as_weight((1.0, 2.0), 0.3), "beta must be left out"),
    ],
)
def test_mistakes_are_named(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("weight", ["log", "rbp", "linear"])
def test_a_scaled_weight_keeps_the_shape_and_has_a_mean_of_1(weight: str) -> None:
    given, scaled = as_weight(weight), Scaled(of=weight)  # type: ignore[arg-type]
    for mine, theirs in (
        (scaled.values(7), given.values(7)),
        (scaled.intended(7), given.intended(7)),
    ):
        assert mine.mean() == pytest.approx(1.0)
        np.testing.assert_allclose(mine / mine[0], theirs / theirs[0])
    assert EALinUCB(weight=scaled).label == f"EALinUCB {weight} scaled"


def test_larger_weights_are_a_smaller_alpha() -> None:
    env = small_environment(users=6, items=30, k=4)
    larger = simulate(env, EALinUCB(weight=(4.0, 4.0, 4.0, 4.0), alpha=1.0), rounds=60)
    smaller = simulate(env, LinUCB(alpha=0.25), rounds=60)
    assert larger.metrics == smaller.metrics
