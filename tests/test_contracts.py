"""What every registered component promises: a new one is picked up here by being registered."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from faircascade import registry
from faircascade.data.base import Dataset
from faircascade.engine import simulate
from faircascade.metrics import Metric
from faircascade.policies import Bandit, Policy
from faircascade.rewards import RewardModel
from faircascade.types import Users
from tests.worlds import small_world

EVERYTHING = [(kind, name) for kind in registry.kinds() for name in registry.components(kind)]


def of_kind(kind: str) -> list[str]:
    return [name for k, name in EVERYTHING if k == kind]


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_a_component_is_a_documented_frozen_dataclass(kind: str, name: str) -> None:
    cls = registry.lookup(kind, name)
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert cls.__doc__
    assert not cls.__doc__.startswith(f"{cls.__name__}("), "the generated docstring says nothing"
    assert cls.kind == kind
    assert cls.name == name


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_a_component_has_defaults_and_round_trips_through_a_spec(kind: str, name: str) -> None:
    component = registry.build(kind, name)
    spec = registry.to_spec(component)
    assert registry.from_spec(kind, spec) == component
    assert set(spec) == {"name", *(p.name for p in registry.parameters_of(type(component)))}


@pytest.mark.parametrize("reward", of_kind("reward"))
@pytest.mark.parametrize("exploration", of_kind("exploration"))
def test_every_reward_model_works_with_every_exploration(reward: str, exploration: str) -> None:
    policy = Bandit(
        reward=registry.build("reward", reward),
        exploration=registry.build("exploration", exploration),
    )
    result = simulate(small_world(users=3), policy, rounds=10, seed=1)
    assert result.recommendations == 30
    assert np.isfinite(result.state.sums.theta).all()


@pytest.mark.parametrize("name", of_kind("reward"))
@pytest.mark.parametrize("k", [1, 2, 10])
def test_a_reward_table_is_finite_and_ignores_what_was_not_seen(name: str, k: int) -> None:
    model: RewardModel = registry.build("reward", name)
    table = model.table(k)
    assert table.clicked.shape == (k,)
    assert table.ignored.shape == (k, k)
    assert np.isfinite(table.clicked).all()
    assert np.isfinite(table.ignored).all()
    assert not np.triu(table.ignored, 1).any()


@pytest.mark.parametrize("name", of_kind("weight"))
def test_a_weight_is_positive(name: str) -> None:
    values = registry.build("weight", name).values(1)
    assert (values > 0).all()


@pytest.mark.parametrize(("kind", "name"), EVERYTHING)
def test_a_component_can_be_a_key(kind: str, name: str) -> None:
    assert hash(registry.build(kind, name)) == hash(registry.build(kind, name))


@pytest.mark.parametrize("name", of_kind("policy"))
def test_a_policy_serves_learns_and_can_be_stored(name: str) -> None:
    policy: Policy = registry.build("policy", name)
    env = small_world(users=4, items=15, k=3)
    result = simulate(env, policy, rounds=8, seed=1)
    assert result.recommendations == 32
    assert policy.label
    arrays = policy.arrays(result.state)
    back = policy.restore(Users(ids=env.users.ids, preferences=env.preferences), arrays)
    pool = env.items.pool
    for state in (
        result.state,
        policy.join([policy.take(back, slice(0, 1)), policy.take(back, slice(1, 4))]),
    ):
        lists = policy.recommend(state, slice(None), pool, 3, round=9, seed=1)
        assert lists.items.shape == lists.scores.shape == (4, 3)
        first = policy.recommend(result.state, slice(None), pool, 3, round=9, seed=1)
        assert np.array_equal(lists.items, first.items)


@pytest.mark.parametrize("name", of_kind("metric"))
def test_a_metric_measures_any_run_and_names_itself(name: str) -> None:
    metric: Metric = registry.build("metric", name)
    assert metric.title
    result = simulate(small_world(), registry.build("policy", "linucb"), rounds=10, seed=1)
    assert math.isfinite(metric.measure(result.record))
    assert getattr(result, name) == result.metrics[name] == result.measure(metric)
    assert len(result.curves[name]) == len(result.curves["round"])


@pytest.mark.parametrize("name", of_kind("data"))
def test_a_data_set_says_what_it_is_and_holds_what_it_promises(name: str) -> None:
    dataset: Dataset = registry.build("data", name)
    assert dataset.summary
    assert "\n" not in dataset.summary
    if dataset.needs_path:
        with pytest.raises(ValueError, match="must be given"):
            dataset.load()
    elif type(dataset).fetch is Dataset.fetch:  # nothing to download
        ratings = dataset.load()
        assert (np.diff(ratings.user_ids) > 0).all()
        assert (np.diff(ratings.item_ids) > 0).all()
        assert np.isfinite(ratings.ratings).all()
        pairs = ratings.users.astype(np.int64) * ratings.n_items + ratings.items
        assert len(np.unique(pairs)) == len(ratings)
        for column in ratings.item_groups.values():
            assert column.shape == (ratings.n_items,)


@pytest.mark.parametrize("name", of_kind("click_model"))
def test_a_click_model_expects_what_it_does(name: str) -> None:
    model = registry.build("click_model", name)
    rng = np.random.default_rng(0)
    attraction = np.tile(rng.uniform(0, 0.5, size=4), (20_000, 1))
    clicked, examined = model.click(attraction, rng.uniform(size=attraction.shape))
    assert ((clicked >= 0) & (clicked <= 4)).all()
    assert ((examined >= np.maximum(clicked, 1)) & (examined <= 4)).all()
    p = model.expected(attraction)[0]
    assert abs((clicked > 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / 20_000)
