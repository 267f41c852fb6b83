"""What every registered component promises: a new one is picked up here by being registered."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import permutations

import numpy as np
import pytest

from faircascade import registry
from faircascade.data.base import Dataset
from faircascade.engine import simulate, simulation
from faircascade.exploration import UCB, Request
from faircascade.metrics import Metric
from faircascade.policies import Bandit, BanditState, Policy
from faircascade.rerankers import Reranker
from faircascade.rewards import RewardModel
from faircascade.types import Feedback, Users
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
    assert np.isfinite(result.state.learned.theta).all()


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


@pytest.mark.parametrize("name", of_kind("policy"))
def test_a_policy_is_the_same_when_its_sums_are_kept_by_somebody_else(name: str) -> None:
    policy: Policy = registry.build("policy", name)
    env = small_world(users=4, items=15, k=3)
    pool = env.items.pool
    state = policy.start(env.users, env.items.dim)
    sums = policy.sums(state)
    assert (sums == 0).all()
    for t in range(1, 9):
        lists = policy.recommend(state, slice(None), pool, 3, round=t, seed=1).items
        response = env.respond(lists, round=t, seed=1)
        feedback = Feedback(
            features=env.items.features[lists],
            clicked=response.clicked,
            examined=response.examined,
        )
        sums = sums + policy.increments(feedback)
        policy.update(state, slice(None), feedback)
        np.testing.assert_allclose(policy.sums(state), sums, rtol=1e-9, atol=1e-12)
    ledger = getattr(state, "ledger", None)
    again = policy.from_sums(env.users, sums, env.items.dim, ledger=ledger)
    kept, back = policy.arrays(state), policy.arrays(again)
    assert kept.keys() == back.keys()
    for part, array in kept.items():
        np.testing.assert_allclose(back[part], array, rtol=1e-9, atol=1e-12)


def rerankers() -> list[Reranker]:
    """Every re-ranker with its defaults, and with an account of all users if it keeps any."""
    found = [registry.build("reranker", name) for name in of_kind("reranker")]
    shared = [dataclasses.replace(r, ledger="global") for r in found if hasattr(r, "ledger")]
    return found + shared


every_reranker = pytest.mark.parametrize("reranker", rerankers(), ids=repr)


@every_reranker
@pytest.mark.parametrize("exploration", of_kind("exploration"))
def test_every_reranker_works_with_every_exploration(reranker: Reranker, exploration: str) -> None:
    policy = Bandit(exploration=exploration, reranker=reranker)
    result = simulate(small_world(users=3), policy, rounds=10, seed=1)
    assert result.record.appearances.sum(axis=0).tolist() == [30, 30, 30]
    assert result.record.item_clicks.sum() == result.record.clicks
    assert np.isfinite(result.state.learned.theta).all()


@every_reranker
@pytest.mark.parametrize("reward", of_kind("reward"))
def test_every_reranker_works_with_every_reward_model(reranker: Reranker, reward: str) -> None:
    policy = Bandit(reward=reward, reranker=reranker)
    assert simulate(small_world(users=3), policy, rounds=10, seed=1).recommendations == 30


def asked_after_a_run(reranker: Reranker, k: int) -> tuple[Request, BanditState]:
    """A request for half of the items by users who have learned and seen something."""
    env = small_world(users=5, items=24, k=4)
    policy = Bandit(reranker=reranker)
    state = simulate(env, policy, rounds=12, seed=1).state
    return Request(
        estimator=policy.estimator,
        state=state.sums,
        rows=slice(None),
        users=env.users.keys,
        pool=env.items.among(np.arange(1, 24, 2)),
        k=k,
        round=13,
        seed=1,
    ), state


@every_reranker
@pytest.mark.parametrize("k", [1, 5, 12])
def test_a_reranker_shows_the_items_that_were_chosen_by_its_scores(
    reranker: Reranker, k: int
) -> None:
    asked, state = asked_after_a_run(reranker, k)
    scores = reranker.adjust(asked, UCB().scores(asked), state.ledger)
    chosen = UCB().lists(asked, scores)
    shown = reranker.arrange(asked, chosen, state.ledger)
    assert shown.items.shape == shown.scores.shape == (5, k)
    assert np.array_equal(np.sort(shown.items), np.sort(chosen.items))
    assert set(shown.items.ravel().tolist()) <= set(asked.pool.rows.tolist())
    assert all(len(set(row)) == k for row in shown.items.tolist())
    assert np.array_equal(shown.scores, scores.of(shown.items, asked.pool))  # they went along


@every_reranker
def test_scores_of_a_reranker_are_as_exact_as_they_say(reranker: Reranker) -> None:
    asked, state = asked_after_a_run(reranker, 3)
    scores = reranker.adjust(asked, UCB().scores(asked), state.ledger)
    rows, columns = (part.ravel() for part in np.indices(scores.rough.shape))
    off = np.abs(scores.rough - scores.exact(rows, columns).reshape(scores.rough.shape))
    assert (off <= scores.error[:, None]).all()


@every_reranker
def test_a_reranker_only_looks_at_the_account(reranker: Reranker) -> None:
    asked, state = asked_after_a_run(reranker, 3)
    assert (state.ledger is not None) == (reranker.scope is not None)
    before = {} if state.ledger is None else {n: a.copy() for n, a in state.ledger.arrays().items()}
    lists = []
    for _ in range(2):
        scores = reranker.adjust(asked, UCB().scores(asked), state.ledger)
        lists.append(reranker.arrange(asked, UCB().lists(asked, scores), state.ledger).items)
    assert np.array_equal(*lists)
    for name, array in before.items():
        assert np.array_equal(array, state.ledger.arrays()[name])


@every_reranker
def test_users_are_independent_unless_a_reranker_says_that_they_share(reranker: Reranker) -> None:
    env = small_world(users=6)
    policy = Bandit(reranker=reranker)
    assert policy.shares == (reranker.scope == "global")
    whole = simulate(env, policy, rounds=15, seed=3).tally
    first, second = (
        simulate(env.take(rows), policy, rounds=15, seed=3).tally
        for rows in (slice(0, 2), slice(2, 6))
    )
    if not policy.shares:
        assert np.array_equal(whole.appearances, first.merge(second).appearances)
    shuffled = simulate(env.take(np.array([4, 2, 0, 5, 1, 3])), policy, rounds=15, seed=3)
    assert np.array_equal(whole.appearances, shuffled.tally.appearances)


@every_reranker
def test_what_a_reranker_keeps_can_be_stored(reranker: Reranker) -> None:
    env = small_world(users=4, items=15, k=3)
    policy = Bandit(reranker=reranker)
    state = simulate(env, policy, rounds=8, seed=1).state
    stored = {name: array.copy() for name, array in policy.arrays(state).items()}
    back = policy.restore(Users(ids=env.users.ids), stored)
    cut = policy.join([policy.take(back, slice(0, 1)), policy.take(back, slice(1, 4))])
    for _ in range(3):
        lists = [
            policy.recommend(s, slice(None), env.items.pool, 3, round=9, seed=1).items
            for s in (state, back, cut)
        ]
        assert np.array_equal(lists[0], lists[1])
        assert np.array_equal(lists[0], lists[2])
        for s in (state, back, cut):
            policy.settle([s])


def policies() -> list[Policy]:
    """Every policy with its defaults, and every exploration with every re-ranker."""
    found = [registry.build("policy", name) for name in of_kind("policy")]
    return found + [
        Bandit(exploration=exploration, reranker=reranker)
        for exploration in of_kind("exploration")
        for reranker in rerankers()
    ]


@pytest.mark.parametrize("policy", policies(), ids=repr)
def test_propensities_of_all_lists_add_up_or_are_never_known(policy: Policy) -> None:
    env = small_world(users=3, items=5, k=2)
    fresh = policy.start(env.users, env.items.dim)
    learned = simulate(env, policy, rounds=12, seed=1).state
    lists = np.array(list(permutations(range(5), 2)))
    same_user = np.zeros(len(lists), dtype=np.int64)
    found = [
        policy.propensities(state, same_user, env.items.pool, lists, round=t, seed=1)
        for state, t in ((fresh, 1), (learned, 13))
    ]
    assert (found[0] is None) == (found[1] is None)
    assert policy.is_random or found[0] is None
    for propensities in found:
        if propensities is not None:
            first, whole = propensities.cascade.T
            assert whole.sum() == pytest.approx(1)
            assert np.allclose(first, [whole[lists[:, 0] == item].sum() for item in lists[:, 0]])
            if propensities.item_position is not None:
                for position, each in enumerate(propensities.item_position.T):
                    listed = lists[:, position]
                    assert np.allclose(each, [whole[listed == item].sum() for item in listed])


@every_reranker
@pytest.mark.parametrize("exploration", of_kind("exploration"))
def test_the_compiled_engine_runs_a_reranker_like_loop_or_refuses_it(
    reranker: Reranker, exploration: str, monkeypatch
) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    env = small_world(users=5, items=40, k=4)
    policy = Bandit(exploration=exploration, reranker=reranker)
    looped = simulate(env, policy, rounds=40, seed=1, engine="loop")
    auto = simulate(env, policy, rounds=40, seed=1)
    assert auto.metrics == looped.metrics
    if auto.engine == "loop":
        lacking = auto.engine_reason.removeprefix("cpu has no ")
        with pytest.raises(ValueError, match=re.escape(f"engine 'cpu' has no {lacking}; 'loop'")):
            simulate(env, policy, rounds=40, seed=1, engine="cpu")
    for found, expected in (
        (auto.tally.appearances, looped.tally.appearances),
        (auto.tally.item_clicks, looped.tally.item_clicks),
        (auto.state.learned.theta, looped.state.learned.theta),
    ):
        assert np.array_equal(found, expected)
    if reranker.scope is not None:
        assert np.array_equal(auto.state.ledger.units, looped.state.ledger.units)


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
