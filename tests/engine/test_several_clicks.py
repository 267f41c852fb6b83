"""Users who click several positions, and policies that see them in any way: the same bits in every
engine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from faircascade.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ClickModel
from faircascade.engine import loop, simulate, simulation
from faircascade.engine.cpu import run as cpu
from faircascade.engine.gpu import run as gpu
from faircascade.engine.job import Job, Outcome
from faircascade.environment import Environment
from faircascade.observations import AllPositions, Examination, FirstClick, LastClick, Observation
from faircascade.policies import Bandit, EALinUCB, LinUCB, Optimal, Policy, Random
from faircascade.weighing import Weighs
from tests.engine.emulated import Emulated, compiler
from tests.engine.same import assert_same as assert_same_result
from tests.engine.same import bits
from tests.engine.test_gpu import environment

ITEMS, K = 40, 4
MODELS: list[ClickModel] = [
    Cascade(),
    DCM(stop=(0.3, 0.9, 0.5, 0.1)),
    DBN(satisfaction=tuple(np.random.default_rng(0).uniform(size=ITEMS)), continuation=0.8),
    PBM(kappa=(0.7, 1.0, 0.2, 0.0)),
    UBM(kappa=((0.9,), (0.8, 0.3), (0.1, 0.9, 0.5), (0.7, 0.2, 0.0, 1.0))),
    CCM(),
]
OBSERVATIONS: list[Observation] = [
    FirstClick(),
    LastClick(),
    AllPositions(),
    Examination(kappa=(0.9, 0.0, 0.4, 0.2)),
]


@cache
def world(model: ClickModel) -> Environment:
    env = environment(items=ITEMS, dim=3, k=K, users=3)
    return replace(env, click_model=model, items=replace(env.items, eligible=np.arange(ITEMS) > 2))


def job(model: ClickModel, policy: Policy, **options: Any) -> Job:
    return Job(
        **{"env": world(model), "policy": policy, "checkpoints": (3, 40), "seed": 1, "threads": 1}
        | options
    )


def assert_same(policy: Policy, *runs: Outcome) -> None:
    tallies = [bits(vars(run.tally)) for run in runs]
    states = [bits(policy.arrays(run.state)) for run in runs]
    assert all(tally == tallies[0] for tally in tallies)
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("observation", OBSERVATIONS, ids=lambda observation: observation.name)
@pytest.mark.parametrize("weighs", ["targets", "observations"])
def test_every_engine_gives_the_same_bits(
    model: ClickModel, observation: Observation, weighs: Weighs
) -> None:
    policy = EALinUCB(weight="log", gamma=0.1, observation=observation, weighs=weighs)
    wanted = job(model, policy, realised=True, activity=0.8)
    runs = [loop.run(wanted), cpu.run(wanted), cpu.run(replace(wanted, lazy=False))]
    if compiler():
        runs += gpu.run_together([wanted], Emulated())
    assert_same(policy, *runs)
    several = runs[0].tally.clicks.sum() > runs[0].tally.clicked.sum()
    assert several == (not isinstance(model, Cascade))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("policy", [Random(), Optimal()], ids=lambda policy: policy.label)
def test_policies_that_do_not_learn_meet_the_same_users(model: ClickModel, policy: Policy) -> None:
    wanted = job(model, policy, realised=True)
    assert_same(policy, loop.run(wanted), cpu.run(wanted))


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: model.name)
def test_traces_have_every_click_and_what_was_seen(model: ClickModel, tmp_path: Path) -> None:
    policy, tables = LinUCB(observation="last-click"), []
    engines = {"loop": loop.run, "cpu": cpu.run}
    if compiler():
        engines["gpu"] = lambda wanted: gpu.run_together([wanted], Emulated())[0]
    for name, run in engines.items():
        path = tmp_path / f"{name}.parquet"
        tally = run(job(model, policy, trace=path, activity=0.7)).tally
        tables.append(pq.read_table(path).drop_columns(["pscore", "pscore_cascade"]))
        clicks = tables[-1]["reward"].to_numpy().reshape(-1, K) == 1
        seen = tables[-1]["seen"].to_numpy().reshape(-1, K)
        assert clicks.sum() == tally.clicks.sum() == tally.item_clicks.sum()
        assert clicks.any(axis=1).sum() == tally.clicked.sum()
        assert np.array_equal(seen, policy.seen(clicks, np.full(len(clicks), K)))
    assert all(table.equals(tables[0]) for table in tables)


def test_a_warning_says_that_regret_can_be_negative(caplog: Any) -> None:
    simulation._warn_once.cache_clear()
    simulate(world(UBM()), LinUCB(), rounds=1)
    (message,) = {record.getMessage() for record in caplog.records}
    assert "'ubm' does not know the best slates" in message
    assert "can be negative" in message


def test_a_policy_that_sees_nothing_learns_nothing_in_any_engine(monkeypatch) -> None:
    monkeypatch.setattr(Examination, "check", lambda self, k: None)  # it would refuse kappa = 0
    policy = Bandit(observation=Examination(kappa=0.0))
    wanted = job(PBM(), policy, checkpoints=(10,))
    runs = [loop.run(wanted), cpu.run(wanted)]
    if compiler():
        runs += gpu.run_together([wanted], Emulated())
    assert_same(policy, *runs)
    assert not runs[0].state.learned.B.any()
    assert (runs[0].state.learned.updates == 10).all()


@pytest.mark.parametrize("users", [1, 9])
def test_lanes_without_a_user_stay_empty(users: int) -> None:
    env = environment(items=30, dim=2, k=3, users=users)
    policy = EALinUCB(gamma=0.2, observation="all", weighs="observations")
    runs = [
        simulate(replace(env, click_model="pbm"), policy, rounds=60, seed=2, engine=engine)
        for engine in ("loop", "cpu")
    ]
    assert_same_result(*runs)


def test_users_served_apart_are_those_served_together() -> None:
    for model, observation in product(MODELS[1:], OBSERVATIONS[1:3]):
        wanted = job(model, LinUCB(observation=observation), checkpoints=(15,))
        whole = cpu.run(wanted).tally
        parts = [
            loop.run(replace(wanted, env=wanted.env.take(rows))).tally
            for rows in (slice(0, 1), slice(1, 3))
        ]
        assert bits(vars(parts[0].merge(parts[1]))) == bits(vars(whole))
