"""Traces: columns that off-policy estimators take as they are, and what is in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations
from math import perm
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faircascade.engine import loop, simulate, simulation
from faircascade.engine.cpu import run as cpu
from faircascade.engine.job import Job
from faircascade.environment import Environment
from faircascade.policies import (
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    Policy,
    Random,
)
from faircascade.rerankers import EARS, ExposureCharge, MeritDraws
from tests.environments import small_environment

EXACT = ["pscore", "pscore_cascade", "pscore_item_position"]
ESTIMATE = "pscore_item_position_estimate"


def traced(folder: Path, env: Environment, policy: Policy, **options) -> pa.Table:
    options = {"rounds": 20, "seed": 3, "engine": "loop"} | options
    simulate(env, policy, trace=folder / "trace.parquet", **options)
    return pq.read_table(folder / "trace.parquet")


def column(table: pa.Table, name: str, k: int) -> np.ndarray:
    """A column of numbers by list and position; what is missing is NaN."""
    return table[name].to_numpy().reshape(-1, k)


def known(table: pa.Table) -> set[str]:
    """Propensities that the trace has; every column is there for all rows or for none."""
    names = [name for name in table.column_names if name.startswith("pscore")]
    assert all(table[name].null_count in (0, table.num_rows) for name in names)
    return {name for name in names if table[name].null_count == 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Secretive(Random):
    """Random lists of a policy that does not say how likely they are."""

    def propensities(self, *where, **options) -> None:
        return None


def test_columns_are_as_the_open_bandit_pipeline_has_them(tmp_path) -> None:
    # its checks (obp.utils): whole numbers of 64 bits from 0 on for slate_id, position and action;
    # no position twice in a slate; propensities in (0, 1], of a list the same in all its rows, down
    # the list never rising
    table = traced(tmp_path, small_environment(users=7), EpsilonGreedy(epsilon=0.5), activity=0.7)
    assert table.column_names == [
        *("slate_id", "round", "user_id", "position", "action", "item_id", "seen", "reward"),
        *EXACT,
    ]
    for name in ("slate_id", "position", "action"):
        assert table[name].to_numpy().dtype == np.int64
        assert table[name].to_numpy().min() >= 0
    for name in EXACT:
        values = column(table, name, 3)
        assert values.dtype == np.float64
        assert ((values > 0) & (values <= 1)).all()
    slates = column(table, "slate_id", 3)
    assert (slates == slates[:, :1]).all()
    assert (np.diff(slates[:, 0]) > 0).all()
    assert (column(table, "position", 3) == [0, 1, 2]).all()
    assert (column(table, "pscore", 3) == column(table, "pscore_cascade", 3)[:, 2:]).all()
    assert (np.diff(column(table, "pscore_cascade", 3)) <= 0).all()


def test_rows_say_who_saw_what_and_clicked(tmp_path) -> None:
    env = small_environment(users=5)
    table = traced(tmp_path, env, LinUCB(), activity=0.6)
    users, items = env.users.ids.tolist(), env.items.ids.tolist()
    for row in table.to_pylist():
        assert row["slate_id"] == (row["round"] - 1) * 5 + users.index(row["user_id"])
        assert row["item_id"] == items[row["action"]]
    reward, examined = column(table, "reward", 3), column(table, "seen", 3)
    assert set(np.unique(reward)) == {0, 1}
    assert (reward.sum(axis=1) <= 1).all()
    assert examined[:, 0].all()
    for rewards, seen in zip(reward.tolist(), examined.tolist(), strict=True):
        assert sum(seen) == (rewards.index(1) + 1 if 1 in rewards else 3)
    assert len(reward) == simulate(env, LinUCB(), rounds=20, seed=3, activity=0.6).recommendations


def test_a_trace_says_what_run_it_is_of(tmp_path) -> None:
    policy = EALinUCB(weight=lambda k, n: 1.0)
    for given, spec in (
        (EpsilonGreedy(epsilon=0.2), EpsilonGreedy(epsilon=0.2)),
        (policy, policy),
    ):
        table = traced(tmp_path, small_environment(), given, rounds=2, seed=2**70)
        origin = json.loads(table.schema.metadata[b"faircascade"])
        assert origin["seed"] == 2**70
        assert origin["version"]
        assert origin["policy"]["name"] == spec.name
        assert "propensity_draws" not in origin
    table = traced(tmp_path, small_environment(), LinTS(), rounds=2, propensity_draws=4)
    assert json.loads(table.schema.metadata[b"faircascade"])["propensity_draws"] == 4


@pytest.mark.parametrize(
    ("policy", "exact"),
    [
        (EpsilonGreedy(), EXACT),
        (EARSLinUCB(), EXACT),
        (Random(), EXACT),
        (FRMLinUCB(variant="merit-draws"), EXACT[:2]),
        (FRMLinUCB(variant="exposure-charge"), []),
        (LinUCB(), []),
        (LinTS(), []),
        (EpsilonGreedy(reranker=EARS()), []),
        (Secretive(), []),
    ],
    ids=lambda value: getattr(value, "label", None),
)
def test_propensities_are_there_or_null(policy: Policy, exact: list[str], tmp_path) -> None:
    env = small_environment()
    assert known(traced(tmp_path, env, policy)) == set(exact)
    assert known(traced(tmp_path, env, policy, propensities=False)) == set()
    estimated = traced(tmp_path, env, policy, propensity_draws=3)
    unknown = policy.is_random and EXACT[2] not in exact
    assert known(estimated) == {*exact, *([ESTIMATE] if unknown else [])}
    assert ESTIMATE in estimated.column_names


@pytest.mark.parametrize(
    "policy",
    [
        EpsilonGreedy(epsilon=0.3),
        EARSLinUCB(),
        Random(),
        EpsilonGreedy(reranker=ExposureCharge(eta=0.5)),
    ],
    ids=lambda policy: policy.label,
)
def test_propensities_depend_on_neither_threads_nor_shards(policy, tmp_path, monkeypatch) -> None:
    env = small_environment(users=11, items=40)
    one = traced(tmp_path, env, policy, threads=1)
    monkeypatch.setattr(loop, "SHARD", 3)
    assert traced(tmp_path, env, policy, threads=2).equals(one)


def test_those_of_merit_draws_depend_on_shards_in_the_last_digits_alone(
    tmp_path, monkeypatch
) -> None:
    env = small_environment(users=11, items=40)
    one = traced(tmp_path, env, FRMLinUCB(sharpness=40.0), threads=1)
    monkeypatch.setattr(loop, "SHARD", 3)
    two = traced(tmp_path, env, FRMLinUCB(sharpness=40.0), threads=2)
    assert one.drop_columns(EXACT).equals(two.drop_columns(EXACT))
    for name in EXACT[:2]:
        assert np.allclose(one[name].to_numpy(), two[name].to_numpy(), rtol=1e-10, atol=0)


@pytest.mark.parametrize(
    "policy",
    [
        EpsilonGreedy(),
        EpsilonGreedy(reranker=ExposureCharge(eta=0.5)),
        EARSLinUCB(),
        FRMLinUCB(),
        Random(),
        LinTS(reranker=ExposureCharge(eta=0.5)),
    ],
    ids=lambda policy: policy.label,
)
def test_asking_for_propensities_changes_nothing_else(policy: Policy, tmp_path) -> None:
    env = small_environment(users=9, items=50, k=4)
    options = {"env": env, "policy": policy, "checkpoints": (30,), "seed": 1, "threads": 2}
    outcomes, tables = [], []
    for run, asked in (
        (cpu.run, {"propensities": False}),
        (loop.run, {"propensities": False}),
        (loop.run, {"propensity_draws": 2}),
    ):
        outcomes.append(run(Job(**options, **asked, trace=tmp_path / "trace.parquet")))
        table = pq.read_table(tmp_path / "trace.parquet")
        tables.append(table.drop_columns([n for n in table.column_names if n.startswith("psc")]))
    for table, outcome in zip(tables[1:], outcomes[1:], strict=True):
        assert table.equals(tables[0])
        for name, array in policy.arrays(outcome.state).items():
            assert np.array_equal(array, policy.arrays(outcomes[0].state)[name]), name


@pytest.mark.parametrize(
    ("policy", "options", "lacking"),
    [
        (EpsilonGreedy(), {}, "exact propensities"),
        (Random(), {}, "exact propensities"),
        (FRMLinUCB(), {"propensity_draws": 2}, "exact propensities"),
        (LinTS(), {"propensity_draws": 2}, "estimated propensities"),
        (EpsilonGreedy(), {"propensities": False}, ""),
        (LinTS(), {}, ""),
        (LinUCB(), {"propensity_draws": 2}, ""),
    ],
)
def test_propensities_are_computed_by_loop(policy, options, lacking, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    options = {"rounds": 3, "trace": tmp_path / "trace.parquet", **options}
    result = simulate(small_environment(), policy, **options)
    if lacking:
        assert (result.engine, result.engine_reason) == ("loop", f"cpu does not support {lacking}")
        with pytest.raises(ValueError, match=f"engine 'cpu' does not support {lacking}; use"):
            simulate(small_environment(), policy, engine="cpu", **options)
    else:
        assert result.engine == "cpu"


def test_without_a_trace_nothing_is_asked(monkeypatch) -> None:
    monkeypatch.setattr(Secretive, "propensities", None)
    monkeypatch.setattr(simulation, "SHORT", 0)
    assert simulate(small_environment(), Random(), rounds=3).engine == "cpu"
    simulate(small_environment(), Secretive(), rounds=3, engine="loop")


def test_a_probability_too_small_for_a_float_is_null(tmp_path) -> None:
    # 1 / (400 * 399 * ... * 251) is about 10^-380
    env = small_environment(users=2, items=400, k=150)
    table = traced(tmp_path, env, Random(), rounds=2)
    assert table["pscore"].null_count == table.num_rows
    cascade = column(table, "pscore_cascade", 150)
    assert (cascade[:, :100] > 0).all()
    assert np.isnan(cascade[:, 149]).all()
    assert table["pscore_item_position"].null_count == 0


TINY = {"users": 64, "items": 6, "k": 2, "dim": 3}
LOGGING = [
    EpsilonGreedy(epsilon=0.5),
    FRMLinUCB(variant="merit-draws", sharpness=3.0),
    Random(),
]


def clicks_of(env: Environment, lists: np.ndarray) -> np.ndarray:
    """Expected clicks of each user on each list, (n, lists)."""
    w = np.clip(env.preferences @ env.items.features.T, 0, 1)
    return 1 - (1 - w[:, lists]).prod(axis=2)


def assert_unbiased(by_list: np.ndarray, expected: float) -> None:
    error = by_list.std() / np.sqrt(len(by_list))
    assert abs(by_list.mean() - expected) < 4 * error
    assert error < 0.08  # or the bound says nothing


@pytest.mark.parametrize("policy", LOGGING, ids=lambda policy: policy.label)
def test_a_trace_tells_what_random_slates_would_have_got(policy: Policy, tmp_path) -> None:
    env = small_environment(**TINY)
    table = traced(tmp_path, env, policy, rounds=300, checkpoints=1)
    reward = column(table, "reward", 2)
    expected = clicks_of(env, np.array(list(permutations(range(6), 2)))).mean()
    whole = reward.sum(axis=1) / perm(6, 2) / column(table, "pscore", 2)[:, 0]
    assert_unbiased(whole, expected)
    down_to_the_click = reward * [1 / 6, 1 / 30] / column(table, "pscore_cascade", 2)
    assert_unbiased(down_to_the_click.sum(axis=1), expected)


@pytest.mark.parametrize("policy", LOGGING, ids=lambda policy: policy.label)
def test_a_trace_tells_what_one_slate_would_have_got(policy: Policy, tmp_path) -> None:
    env = small_environment(**TINY)
    table = traced(tmp_path, env, policy, rounds=300, checkpoints=1)
    shown = (column(table, "action", 2) == [4, 1]).all(axis=1)
    weight = shown / column(table, "pscore", 2)[:, 0]
    expected = clicks_of(env, np.array([[4, 1]])).mean()
    assert_unbiased(column(table, "reward", 2).sum(axis=1) * weight, expected)
    assert_unbiased(weight, 1.0)


def test_an_estimate_counts_slates_that_are_drawn_again(tmp_path) -> None:
    # an item comes to a position with p = 1/6; with the list that was shown, N p + 1 of N + 1 times
    env = small_environment(**TINY)
    table = traced(tmp_path, env, Secretive(), rounds=3, propensity_draws=200)
    found = table[ESTIMATE].to_numpy()
    hits = found * 201 - 1
    assert np.allclose(hits, np.rint(hits))
    sd = np.sqrt(200 * (1 / 6) * (5 / 6))
    assert (np.abs(hits - 200 / 6) < 5 * sd).all()
    assert abs(hits.mean() - 200 / 6) < 5 * sd / np.sqrt(3 * 64)  # positions are not independent


def test_one_over_an_estimate_is_nearly_unbiased(tmp_path) -> None:
    # E[(N + 1) / (hits + 1)] = (1 - (1 - p)^(N + 1)) / p for hits ~ Bin(N, p)
    table = traced(tmp_path, small_environment(**TINY), Secretive(), rounds=50, propensity_draws=5)
    inverse = 1 / column(table, ESTIMATE, 2)[:, 0]
    error = inverse.std() / np.sqrt(len(inverse))
    assert abs(inverse.mean() - (1 - (5 / 6) ** 6) * 6) < 5 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        LinTS(scale=1.0),
        LinTS(scale=0.5, reranker=MeritDraws(sharpness=5.0)),
        LinTS(scale=0.5, reranker=ExposureCharge(eta=0.5)),
        FRMLinUCB(sharpness=10.0),
    ],
    ids=lambda policy: policy.label,
)
def test_an_estimate_is_the_share_of_slates_with_that_item_there(policy, tmp_path) -> None:
    # the lists of round 4, estimated in the trace, and drawn 4,000 times from the state before it
    env, n, many = small_environment(**TINY | {"users": 8}), 300, 4000
    table = traced(tmp_path, env, policy, rounds=4, propensity_draws=n)
    state = simulate(env, policy, rounds=3, seed=3, engine="loop").state
    found = column(table, ESTIMATE, 2)[-8:]
    shown = column(table, "action", 2)[-8:]
    for user in range(8):
        copies = policy.take(policy.take(state, [user]), np.zeros(many, dtype=np.int64))
        lists = policy.recommend(
            copies, slice(None), env.items.pool, 2, round=np.arange(many) + 100, seed=3
        ).items
        share = (lists == shown[user]).mean(axis=0)
        error = np.sqrt(np.maximum(share * (1 - share), 1 / many) * (1 / n + 1 / many))
        assert (np.abs(found[user] - (n * share + 1) / (n + 1)) < 5 * error).all()
