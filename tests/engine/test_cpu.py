"""The compiled engine: the lists, clicks and sums of the loop engine, bit for bit."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from faircascade import kernel_cache
from faircascade.clicks import CCM, DBN, DCM, PBM, UBM, Cascade
from faircascade.engine import loop, simulate, simulation
from faircascade.engine.cpu import memory
from faircascade.engine.cpu import run as cpu
from faircascade.engine.cpu.kernels import compiling
from faircascade.engine.cpu.kernels.lanes import USERS
from faircascade.engine.cpu.kernels.shortlist import limits
from faircascade.engine.cpu.users import Learning
from faircascade.engine.job import Job, Outcome
from faircascade.engine.trace import TraceWriter
from faircascade.environment import Environment
from faircascade.estimators import Estimator, Logistic, Ridge
from faircascade.exploration import UCB, Epsilon, Exploration, Thompson
from faircascade.observations import AllPositions, Examination, FirstClick, LastClick
from faircascade.policies import (
    Bandit,
    EALinUCB,
    LinTS,
    LinUCB,
    LogisticUCB,
    MostPopular,
    Optimal,
    Random,
)
from faircascade.ranking import RESOLUTION, Scores
from faircascade.rerankers import EARS, Discount, ExposureCharge, Identity, MeritDraws, Reorder
from faircascade.rewards import Custom, ExposureAware, Linear, Log, Standard
from tests.environments import small_environment

SUMS = ("M", "M_inv", "B", "theta", "updates", "interval")


click_models = st.one_of(
    st.just(Cascade()),
    st.builds(DCM, stop=st.sampled_from([0.0, 0.4, 1.0])),
    st.builds(
        DBN, satisfaction=st.sampled_from([0.3, 1.0]), continuation=st.sampled_from([0.5, 1])
    ),
    st.builds(PBM, kappa=st.sampled_from([None, 0.5])),
    st.just(UBM()),
    st.builds(CCM, t1=st.sampled_from([0.0, 0.9, 1.0])),
)
observations = st.one_of(
    st.just(FirstClick()),
    st.just(LastClick()),
    st.just(AllPositions()),
    st.builds(Examination, kappa=st.sampled_from([None, 0.5])),
)


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    """Problems with ties, zero rows, duplicates, wild norms, K = m, K = 1, d = 1, one user."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    items, dim = draw(st.sampled_from([1, 2, 9, 40, 150, 400])), draw(st.integers(1, 6))
    users = draw(st.sampled_from([1, 3, 8, 19]))
    k = draw(st.sampled_from([1, min(4, items), min(17, items), items if items <= 40 else 10]))
    X = rng.normal(size=(items, dim))
    if draw(st.booleans()):
        X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)
    else:
        X *= rng.exponential(size=(items, 1)) ** 2
    if draw(st.booleans()):
        X = np.round(X, 1)  # many items alike
    X[rng.random(items) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    X[rng.random(items) < draw(st.sampled_from([0.0, 0.5]))] = X[0]
    return Environment.from_arrays(
        X,
        rng.normal(size=(users, dim)) * 0.4,
        k=k,
        popularity=rng.integers(0, 5, items) * 1.0,
        merit=rng.choice([1e-3, 0.1, 1.0], items),
        click_model=draw(click_models),
        activity=draw(st.sampled_from([None, rng.uniform(0.01, 1.0, users)])),
    )


explorations = st.one_of(
    st.builds(UCB, alpha=st.sampled_from([0.0, 1e-9, 0.25, 5.0, 1e9])),
    st.builds(Thompson, scale=st.sampled_from([0.0, 0.25, 3.0])),
    st.builds(Epsilon, epsilon=st.sampled_from([0.0, 0.3, 1.0])),
)
rewards = st.sampled_from(
    [
        Standard(),
        ExposureAware(weight=Log(), gamma=0.1),
        ExposureAware(weight=Linear(beta=0.3), gamma=0.05, reading="reference"),
    ]
)
estimators = st.builds(
    Ridge,
    ridge=st.sampled_from([1.0, 0.1]),
    sigma=st.sampled_from([1.0, 0.3]),
    reading=st.sampled_from(["paper", "reference"]),
    weighs=st.sampled_from(["targets", "observations"]),
)
logistics = st.builds(
    Logistic,
    ridge=st.sampled_from([1.0, 0.1]),
    weighs=st.sampled_from(["targets", "observations"]),
)
rerankers = st.one_of(
    st.just(Identity()),
    st.builds(EARS, tolerance=st.sampled_from([0.0, 0.05, 0.5, 1.0])),
    st.builds(MeritDraws, sharpness=st.sampled_from([0.0, 3.0, 400.0])),
    st.builds(ExposureCharge, eta=st.sampled_from([0.0, 0.001, 1.0])),
    st.just(Reorder()),
    st.builds(Discount, alpha=st.sampled_from([0.25, 3.0])),
)
policies = st.one_of(
    st.builds(
        Bandit,
        estimator=estimators,
        exploration=explorations,
        reward=rewards,
        observation=observations,
        reranker=rerankers,
    ),
    st.builds(
        Bandit,
        estimator=logistics,
        exploration=explorations,
        reward=st.sampled_from([Standard(), ExposureAware(weight=Log())]),
        observation=observations,
        reranker=rerankers,
    ),
    st.sampled_from([Random(), MostPopular(), Optimal()]),
)


def run_or_refuse(run: Callable[[Job], Outcome], job: Job) -> Outcome | None:
    """Run a job; return nothing if float64 cannot hold it."""
    try:
        return run(job)
    except FloatingPointError:
        return None


def assert_same(first: object, second: object) -> None:
    for name, value in vars(first.tally).items():
        assert np.array_equal(value, getattr(second.tally, name)), name
    if hasattr(first.state, "ledger"):
        for name, one in vars(first.state.learned).items():
            assert np.array_equal(one, getattr(second.state.learned, name)), name
        ledgers = first.state.ledger, second.state.ledger
        assert (ledgers[0] is None) == (ledgers[1] is None)
        if ledgers[0] is not None:
            ledgers[0].follow(ledgers[1].ids)  # before the first visitor it has no items
            assert np.array_equal(ledgers[0].units, ledgers[1].units)


@settings(max_examples=120)
@given(env=environments(), policy=policies, data=st.data())
def test_cpu_gives_what_loop_gives_bit_for_bit(env, policy, data, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("traces")
    job = {
        "env": env,
        "policy": policy,
        "checkpoints": data.draw(st.sampled_from([(1,), (3, 40), (70,)])),
        "seed": data.draw(st.integers(0, 9)),
        "threads": data.draw(st.sampled_from([1, 2])),
        "activity": data.draw(st.sampled_from([1.0, 0.4])),
        "realised": data.draw(st.booleans()),
    }
    expected = run_or_refuse(loop.run, Job(**job, trace=folder / "loop.parquet"))
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # several small sets, so that every tier is used
            patch.setattr(memory, "SPARE", 0)
            patch.setattr(memory, "WIDER", 2)
        lazy = data.draw(st.booleans())
        found = run_or_refuse(cpu.run, Job(**job, lazy=lazy, trace=folder / "cpu.parquet"))
    if expected is None:
        assert found is None
        return
    assert_same(expected, found)
    traces = [pq.read_table(folder / f"{name}.parquet") for name in ("loop", "cpu")]
    assert traces[0].column_names == traces[1].column_names
    for name in traces[0].column_names:
        if not name.startswith("pscore"):  # which only loop computes, without a change to the run
            assert traces[0][name].equals(traces[1][name]), name


def test_every_reward_model_is_a_table() -> None:
    env = small_environment(users=9, items=120, k=4)
    reward = ExposureAware(weight=Custom(weights=(3.0, 0.1, 2.0, 5.0)), gamma=0.2)
    runs = [
        simulate(env, Bandit(reward=reward), rounds=300, seed=2, engine=engine)
        for engine in ("loop", "cpu")
    ]
    assert_same(*runs)


@pytest.mark.parametrize(
    "policy", [LinUCB(), EALinUCB(weight="log"), LinUCB(alpha=0.0), LogisticUCB()]
)
def test_a_long_lazy_run_is_the_full_one_and_keeps_its_inverse(policy) -> None:
    env = small_environment(users=11, items=600, dim=6, k=5, seed=3)
    job = {"env": env, "policy": policy, "checkpoints": (20_000,), "seed": 1, "threads": 2}
    users = Learning(Job(**job))
    run = cpu.CpuRun(Job(**job), users)
    lazy = run.to_the_end()
    assert run.work[0] > 0.9 * run.work.sum()  # most lists came from the front alone
    assert_same(cpu.run(Job(**job, lazy=False)), lazy)
    M, M_inv = lazy.state.learned.M, lazy.state.learned.M_inv
    assert np.array_equal(M, M.transpose(1, 0, 2))
    assert np.array_equal(M_inv, M_inv.transpose(1, 0, 2))
    for user in range(11):
        product = M[:, :, user] @ M_inv[:, :, user]
        assert np.abs(product - np.eye(len(M))).max() < 1e-9
        assert (np.linalg.eigvalsh(M_inv[:, :, user]) > 0).all()


@settings(max_examples=25)
@given(
    env=environments(),
    estimator=st.sampled_from([Ridge(), Logistic()]),
    exploration=explorations,
    rounds=st.integers(1, 600),
)
def test_no_item_scores_more_than_the_limit_of_its_tier(
    env: Environment, estimator: Estimator, exploration: Exploration, rounds: int
) -> None:
    # the promise on which lazy scoring rests, looked at from outside at the end of a run
    if isinstance(exploration, Thompson):
        exploration = UCB()
    policy = Bandit(estimator=estimator, exploration=exploration)
    job = Job(env=env, policy=policy, checkpoints=(rounds,), seed=5, threads=1)
    users = Learning(job)
    outcome = run_or_refuse(lambda _: cpu.CpuRun(job, users).to_the_end(), job)
    assume(outcome is not None)
    state = outcome.state.learned
    shortlist, sums = users.shortlist, users.sums
    limit = np.empty((len(shortlist.room) + 1) * USERS)
    logistic = users.rules.logistic
    x = (env.items.pool.with_intercept if logistic else env.items.pool).by_feature
    for user in range(len(env.users)):
        group, lane = divmod(user, USERS)
        limits(shortlist.tiers, group, sums.theta[group], logistic, limit)
        width = np.sqrt(np.einsum("am,ab,bm->m", x, state.M_inv[:, :, user], x).clip(0))
        scores = state.theta[:, user] @ x + users.rules.alpha * width
        inside = set(shortlist.front[user][: shortlist.front_size[user]].tolist())
        for tier, _ in enumerate([0, *shortlist.room]):  # what is outside set `tier`
            if tier > 0:
                begin, size = shortlist.start[tier - 1], shortlist.sizes[user, tier - 1]
                inside |= set(shortlist.sets[user][begin : begin + size].tolist())
            elsewhere = np.setdiff1d(np.arange(x.shape[1]), list(inside))
            highest = limit.reshape(-1, USERS)[tier:, lane].max()
            if len(elsewhere):
                assert scores[elsewhere].max() <= highest + 1e-12 * max(1.0, abs(highest))


def test_parts_of_the_users_merge_to_the_whole_in_every_reported_number() -> None:
    env = small_environment(users=30, items=200, k=4)
    options = {"rounds": 200, "seed": 3, "engine": "cpu", "checkpoints": 7}
    whole = simulate(env, EALinUCB(), threads=1, **options)
    parts = [
        simulate(env.take(rows), EALinUCB(), threads=2, **options)
        for rows in (slice(0, 13), slice(13, 30))
    ]
    merged = parts[0].tally.merge(parts[1].tally)
    for name, array in vars(whole.tally).items():
        assert np.array_equal(array, getattr(merged, name)), name
    joined = EALinUCB().join([part.state for part in parts])
    for name in SUMS:
        assert np.array_equal(getattr(whole.state.learned, name), getattr(joined.learned, name))


def one_long_step(**options: object) -> cpu.CpuRun:
    """A run whose first step is long enough to be interrupted in."""
    env = small_environment(users=64, items=400)
    job = Job(env=env, policy=LinUCB(), checkpoints=(20_000,), seed=1, threads=1, **options)
    run = cpu.CpuRun(job, Learning(job))
    run.step = job.rounds
    return run


def test_ctrl_c_before_the_first_step_is_done_is_an_interrupt() -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    run = one_long_step(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.to_the_end()
    assert run.done == 0
    assert not run.tally.appearances.any()


def test_ctrl_c_in_a_step_forgets_that_step_alone() -> None:
    calls = []

    def interrupt(share: float) -> None:
        calls.append(share)
        if len(calls) == 2:  # 1: after the first step; 2: in the middle of a long one
            raise KeyboardInterrupt

    env = small_environment(users=64, items=400)
    job = Job(
        env=env, policy=LinUCB(), checkpoints=(5, 200_000), seed=1, threads=2, progress=interrupt
    )
    run = cpu.CpuRun(job, Learning(job))
    run.step = 5
    run._next_step = lambda rounds, seconds: 200_000
    stopped = run.to_the_end()
    assert stopped.interrupted
    assert_same(
        cpu.run(Job(env=env, policy=LinUCB(), checkpoints=(5,), seed=1, threads=1)), stopped
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(Exploration):
    name = "mine"

    def scores(self, request) -> Scores:
        return Scores.final(np.zeros((len(request.users), len(request.pool))))


@dataclass(frozen=True, slots=True, kw_only=True)
class MyClicks(Cascade):
    name = "my-clicks"


@dataclass(frozen=True, slots=True, kw_only=True)
class MyPolicy(Random):
    name = "my-policy"


@pytest.mark.parametrize(
    ("policy", "click_model", "lacking"),
    [
        (Bandit(exploration=Mine()), Cascade(), "exploration 'mine'"),
        (LinUCB(), MyClicks(), "click model 'my-clicks'"),
        (MyPolicy(), Cascade(), "policy 'my-policy'"),
    ],
)
def test_what_it_cannot_run_it_names_and_auto_takes_loop(
    policy, click_model, lacking, monkeypatch
) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    env = small_environment(click_model=click_model)
    with pytest.raises(ValueError, match=f"engine 'cpu' does not support {lacking}; use"):
        simulate(env, policy, rounds=3, engine="cpu")
    result = simulate(env, policy, rounds=3)
    assert (result.engine, result.engine_reason) == ("loop", f"cpu does not support {lacking}")
    assert result.summary()["engine_reason"] == f"cpu does not support {lacking}"


def test_auto_takes_the_compiled_engine_for_all_but_short_runs(monkeypatch) -> None:
    env, enough = small_environment(users=10), 20
    monkeypatch.setattr(simulation, "SHORT", enough * 10 * 1030)
    short = simulate(env, LinUCB(), rounds=enough)
    long = simulate(env, LinUCB(), rounds=enough + 1)
    assert (short.engine, short.engine_reason) == ("loop", "a short run")
    assert (long.engine, long.engine_reason) == ("cpu", "the fastest that can run it")


def test_thompson_sampling_scores_every_item() -> None:
    env = small_environment(users=3, items=50)
    job = Job(env=env, policy=LinTS(), checkpoints=(20,), seed=1, threads=1)
    run = cpu.CpuRun(job, Learning(job))
    run.to_the_end()
    assert run.work[:-1].sum() == 0
    assert run.work[-1] == 60


def test_compiling_is_announced_once_whatever_the_kernels_and_kept(caplog, tmp_path: Path) -> None:
    class Kernel:
        def __init__(self, name: str = "serve") -> None:
            self.__name__ = name

        signatures: tuple = ()

        class stats:  # noqa: N801
            cache_path = str(tmp_path)

    with caplog.at_level(logging.WARNING, logger="faircascade"):
        compiling.announce(Kernel())
        assert "Compiling the cpu engine" in caplog.text
        caplog.clear()
        compiling.announce(Kernel("another"))
        assert caplog.text == ""
        compiling._note.cache_clear()
        (tmp_path / "bandit.serve-12.py311.nbi").touch()
        compiling.announce(Kernel())
        assert caplog.text == ""


def test_the_seconds_of_a_run_are_not_those_of_compiling(monkeypatch) -> None:
    monkeypatch.setattr(cpu.CpuRun, "_compile", lambda self: -100.0)
    env = small_environment(users=3, items=50)
    assert simulate(env, LinUCB(), rounds=5, engine="cpu").seconds > 100


def test_a_folder_that_cannot_be_written_is_no_obstacle(monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FAIRCASCADE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(kernel_cache.numba.config, "CACHE_DIR", "")
    add = compiling.kernel(lambda a, b: a + b)
    assert add(1, 2) == 3
    assert add.stats.cache_path is None


def test_the_folder_of_kernels_belongs_to_the_code(monkeypatch, tmp_path: Path) -> None:
    folder = kernel_cache.kernel_folder(compiling.sources(), str(tmp_path))
    assert folder.parent == tmp_path  # also where NUMBA_CACHE_DIR is set
    monkeypatch.setattr(compiling, "SOURCES", ("random",))
    assert kernel_cache.kernel_folder(compiling.sources(), str(tmp_path)) != folder


def test_every_module_that_kernels_compile_in_is_part_of_the_folders_name() -> None:
    known = {f"faircascade.{name}" for name in compiling.SOURCES}
    python_only = {"compiling.py"}
    for file in Path(compiling.__file__).parent.glob("*.py"):
        if file.name in python_only:
            continue
        for line in file.read_text().splitlines():
            if line.startswith("from faircascade") and ".kernels" not in line:
                module = line.split()[1]
                if module == "faircascade":
                    module = f"faircascade.{line.split()[3]}"
                assert module in known, f"{file.name}: {line}"


def test_without_compilation_auto_takes_loop_and_says_why(monkeypatch) -> None:
    monkeypatch.setattr(simulation, "SHORT", 0)
    monkeypatch.setattr(cpu.numba.config, "DISABLE_JIT", 1)
    result = simulate(small_environment(), LinUCB(), rounds=3)
    assert result.engine == "loop"
    assert "NUMBA_DISABLE_JIT" in result.engine_reason


@pytest.mark.parametrize(("size", "alpha"), [(1e155, 0.25), (1e10, 1e300)])
def test_scores_beyond_all_floats_are_an_error(size: float, alpha: float) -> None:
    rng = np.random.default_rng(0)
    env = Environment.from_arrays(
        rng.normal(size=(300, 3)) * size, rng.normal(size=(8, 3)) / size, k=5
    )
    for engine in ("loop", "cpu"):
        with pytest.raises(FloatingPointError, match="check the scale"):
            simulate(env, LinUCB(alpha=alpha), rounds=20, engine=engine)


def test_lanes_without_a_user_learn_nothing() -> None:
    env = small_environment(users=9)
    job = Job(env=env, policy=LinUCB(), checkpoints=(50,), seed=1, threads=1)
    users = Learning(job)
    cpu.CpuRun(job, users).to_the_end()
    nobody = users.sums.M[1].reshape(-1, USERS)[:, 1:]
    assert np.array_equal(nobody, memory.start_sums(9, 4).M[1].reshape(-1, USERS)[:, 1:])


def test_ctrl_c_while_a_trace_is_written_writes_no_row_twice(monkeypatch, tmp_path: Path) -> None:
    write = TraceWriter.write
    calls = []

    def interrupted_write(self: TraceWriter, shards: object) -> None:
        write(self, shards)
        calls.append(1)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)  # the main thread hears of it when it next looks

    monkeypatch.setattr(TraceWriter, "write", interrupted_write)
    path = tmp_path / "trace.parquet"
    result = simulate(
        small_environment(), LinUCB(), rounds=50, engine="cpu", checkpoints=[10, 50], trace=path
    )
    assert result.interrupted
    assert pq.read_table(path).num_rows == result.recommendations * 3


def test_ctrl_c_before_the_first_step_leaves_an_older_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    path.write_text("older")
    run = one_long_step(trace=path, progress=lambda share: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run.to_the_end()
    assert path.read_text() == "older"


@pytest.mark.parametrize("seed", range(40))
def test_a_posterior_that_cannot_be_drawn_from_is_an_error_in_both(seed: int) -> None:
    # gain 1e14: rounding makes some of the inverses indefinite, and their factor is not a number
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * np.sqrt(2)
    env = Environment.from_arrays(X, rng.normal(size=(8, 5)) * 0.2, k=5)
    policy = Bandit(estimator=Ridge(sigma=1e-7), exploration=Thompson())
    for rounds in (2, 3, 4):
        outcomes = []
        for engine in (loop, cpu):
            try:
                engine.run(Job(env=env, policy=policy, checkpoints=(rounds,), seed=seed, threads=1))
                outcomes.append("result")
            except FloatingPointError:
                outcomes.append("error")
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("seed", range(12))
def test_optimal_slates_do_not_depend_on_who_is_scored_together(seed: int) -> None:
    # attractions half a unit of the resolution apart, where the last bit of a sum decides
    rng = np.random.default_rng(seed)
    theta, X = rng.uniform(0.5, 1, size=40), rng.uniform(0, 0.02, size=(200, 40))
    target = (np.round(0.7 / RESOLUTION) + 0.5) * RESOLUTION
    for _ in range(4):
        X[:, -1] += (target - X @ theta) / theta[-1]
    env = Environment.from_arrays(X, np.tile(theta, (19, 1)), k=5)
    job = Job(env=env, policy=Optimal(), checkpoints=(6,), seed=seed, threads=1, activity=0.15)
    assert_same(loop.run(job), cpu.run(job))
