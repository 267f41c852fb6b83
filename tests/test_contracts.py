"""What every registered part promises: a new one is picked up here by being registered."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from faircascade import registry, testing
from faircascade.engine import simulate, simulation
from faircascade.policies import Bandit
from faircascade.propensities import is_drawn
from faircascade.rerankers import Reranker
from faircascade.testing.policies import estimator_for
from tests.environments import small_environment

EVERYTHING = [(kind, name) for kind in registry.kinds() for name in registry.components(kind)]
CHECKS: dict[str, Callable[[Any], None]] = {
    "click_model": testing.check_click_model,
    "data": testing.check_dataset,
    "delay": testing.check_delay,
    "dynamics": testing.check_dynamics,
    "estimator": testing.check_estimator,
    "exploration": testing.check_exploration,
    "metric": testing.check_metric,
    "observation": testing.check_observation,
    "policy": testing.check_policy,
    "reranker": testing.check_reranker,
    "reward": testing.check_reward_model,
}

NEEDED: dict[str, dict[str, Any]] = {"custom": {"weights": [3.0, 1.0, 2.0]}}
"""Parameters that have no default, by the name of the part."""


def of_kind(kind: str) -> list[str]:
    return [name for k, name in EVERYTHING if k == kind]


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_a_part_keeps_the_contract_of_its_kind(kind: str, name: str) -> None:
    CHECKS.get(kind, testing.check_component)(registry.build(kind, name, NEEDED.get(name)))


def test_every_check_is_public() -> None:
    checks = {check.__name__ for check in CHECKS.values()}
    assert checks <= set(testing.__all__)
    assert all(inspect.getdoc(getattr(testing, name)) for name in testing.__all__)


@pytest.mark.parametrize("reward", of_kind("reward"))
@pytest.mark.parametrize("exploration", of_kind("exploration"))
def test_every_reward_model_works_with_every_exploration(reward: str, exploration: str) -> None:
    part = registry.build("exploration", exploration)
    estimator = estimator_for(part)
    if estimator.refuses_weights and reward != "standard":
        with pytest.raises(ValueError, match="cannot have reward"):
            Bandit(reward=reward, exploration=part, estimator=estimator)
        return
    policy = Bandit(reward=reward, exploration=part, estimator=estimator)
    result = simulate(small_environment(users=3), policy, rounds=10, seed=1)
    assert result.recommendations == 30
    learned = policy.arrays(result.state).values()
    assert all(np.isfinite(array).all() for array in learned if array.dtype.kind == "f")


@pytest.mark.parametrize("name", of_kind("weight"))
def test_a_weight_is_positive(name: str) -> None:
    values = registry.build("weight", name, NEEDED.get(name)).values(1)
    assert (values > 0).all()


def rerankers() -> list[Reranker]:
    """Every re-ranker with its defaults, and with an account of all users if it keeps any."""
    found = [registry.build("reranker", name) for name in of_kind("reranker")]
    shared = [dataclasses.replace(r, ledger="global") for r in found if hasattr(r, "ledger")]
    return found + shared


every_reranker = pytest.mark.parametrize("reranker", rerankers(), ids=repr)


@every_reranker
def test_a_reranker_keeps_its_contract_whatever_its_account(reranker: Reranker) -> None:
    testing.check_reranker(reranker)
    assert Bandit(reranker=reranker).shares == (reranker.scope == "global")


@every_reranker
@pytest.mark.parametrize("reward", of_kind("reward"))
def test_every_reranker_works_with_every_reward_model(reranker: Reranker, reward: str) -> None:
    policy = Bandit(reward=reward, reranker=reranker)
    assert simulate(small_environment(users=3), policy, rounds=10, seed=1).recommendations == 30


@every_reranker
@pytest.mark.parametrize("exploration", of_kind("exploration"))
def test_every_reranker_works_with_every_exploration_in_compiled_engines_too(
    reranker: Reranker, exploration: str, monkeypatch
) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    env = small_environment(users=5, items=40, k=4)
    part = registry.build("exploration", exploration)
    estimator = estimator_for(part)
    if not reranker.asks <= estimator.offers:
        with pytest.raises(ValueError, match="does not offer"):
            Bandit(exploration=part, reranker=reranker, estimator=estimator)
        return
    if reranker.needs_fixed_ranking and is_drawn(part):
        with pytest.raises(ValueError, match="leaves nothing to chance"):
            Bandit(exploration=part, reranker=reranker, estimator=estimator)
        return
    policy = Bandit(exploration=part, reranker=reranker, estimator=estimator)
    testing.check_policy(policy)
    looped = simulate(env, policy, rounds=40, seed=1, engine="loop")
    auto = simulate(env, policy, rounds=40, seed=1)
    assert auto.metrics == looped.metrics
    if auto.engine == "loop":
        with pytest.raises(ValueError, match="engine 'cpu' does not support"):
            simulate(env, policy, rounds=40, seed=1, engine="cpu")
    for found, expected in (
        (auto.tally.appearances, looped.tally.appearances),
        (auto.tally.item_clicks, looped.tally.item_clicks),
        *zip(*(policy.arrays(r.state).values() for r in (auto, looped)), strict=True),
    ):
        assert np.array_equal(found, expected)
    if reranker.scope is not None:
        assert np.array_equal(auto.state.ledger.units, looped.state.ledger.units)


@pytest.mark.parametrize("name", of_kind("metric"))
def test_a_metric_is_an_attribute_of_a_result(name: str) -> None:
    result = simulate(small_environment(), registry.build("policy", "linucb"), rounds=10, seed=1)
    assert getattr(result, name) == result.metrics[name] == result.measure(name)
