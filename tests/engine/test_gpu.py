"""The gpu engine gives what `loop` gives: on a GPU if there is one, and on an emulated warp.

`pytest tests/engine/test_gpu.py` on a machine with a GPU runs everything on both.
"""

from __future__ import annotations

import gc
import os
import signal
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade.engine import join_parts, loop, simulate
from faircascade.engine.gpu import run as gpu
from faircascade.engine.gpu import share
from faircascade.engine.gpu.device import NoGPU, is_present, the_gpu
from faircascade.engine.gpu.source import Shape
from faircascade.engine.gpu.structs import fields_of
from faircascade.engine.job import Job, Outcome
from faircascade.environment import Environment
from faircascade.policies import (
    Bandit,
    EALinUCB,
    EARSLinUCB,
    EpsilonGreedy,
    FRMLinUCB,
    LinTS,
    LinUCB,
    Random,
)
from faircascade.registry.component import engines_of
from tests.engine.emulated import Emulated, compiler
from tests.engine.test_cpu import (
    assert_same,
    click_models,
    estimators,
    explorations,
    observations,
    rerankers,
    rewards,
    run_or_refuse,
)
from tests.evidence import feedback_on

SHAPES = {
    "one": (1, 1, 1),
    "small": (40, 3, 4),
    "all": (40, 3, 40),
    "long": (150, 5, 17),
    "wide": (70, 33, 5),
}
"""Items, features and K of environments: few, since a kernel is compiled for each."""
needs_compiler = pytest.mark.skipif(not compiler(), reason="no C++ compiler")
POLICIES = [
    LinUCB(),
    EALinUCB(weight="log", gamma=0.05),
    EALinUCB(weight="rbp", beta=0.9, gamma=0.0, reading="reference"),
    LinTS(),
    EpsilonGreedy(epsilon=0.2),
    EARSLinUCB(tolerance=0.1),
    FRMLinUCB(),
    FRMLinUCB(variant="exposure-charge", eta=0.05),
    FRMLinUCB(variant="reorder"),
]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("emulated", marks=needs_compiler),
        pytest.param("gpu", marks=pytest.mark.skipif(not is_present(), reason="no GPU")),
    ],
)
def device(request: pytest.FixtureRequest) -> Any:
    return Emulated() if request.param == "emulated" else the_gpu()


@pytest.fixture
def chosen(device: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The device that `simulate(engine="gpu")` finds."""
    monkeypatch.setattr(gpu, "the_gpu", lambda: device)
    return device


def environment(
    items: int = 1100, dim: int = 4, k: int = 5, users: int = 5, seed: int = 0
) -> Environment:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)
    merit = rng.choice([1e-3, 0.1, 1.0], items)
    return Environment.from_arrays(X, rng.normal(size=(users, dim)) * 0.4, k=k, merit=merit)


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    """Problems with ties, zero rows, duplicates, wild norms."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    items, dim, k = SHAPES[draw(st.sampled_from(list(SHAPES)))]
    X = rng.normal(size=(items, dim))
    if draw(st.booleans()):
        X *= rng.exponential(size=(items, 1)) ** 2
    if draw(st.booleans()):
        X = np.round(X, 1)
    X[rng.random(items) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    X[rng.random(items) < draw(st.sampled_from([0.0, 0.5]))] = X[0]
    users = draw(st.sampled_from([1, 3]))
    return Environment.from_arrays(
        X,
        rng.normal(size=(users, dim)) * 0.4,
        k=k,
        merit=rng.choice([1e-3, 0.1, 1.0], items),
        click_model=draw(click_models),
        activity=draw(st.sampled_from([None, rng.uniform(0.01, 1.0, users)])),
    )


bandits = st.builds(
    Bandit,
    estimator=estimators,
    exploration=explorations,
    reward=rewards,
    observation=observations,
    reranker=rerankers.filter(lambda part: "gpu" in engines_of(part)),
)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(env=environments(), policy=bandits, data=st.data())
def test_gpu_gives_what_loop_gives_bit_for_bit(device, env, policy, data, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("traces")
    job = {
        "env": env,
        "policy": policy,
        "checkpoints": data.draw(st.sampled_from([(1,), (2, 9), (17,)])),
        "seed": data.draw(st.integers(0, 9)),
        "threads": 1,
        "activity": data.draw(st.sampled_from([1.0, 0.4])),
        "realised": data.draw(st.booleans()),
    }
    expected = run_or_refuse(loop.run, Job(**job, trace=folder / "loop.parquet"))
    lazy = data.draw(st.booleans())
    given_job = Job(**job, lazy=lazy, trace=folder / "gpu.parquet")
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # many launches
            patch.setattr(gpu, "FIRST_STEP", 1)
            patch.setattr(gpu, "STEP_SECONDS", 0.0)
        found = run_or_refuse(lambda job: gpu.run_together([job], device)[0], given_job)
    if expected is None:
        assert found is None
        return
    assert_same(expected, found)
    assert_same_trace(folder / "loop.parquet", folder / "gpu.parquet")


def assert_same_trace(*paths: Path) -> None:
    one, other = (pq.read_table(path) for path in paths)
    for name in other.column_names:
        if not name.startswith("pscore"):  # which only loop computes
            assert one[name].equals(other[name]), name


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_with_every_tier_in_use(device, policy) -> None:
    job = Job(env=environment(), policy=policy, checkpoints=(3, 60), seed=1, threads=1)
    assert_same(loop.run(job), gpu.run_together([job], device)[0])


def test_long_enough_for_the_inverse_to_be_refined_on_schedule(device) -> None:
    env = environment(items=40, dim=3, k=4, users=1)
    job = Job(env=env, policy=LinUCB(), checkpoints=(600,), seed=1, threads=1)
    assert_same(loop.run(job), gpu.run_together([job], device)[0])


def together(device: Any, jobs: list[Job]) -> list[Outcome]:
    """Run jobs in one go, and see that each gives what it gives alone."""
    found = gpu.run_together(jobs, device)
    for job, outcome in zip(jobs, found, strict=True):
        assert_same(loop.run(job), outcome)
    return found


def test_jobs_of_other_policies_seeds_and_environments_share_launches(device) -> None:
    envs = [environment(items=n, users=u, seed=u) for n, u in ((1100, 2), (300, 1), (1100, 3))]
    together(
        device,
        [
            Job(env=env, policy=policy, checkpoints=(4, 12), seed=seed, threads=1)
            for env, policy, seed in zip(
                envs, [LinTS(), LinUCB(), FRMLinUCB()], (0, 1, 2), strict=True
            )
        ],
    )


def test_jobs_that_are_not_alike_are_refused(device) -> None:
    env = environment(items=40, dim=3, k=4)
    jobs = [Job(env=env, policy=LinUCB(), checkpoints=(n,), seed=0, threads=1) for n in (2, 3)]
    with pytest.raises(ValueError, match="same features, K and checkpoints"):
        gpu.run_together(jobs, device)


@needs_compiler
@pytest.mark.parametrize(
    "policy", [LinUCB(), FRMLinUCB(variant="exposure-charge")], ids=lambda p: p.label
)
def test_what_does_not_fit_is_cut_into_parts(policy, tmp_path: Path) -> None:
    env = environment(items=40, dim=3, k=4, users=7)
    job = Job(
        env=env, policy=policy, checkpoints=(5, 20), seed=4, threads=1,
        trace=tmp_path / "gpu.parquet",
    )  # fmt: skip
    shape = gpu.shape_of([job])
    users = 3.5 * gpu.DeviceJob.bytes_a_user(job, shape) + gpu.DeviceJob.bytes_of_interval(job)
    small = Emulated(free=gpu.DeviceJob.bytes_of_items(job, shape) + int(users / gpu.FOR_STATE))
    under = gpu.GpuRun([job], small)
    assert [len(part) for part in under.parts] == [1, 1, 1]
    (found,) = under.to_the_end()
    assert len(under.shelf) == 1  # the items were packed and sent once
    expected = loop.run(
        Job(env=env, policy=policy, checkpoints=(5, 20), seed=4, threads=1,
            trace=tmp_path / "loop.parquet")
    )  # fmt: skip
    assert_same(expected, found)
    assert_same_trace(tmp_path / "loop.parquet", tmp_path / "gpu.parquet")


@needs_compiler
def test_nothing_stays_on_the_device(monkeypatch) -> None:
    made: list[Any] = []

    class Noted(share.DeviceJob):
        def __init__(self, *parts: Any) -> None:
            super().__init__(*parts)
            made.append(weakref.ref(self))

    monkeypatch.setattr(share, "DeviceJob", Noted)
    job = Job(
        env=environment(items=40, dim=3, k=4), policy=LinUCB(), checkpoints=(3,), seed=0, threads=1
    )
    gc.disable()
    try:
        gpu.run_together([job, job], Emulated())
        assert [cell() for cell in made] == [None, None]
    finally:
        gc.enable()


@needs_compiler
def test_room_for_what_is_counted_is_that_of_every_catalogue() -> None:
    envs = [environment(items=items, dim=3, k=4) for items in (40, 1100)]
    jobs = [
        Job(env=env, policy=LinUCB(), checkpoints=tuple(range(1, 301)), seed=0, threads=1)
        for env in envs
    ]
    rounds = [
        gpu.GpuRun(order, Emulated(free=50 * 2**20))._room_for_rounds()
        for order in (jobs, jobs[::-1])
    ]
    assert rounds[0] == rounds[1] < 300


@needs_compiler
@pytest.mark.parametrize("fixed", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("each", [1e-5, 1e-3, 0.1, 0.4])
def test_launches_are_short_unless_longer_ones_pay(fixed: float, each: float) -> None:
    job = Job(
        env=environment(items=40, dim=3, k=4), policy=LinUCB(), checkpoints=(9,), seed=0, threads=1
    )
    under, rounds, spent, done = gpu.GpuRun([job], Emulated()), 1, 0.0, 0
    while spent < 60:
        seconds = fixed + each * rounds
        assert seconds < max(2 * gpu.LONGEST_STEP, fixed + each)
        spent, done = spent + seconds, done + rounds
        rounds = under._next_step(rounds, seconds)
    assert spent / done < 3 * (each + fixed * each / gpu.LONGEST_STEP)


def test_ctrl_c_ends_all_users_in_the_same_round_and_a_snapshot_goes_on(
    device, monkeypatch, tmp_path: Path
) -> None:
    env, place = environment(items=40, dim=3, k=4), tmp_path / "run.npz"
    monkeypatch.setattr(gpu, "FIRST_STEP", 25)
    monkeypatch.setattr(gpu, "STEP_SECONDS", 0.0)
    told = []

    def stop(share: float) -> None:
        told.append(share)
        if len(told) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    job = {"env": env, "policy": LinUCB(), "checkpoints": (60,), "seed": 2, "threads": 1}
    (early,) = gpu.run_together([Job(**job, progress=stop, snapshot=place)], device)
    assert early.interrupted
    rounds = int(early.tally.checkpoints[-1])
    assert 0 < rounds < 60
    assert_same(early, loop.run(Job(**{**job, "checkpoints": (rounds,)})))
    (rest,) = gpu.run_together([Job(**job, snapshot=place)], device)
    assert_same(rest, loop.run(Job(**job)))
    assert not rest.interrupted


def test_float32_learns_what_its_own_slates_teach(device, tmp_path: Path) -> None:
    env, policy, trace = (
        environment(users=4),
        EALinUCB(weight="log", gamma=0.1),
        tmp_path / "run.parquet",
    )
    job = {"env": env, "policy": policy, "checkpoints": (300,), "seed": 2, "threads": 1}
    (found,) = gpu.run_together([Job(**job, trace=trace, precision="float32")], device)
    state = policy.start(env.users, env.items.dim)
    rows = pq.read_table(trace)
    lists = rows["item_id"].to_numpy().reshape(300, 4, env.k)
    hits = rows["reward"].to_numpy().reshape(300, 4, env.k)
    for shown, hit in zip(lists, hits, strict=True):
        policy.update(state, slice(None), feedback_on(env, shown, hit))
    assert found.state.learned.theta == pytest.approx(state.learned.theta, abs=1e-4)
    assert pytest.approx(state.learned.M, rel=1e-4, abs=1e-4) == found.state.learned.M
    regret = found.tally.regret.reshape(3, 100).sum(axis=1)
    assert regret[2] < regret[0]


def test_parts_of_a_gpu_and_of_a_processor_are_the_whole(chosen) -> None:
    env, run = environment(items=40, dim=3, k=4), {"rounds": 12, "checkpoints": (5, 12), "seed": 3}
    parts = [
        simulate(env.take(users), LinUCB(), engine=engine, **run)
        for users, engine in ((slice(0, 2), "gpu"), (slice(2, 4), "cpu"), (slice(4, 5), "loop"))
    ]
    whole = join_parts(env, parts)
    assert_same(whole, simulate(env, LinUCB(), engine="loop", **run))
    assert whole.engine == "gpu, cpu, loop"


def test_simulate_names_the_device_and_refuses_what_is_not_compiled_in(chosen) -> None:
    env = environment(items=40, dim=3, k=4)
    result = simulate(env, LinUCB(), rounds=5, engine="gpu", precision="float32")
    assert result.engine == "gpu"
    assert result.engine_reason == f"asked for: {chosen.name}, float32"
    with pytest.raises(ValueError, match=r"engine 'gpu' does not support policy 'random'"):
        simulate(env, Random(), rounds=5, engine="gpu")
    with pytest.raises(ValueError, match="unless engine is 'gpu'"):
        simulate(env, LinUCB(), rounds=5, precision="float32")


def test_scores_beyond_all_floats_are_an_error(device) -> None:
    env = Environment.from_arrays(np.full((40, 3), 1e200), np.ones((2, 3)), k=4)
    job = Job(env=env, policy=LinUCB(), checkpoints=(5,), seed=0, threads=1)
    with pytest.raises(FloatingPointError, match="check the scale"):
        gpu.run_together([job], device)


@pytest.mark.skipif(is_present(), reason="there is a GPU")
def test_without_a_gpu_one_line_says_what_to_do() -> None:
    with pytest.raises(NoGPU) as caught:
        simulate(environment(items=40, dim=3, k=4), LinUCB(), rounds=5, engine="gpu")
    assert "\n" not in str(caught.value)
    assert "cpu engine" in str(caught.value)


# records


@pytest.mark.skipif(not compiler(), reason="no C++ compiler")
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize(("items", "d", "k"), [(40, 3, 4), (1100, 4, 5)])
def test_sizes_are_those_of_the_kernel(items: int, d: int, k: int, precision: str) -> None:
    shape = Shape.of(d=d, k=k, items=items, precision=precision)
    library = Emulated().kernel(shape, 1).library
    assert library.bytes_of_job() == 8 * len(fields_of("Job"))
    assert library.bytes_of_desk() == shape.bytes_of_desk
