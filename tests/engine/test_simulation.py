"""What a simulation means, in every engine: the slow oracle, and invariants."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faircascade.engine import loop, simulate, simulation
from faircascade.engine.cpu import run as cpu
from faircascade.environment import Environment
from faircascade.estimators import Ridge
from faircascade.exploration import UCB
from faircascade.policies import (
    Bandit,
    EALinTS,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    MostPopular,
    Optimal,
    Policy,
    Random,
)
from faircascade.rewards import ExposureAware, Linear, Standard
from tests.environments import small_environment
from tests.oracle import slow

POLICIES = [
    LinUCB(),
    EALinUCB(weight="log", gamma=0.01),
    EALinUCB(weight="rbp", reading="intended", gamma=0.1),
    EALinUCB(weight="linear", reading="reference"),
    LinTS(),
    EALinTS(weight="linear"),
    EpsilonGreedy(epsilon=0.3),
    EARSLinUCB(),
    EARSLinUCB(tolerance=1.0),
    FRMLinUCB(variant="merit-draws", sharpness=20.0),
    FRMLinUCB(variant="exposure-charge", eta=0.05),
    FRMLinUCB(variant="reorder"),
    LinTS(reranker="exposure-charge"),
    EpsilonGreedy(epsilon=0.3, reranker="reorder"),
    Random(),
    MostPopular(),
    Optimal(),
]


@pytest.fixture(autouse=True, params=["loop", "cpu"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run every test here with either engine: `auto` takes one or the other by length."""
    monkeypatch.setattr(simulation, "SHORT", 10**12 if request.param == "loop" else 0)
    return str(request.param)


def trace_of(tmp_path: Path, env: Environment, policy: Policy, **options) -> dict:
    """Run with a trace; return {(user, round): [(position, item, examined, clicked), ...]}."""
    path = tmp_path / "trace.parquet"
    simulate(env, policy, trace=path, propensities=False, **options)  # which either engine can
    slates: dict = {}
    for row in pq.read_table(path).to_pylist():
        slates.setdefault((row["user_id"], row["round"]), []).append(
            (row["position"] + 1, row["item_id"], row["seen"] == 1, row["reward"] == 1)
        )
    return slates


@settings(max_examples=15)
@given(data=st.data())
def test_slates_and_clicks_are_those_of_the_slow_oracle(data, tmp_path_factory) -> None:
    reading = data.draw(st.sampled_from(["paper", "reference"]))
    ridge, sigma = data.draw(st.sampled_from([(1.0, 1.0), (0.5, 2.0)]))
    alpha = data.draw(st.sampled_from([0.0, 0.25, 5.0]))
    k = data.draw(st.integers(1, 5))
    reward = data.draw(
        st.sampled_from([Standard(), ExposureAware(weight=Linear(beta=0.3), gamma=0.2)])
    )
    env = small_environment(
        users=3, items=data.draw(st.integers(k, 12)), k=k, seed=data.draw(st.integers(0, 99))
    )
    estimator = Ridge(ridge=ridge, sigma=sigma, reading=reading)
    policy = Bandit(estimator=estimator, exploration=UCB(alpha=alpha), reward=reward)
    found = trace_of(tmp_path_factory.mktemp("run"), env, policy, rounds=12, seed=4)
    expected = slow.linear_ucb(
        env,
        alpha=alpha,
        reward=reward,
        rounds=12,
        seed=4,
        ridge=ridge,
        gain=estimator.gain,
        scale=estimator.scale,
        first_theta=estimator.first_theta,
    )
    ids = env.items.ids
    rounds = dict.fromkeys(range(3), 0)
    for step in expected:
        rounds[step.user] += 1
        rows = found[f"user-{step.user}", rounds[step.user]]
        assert [row[1] for row in rows] == [ids[i] for i in step.items]
        assert [row[0] for row in rows if row[3]] == ([step.clicked] if step.clicked else [])
        assert sum(row[2] for row in rows) == (step.clicked or k)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_every_slate_has_k_distinct_items_and_exposure_adds_up(policy: Policy, tmp_path) -> None:
    env = small_environment(users=5, k=4)
    for rows in trace_of(tmp_path, env, policy, rounds=15, seed=1).values():
        assert [row[0] for row in rows] == [1, 2, 3, 4]
        assert len({row[1] for row in rows}) == 4
    result = simulate(env, policy, rounds=15, seed=1)
    assert result.record.appearances.sum(axis=0).tolist() == [5 * 15] * 4
    assert result.record.item_clicks.sum() == result.record.clicks
    assert (result.record.item_clicks <= result.record.appearances).all()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_results_do_not_depend_on_threads_or_shards(policy: Policy, monkeypatch) -> None:
    env = small_environment(users=11, items=40)
    one = simulate(env, policy, rounds=30, seed=3, threads=1)
    monkeypatch.setattr(loop, "SHARD", 3)
    monkeypatch.setattr(cpu, "PARTS", 1)
    many = simulate(env, policy, rounds=30, seed=3, threads=2)
    assert one.metrics == many.metrics
    assert np.array_equal(one.exploration_by_round, many.exploration_by_round)
    assert all(np.array_equal(one.curves[c], many.curves[c]) for c in one.curves)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_shards_of_users_merge_to_the_whole(policy: Policy) -> None:
    env = small_environment(users=9, items=40)
    whole = simulate(env, policy, rounds=20, seed=3)
    parts = [
        simulate(env.take(rows), policy, rounds=20, seed=3).tally
        for rows in (slice(0, 4), slice(4, 9))
    ]
    merged = parts[0].merge(parts[1])
    for name, array in vars(whole.tally).items():
        assert np.array_equal(array, getattr(merged, name)), name


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_relabelling_items_relabels_the_result(policy: Policy) -> None:
    env = small_environment(users=4, items=25)
    order = np.random.default_rng(5).permutation(25)
    shuffled = Environment.from_arrays(
        env.items.features[order],
        env.preferences,
        k=env.k,
        merit=env.items.merit[order],
        popularity=env.items.popularity[order],
        item_ids=env.items.ids[order],
        user_ids=env.users.ids,
    )
    before = simulate(env, policy, rounds=40, seed=2)
    after = simulate(shuffled, policy, rounds=40, seed=2)
    assert np.array_equal(before.record.appearances[order], after.record.appearances)
    assert np.array_equal(before.record.item_clicks[order], after.record.item_clicks)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.label)
def test_one_seed_repeats_and_another_differs(policy: Policy) -> None:
    env = small_environment(users=8)
    first, again, other = (simulate(env, policy, rounds=30, seed=s) for s in (1, 1, 2))
    assert first.metrics == again.metrics
    assert not np.array_equal(first.record.item_clicks, other.record.item_clicks)


def test_reference_rbp_without_penalty_gives_the_very_slates_of_linucb(tmp_path) -> None:
    env = small_environment(users=5, items=40)
    runs = [
        trace_of(tmp_path, env, policy, rounds=100, seed=6)
        for policy in (
            LinUCB(reading="reference"),
            EALinUCB(weight="rbp", gamma=0.0, reading="reference"),
        )
    ]
    assert runs[0] == runs[1]


def test_without_a_bonus_every_exploration_is_greedy(tmp_path) -> None:
    env = small_environment(users=4, items=30)
    greedy = [LinUCB(alpha=0.0), LinTS(scale=0.0), EpsilonGreedy(epsilon=0.0)]
    runs = [trace_of(tmp_path, env, policy, rounds=40, seed=1) for policy in greedy]
    assert runs[0] == runs[1] == runs[2]


def test_two_policies_with_one_seed_meet_the_same_click_draws(tmp_path) -> None:
    # a user who sees the same item in the same round is attracted by it under both policies,
    # or under neither, wherever it stands
    env = small_environment(users=6, items=12, k=6)
    runs = [trace_of(tmp_path, env, policy, rounds=60, seed=9) for policy in (LinUCB(), Random())]
    compared = 0
    for place, rows in runs[0].items():
        outcome = {item: clicked for _, item, examined, clicked in rows if examined}
        for _, item, examined, clicked in runs[1][place]:
            if examined and item in outcome:
                assert outcome[item] == clicked
                compared += 1
    assert compared > 200


def test_optimal_has_no_regret_and_others_have_some() -> None:
    env = small_environment(users=6, items=40)
    assert simulate(env, Optimal(), rounds=20, seed=1).regret == 0
    assert simulate(env, Random(), rounds=20, seed=1).regret > 0
    best = simulate(env, Optimal(), rounds=500, seed=1, realised=True)
    assert best.record.realised_regret == 0
    deviation = 5 * np.sqrt(0.25 / best.recommendations)
    assert abs(best.clicks - best.optimal_value) < deviation


def test_regret_is_the_expected_reward_given_up() -> None:
    env = small_environment(users=3, items=10, k=2, popularity=np.arange(10.0))
    result = simulate(env, MostPopular(), rounds=7, seed=0)
    top = [8, 9]
    w = np.clip(env.items.features @ env.preferences.T, 0, 1)  # (items, users)
    best = np.sort(w, axis=0)[-2:]
    given_up = (1 - (1 - best).prod(axis=0)) - (1 - (1 - w[top]).prod(axis=0))
    assert result.regret == pytest.approx(7 * given_up.mean(), abs=1e-7)


def test_curves_end_at_the_final_metrics_and_exploration_falls() -> None:
    env = small_environment(users=6, items=40)
    result = simulate(env, LinUCB(), rounds=200, seed=1, checkpoints=[1, 10, 200])
    assert result.curves["round"].tolist() == [1, 10, 200]
    for name, value in result.metrics.items():
        assert result.curves[name][-1] == value
    alone = simulate(env, LinUCB(), rounds=10, seed=1)
    assert result.curves["equality_b"][1] == alone.equality_b
    assert len(result.exploration_by_round) == 200
    assert result.exploration_by_round[0] == pytest.approx(0.25 / np.sqrt(2))
    assert result.exploration_by_round[-1] < result.exploration_by_round[0]


def test_fewer_visits_are_counted_as_such() -> None:
    env = small_environment(users=20)
    result = simulate(env, LinUCB(), rounds=50, seed=1, activity=0.3)
    assert abs(result.recommendations - 300) < 5 * np.sqrt(1000 * 0.21)
    assert result.clicks == result.record.clicks / result.recommendations
    assert result.state.learned.updates.sum() == result.recommendations


@pytest.mark.parametrize("engine", ["loop", "cpu"])
def test_users_come_as_often_as_each_does(engine: str, tmp_path: Path) -> None:
    often = np.array([1.0, 0.9, 0.5, 0.5, 0.1, 0.002])
    env = small_environment(users=6, activity=often)
    for share in (1.0, 0.5):
        path = tmp_path / "trace.parquet"
        simulate(env, LinUCB(), rounds=2000, seed=1, engine=engine, activity=share, trace=path)
        users = pq.read_table(path).filter(pc.field("position") == 1)["user_id"].to_pylist()
        visits = np.array([users.count(f"user-{user}") for user in range(6)])
        expected = 2000 * share * often
        assert (np.abs(visits - expected) <= 5 * np.sqrt(expected * (1 - share * often))).all()


@pytest.mark.parametrize("engine", ["loop", "cpu"])
def test_regret_is_given_up_by_users_however_often_they_come(engine: str) -> None:
    # everybody is alike and gives up the same in every visit
    rng = np.random.default_rng(0)
    env = Environment.from_arrays(
        rng.uniform(0, 0.3, size=(40, 3)), np.full((20, 3), 0.5), k=3, popularity=rng.random(40)
    )
    often, seldom = (
        simulate(env, MostPopular(), rounds=50, engine=engine, activity=a, realised=True)
        for a in (1.0, 0.3)
    )
    visits = seldom.recommendations / 20
    assert visits < 20
    assert often.regret > 0.5
    assert seldom.regret == pytest.approx(often.regret * visits / 50, rel=1e-6)
    clicks = seldom.tally.optimal_clicks.sum() - seldom.tally.clicks.sum()
    assert seldom.record.realised_regret == clicks / 20


@pytest.mark.parametrize("step", [1, 7, 30])
def test_ctrl_c_leaves_a_valid_run_of_fewer_rounds(step: int, monkeypatch) -> None:
    env = small_environment(users=6, items=40)
    monkeypatch.setattr(loop, "STEP", step * 6)
    monkeypatch.setattr(cpu, "FIRST_STEP", step * 6)
    monkeypatch.setattr(cpu, "STEP_SECONDS", 0.0)  # no step is longer than the first

    def interrupt(share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    stopped = simulate(
        env, LinUCB(), rounds=200, seed=1, checkpoints=[20, 100, 150, 200], progress=interrupt
    )
    assert stopped.interrupted
    assert stopped.rounds < 200
    seen = stopped.tally.checkpoints.tolist()  # fairness regret is taken between these
    whole = simulate(env, LinUCB(), rounds=stopped.rounds, seed=1, checkpoints=seen)
    assert stopped.metrics == whole.metrics
    assert np.array_equal(stopped.state.learned.theta, whole.state.learned.theta)


def test_a_trace_does_not_depend_on_threads_and_ends_with_an_interruption(
    tmp_path, monkeypatch
) -> None:
    env = small_environment(users=7)
    monkeypatch.setattr(loop, "SHARD", 2)
    monkeypatch.setattr(loop, "STEP", 7)
    monkeypatch.setattr(cpu, "FIRST_STEP", 7)
    monkeypatch.setattr(cpu, "STEP_SECONDS", 0.0)
    for threads in (1, 3):
        simulate(env, LinUCB(), rounds=9, trace=tmp_path / f"{threads}.parquet", threads=threads)
    one, three = (pq.read_table(tmp_path / f"{n}.parquet") for n in (1, 3))
    assert one.equals(three)
    assert one["round"].to_pylist() == sorted(one["round"].to_pylist())

    def interrupt(share: float) -> None:
        if share > 0.4:
            raise KeyboardInterrupt

    stopped = simulate(env, LinUCB(), rounds=9, trace=tmp_path / "s.parquet", progress=interrupt)
    rows = pq.read_table(tmp_path / "s.parquet")
    assert stopped.rounds < 9
    assert rows.equals(one.slice(0, stopped.rounds * 7 * 3))


def test_numpy_numbers_are_numbers() -> None:
    result = simulate(
        small_environment(),
        LinUCB(alpha=np.float32(0.5)),
        rounds=np.int64(5),
        seed=np.int64(3),
        checkpoints=np.int64(2),
    )
    json.dumps(result.summary())
    assert len(result.curves["round"]) == 2


@pytest.mark.parametrize("checkpoints", [1, 2, 3, 10])
def test_as_many_checkpoints_as_asked_for(checkpoints: int) -> None:
    found = simulate(small_environment(), Random(), rounds=1000, checkpoints=checkpoints)
    assert len(found.curves["round"]) == checkpoints


@pytest.mark.parametrize("alpha", [1e-12, 1e12])
def test_tiny_and_huge_bonuses_are_counted_right(alpha: float) -> None:
    result = simulate(small_environment(users=64), LinUCB(alpha=alpha), rounds=3, seed=1)
    assert result.exploration_by_round[0] == pytest.approx(alpha / np.sqrt(2), rel=1e-6)


def test_realised_regret_is_missing_unless_it_was_counted() -> None:
    result = simulate(small_environment(), LinUCB(), rounds=5)
    assert np.isnan(result.measure("regret", realised=True))


def test_an_interrupted_trace_is_not_left_behind_half_written(tmp_path) -> None:
    def fail(share: float) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        simulate(
            small_environment(), LinUCB(), rounds=9, trace=tmp_path / "t.parquet", progress=fail
        )
    assert list(tmp_path.iterdir()) == []


def test_items_without_features_are_never_shown_but_count_in_the_metrics() -> None:
    env = small_environment(items=20)
    eligible = np.ones(20, dtype=bool)
    eligible[:5] = False
    limited = replace(env, items=replace(env.items, eligible=eligible))
    for policy in POLICIES:
        record = simulate(limited, policy, rounds=20, seed=1).record
        assert record.appearances.shape == (20, 3)
        assert not record.appearances[:5].any()


def test_a_diverging_estimate_is_an_error_and_not_a_nan() -> None:
    env = small_environment()
    huge = Environment.from_arrays(env.items.features * 1e200, env.preferences, k=3)
    with pytest.raises(FloatingPointError, match=r"LinUCB: .* round \d.* check the scale"):
        simulate(huge, LinUCB(), rounds=5, seed=1)


@pytest.mark.parametrize(
    ("scale", "policy", "warns"),
    [
        (1.0, LinUCB(), False),
        (1e3, LinUCB(), True),
        (1e3, LinUCB(ridge=1e4), False),
        (1e3, Random(), False),
        (1e-7, LinUCB(), True),
    ],
)
def test_badly_scaled_features_are_named_before_the_run(scale, policy, warns, caplog) -> None:
    env = small_environment()
    scaled = Environment.from_arrays(env.items.features * scale, env.preferences / scale, k=3)
    with caplog.at_level(logging.WARNING, logger="faircascade"):
        simulate(scaled, policy, rounds=40, engine="loop")
    assert ("scale the features to norm 1" in caplog.text) == warns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"rounds": 5, "engine": "warp"}, "engine must be one of auto, gpu, cpu, loop, got 'warp'"),
        ({"rounds": 5, "threads": 0}, "threads must be at least 1, got 0"),
        ({"rounds": 5, "activity": 0}, r"activity must be in \(0, 1\], got 0"),
        ({"rounds": 5, "checkpoints": [1, 4]}, "checkpoints must rise"),
        ({"rounds": 2.5}, "rounds must be a whole number, got 2.5"),
        ({"rounds": 5, "seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"rounds": 5, "checkpoints": 0}, "checkpoints must be at least 1, got 0"),
        ({"rounds": 5, "propensity_draws": -1}, "propensity_draws must be at least 0, got -1"),
        ({"rounds": 5, "propensity_draws": 2}, "propensity_draws must be 0 without a trace"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(small_environment(), LinUCB(), **options)


def test_what_is_not_a_policy_or_an_environment_is_named() -> None:
    with pytest.raises(ValueError, match="policy must be a policy, not its class: write LinUCB"):
        simulate(small_environment(), LinUCB, rounds=1)
    with pytest.raises(ValueError, match="policy must be a policy, its name, or a table, got 3"):
        simulate(small_environment(), 3, rounds=1)
    with pytest.raises(ValueError, match="env must be an Environment"):
        simulate(None, LinUCB(), rounds=1)
