"""Optimal and random slates, without a simulation: as runs of these policies find them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from faircascade.clicks import Cascade
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.environment.dynamics import Dynamics
from faircascade.experiment import compare
from faircascade.experiment.yardsticks import random_value, yardsticks
from faircascade.policies import LinUCB, Optimal, Random
from faircascade.types import Floats, Users
from tests.environments import small_environment
from tests.metrics.test_over import environment


def test_the_optimal_slates_are_those_of_a_run_of_the_policy_optimal() -> None:
    env = environment()
    ran = simulate(env, Optimal(), rounds=50, seed=1, engine="loop")
    found = yardsticks(ran)["optimal"]
    assert found.pop("clicks") == ran.optimal_value
    assert found.pop("regret") == ran.regret == 0
    for name, value in found.items():
        over, _, metric = name.rpartition(".")
        expected = ran.measure(metric, over=over or "catalogue")
        assert value == pytest.approx(expected, rel=1e-9), name
    assert {"equality_b", "eligible.equality_b", "fairness_regret", "coverage"} <= found.keys()


def test_random_slates_are_what_long_runs_of_random_come_to() -> None:
    env = environment()
    rounds = 1500
    ran = simulate(env, Random(), rounds=rounds, seed=1, engine="loop")
    found = yardsticks(ran)["random"]
    slates = rounds * len(env.users)
    error = math.sqrt(0.25 / slates) + math.sqrt(0.25 / 10_000)
    assert found["clicks"] == pytest.approx(ran.clicks, abs=4 * error)
    assert found["equality_b"] == pytest.approx(20 / 30)
    assert found["eligible.equality_b"] == pytest.approx(1)
    assert found["equity_b"] == pytest.approx(ran.equity_b, abs=0.02)
    assert found["regret"] == pytest.approx(ran.regret, rel=0.05)
    assert "fairness_regret" not in found  # it depends on the noise of each interval


def test_the_value_of_random_slates_is_their_expectation() -> None:
    """Two items, slates of one: each user is shown either, so the mean of all attraction."""
    features, preferences = np.array([[0.2], [0.6]]), np.array([[1.0], [0.5]])
    env = Environment.from_arrays(features, preferences, k=1)
    expected = np.mean([0.2, 0.6, 0.1, 0.3])
    assert random_value(env, seed=1) == pytest.approx(expected, abs=4 * 0.2 / math.sqrt(10_000))


def test_nothing_is_said_of_an_environment_that_changes() -> None:
    class Swap(Dynamics):
        def preferences(self, users: Users, round: int) -> Floats:
            return users.preferences * (0.5 if round % 2 else 1.0)

    env = replace(environment(), dynamics=Swap())
    assert yardsticks(simulate(env, LinUCB(), rounds=3, seed=1)) == {}


def test_the_best_is_left_out_where_it_is_not_known() -> None:
    class Unsure(Cascade):
        best_is_optimal = False

    env = replace(environment(), click_model=Unsure())
    found = yardsticks(simulate(env, LinUCB(), rounds=3, seed=1))
    assert list(found) == ["random"]
    assert "regret" not in found["random"]


def test_policies_that_were_run_are_not_yardsticks_too() -> None:
    (alone,) = compare(small_environment(), [LinUCB()], rounds=5, seeds=2).environments
    assert list(alone.yardsticks) == ["optimal", "random"]
    (both,) = compare(small_environment(), [LinUCB(), Random()], rounds=5).environments
    assert list(both.yardsticks) == ["optimal"]
