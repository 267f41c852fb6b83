"""A run that was stopped and goes on is the run that was not, to the last bit."""

from __future__ import annotations

import errno
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faircascade import storage
from faircascade.engine import loop, simulate, snapshot
from faircascade.engine.cpu import run as cpu
from faircascade.engine.job import Job
from faircascade.environment import Environment
from faircascade.policies import EALinUCB, FRMLinUCB, LinUCB, Policy, Random
from tests.engine.same import COMPILED, SHARING, assert_same, bits
from tests.engine.test_cpu import MyClicks, MyPolicy, environments, policies
from tests.environments import small_environment

ENGINES = ("loop", "cpu")
JOURNEYS = [
    *product(COMPILED, ENGINES, ENGINES),
    *((policy, "loop", "loop") for policy in SHARING),
]
"""A policy, the engine that begins and the one that goes on."""


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs be stopped after any round."""
    monkeypatch.setattr(loop, "STEP", 1)
    monkeypatch.setattr(cpu, "FIRST_STEP", 1)
    monkeypatch.setattr(cpu, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(cpu, "_POLL_SECONDS", 60.0)  # progress is told of whole steps alone


@pytest.fixture
def saved_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save after every step."""
    monkeypatch.setattr(snapshot, "SECONDS", 0.0)
    monkeypatch.setattr(snapshot, "PAUSE", 0.0)


class Killed(BaseException):
    """The end of a process."""


def stop_after(share: float, how: type[BaseException] = KeyboardInterrupt) -> Callable[..., None]:
    """Return a progress callback that ends a run when more than a share is done."""

    def progress(done: float) -> None:
        if done > share:
            raise how

    return progress


def rounds_in(path: Path) -> int:
    meta, _ = storage.load_arrays(path, kind="snapshot", version=snapshot.VERSION)
    return int(meta["rounds"])


@pytest.mark.parametrize(("policy", "first", "second"), JOURNEYS, ids=repr)
def test_a_run_goes_on_in_either_engine_to_the_same_bits(
    policy: Policy, first: str, second: str, tmp_path: Path
) -> None:
    env = small_environment(users=11, items=40)
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 40, "seed": 3, "checkpoints": [1, 13, 20, 40]}
    whole = simulate(env, policy, engine=second, **run)
    stopped = simulate(
        env, policy, engine=first, snapshot=path, progress=stop_after(0.6), threads=2, **run
    )
    assert stopped.interrupted
    assert rounds_in(path) == stopped.rounds == 25
    shares: list[float] = []
    result = simulate(
        env, policy, engine=second, snapshot=path, progress=shares.append, threads=1, **run
    )
    assert shares[0] > 0.6  # it did not begin again
    assert not result.interrupted
    assert_same(whole, result)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(env=environments(), policy=policies, data=st.data())
def test_any_run_stopped_any_number_of_times_is_the_same(
    env, policy, data, tmp_path_factory
) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.npz"
    engine = st.sampled_from(ENGINES)
    run = {
        "rounds": data.draw(st.integers(1, 60)),
        "seed": data.draw(st.integers(0, 9)),
        "checkpoints": data.draw(st.integers(1, 4)),
        "activity": data.draw(st.sampled_from([1.0, 0.3])),
        "realised": data.draw(st.booleans()) and env.click_model.value_is_clicks,
    }
    for share in sorted(data.draw(st.lists(st.floats(0, 1), max_size=3))):
        threads = data.draw(st.sampled_from([1, 2]))
        try:
            simulate(
                env,
                policy,
                engine=data.draw(engine),
                threads=threads,
                snapshot=path,
                progress=stop_after(share),
                **run,
            )
        except KeyboardInterrupt:  # before the first round was done
            assert not path.exists()
    last = data.draw(engine)
    result = simulate(env, policy, engine=last, snapshot=path, **run)
    assert_same(simulate(env, policy, engine=last, **run), result)
    assert not path.exists()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("policy", [LinUCB(), EALinUCB(reading="reference")], ids=repr)
def test_inverses_are_refined_as_if_there_had_been_no_break(policy, engine, tmp_path) -> None:
    env, path = small_environment(users=3, items=30), tmp_path / "run.npz"
    whole = simulate(env, policy, rounds=300, engine=engine)
    for rounds in (127, 128, 129, 255, 256, 257):
        stop = stop_after((rounds - 0.5) / 300)
        simulate(env, policy, rounds=300, engine=engine, snapshot=path, progress=stop)
        assert rounds_in(path) == rounds
        assert_same(whole, simulate(env, policy, rounds=300, engine=engine, snapshot=path))


@pytest.mark.parametrize("policy", COMPILED, ids=repr)
def test_both_engines_write_the_same_file(policy: Policy, tmp_path: Path) -> None:
    found = []
    for engine in ENGINES:
        path = tmp_path / f"{engine}.npz"
        run: dict[str, Any] = {"rounds": 20, "engine": engine, "snapshot": path}
        simulate(small_environment(users=9), policy, progress=stop_after(0.49), **run)
        meta, arrays = storage.load_arrays(path, kind="snapshot", version=snapshot.VERSION)
        found.append((meta["job"], meta["rounds"], bits(arrays)))
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "policy", [LinUCB(), Random(), FRMLinUCB(variant="exposure-charge")], ids=repr
)
def test_a_run_that_was_killed_goes_on_from_its_last_snapshot(
    policy: Policy, engine: str, tmp_path: Path, saved_always
) -> None:
    env = small_environment(users=9)
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 50, "seed": 2, "engine": engine, "snapshot": path}
    with pytest.raises(Killed):
        simulate(env, policy, progress=stop_after(0.5, Killed), **run)
    assert rounds_in(path) >= 24
    shares: list[float] = []
    result = simulate(env, policy, progress=shares.append, **run)
    assert shares[0] > 0.48
    assert_same(simulate(env, policy, rounds=50, seed=2, engine=engine), result)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_ends_soon_writes_nothing(engine: str, tmp_path: Path, monkeypatch) -> None:
    def no_saving(*_: Any, **__: Any) -> None:
        raise AssertionError("saved")

    monkeypatch.setattr(storage, "save_arrays", no_saving)
    simulate(small_environment(), LinUCB(), rounds=50, engine=engine, snapshot=tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_next_snapshot_waits_longer_if_the_last_one_took_long(tmp_path, monkeypatch) -> None:
    now = 0.0
    monkeypatch.setattr(snapshot.time, "perf_counter", lambda: now)
    env, path = small_environment(), tmp_path / "run.npz"
    job = Job(env=env, policy=Random(), checkpoints=(10,), seed=0, threads=1, snapshot=path)
    kept = snapshot.Snapshot(job)
    reached = kept.reached()
    for took, wait in ((0.5, 30.0), (4.0, 80.0)):  # 30 s, or 20 times as long as the last one

        def save(*_: Any, took: float = took, **__: Any) -> None:
            nonlocal now
            now += took

        monkeypatch.setattr(storage, "save_arrays", save)
        kept.save(5, reached.tally, env.users)
        saved = now
        now = saved + wait - 0.1
        assert not kept.due(5)
        now = saved + wait
        assert kept.due(5)
        assert not kept.due(10)  # there is nothing left to do


@pytest.fixture(scope="module")
def halfway(tmp_path_factory) -> tuple[Environment, Any, bytes]:
    """A environment, a whole run in it, and the snapshot of half of that run."""
    env = small_environment(users=5, items=20)
    path = tmp_path_factory.mktemp("half") / "run.npz"
    whole = simulate(env, FRMLinUCB(variant="exposure-charge"), rounds=20, engine="loop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "STEP", 1)
        simulate(
            env,
            FRMLinUCB(variant="exposure-charge"),
            rounds=20,
            engine="loop",
            snapshot=path,
            progress=stop_after(0.5),
        )
    assert 10 <= rounds_in(path) < 20
    return env, whole, path.read_bytes()


def go_on(halfway: tuple[Environment, Any, bytes], path: Path, contents: bytes) -> None:
    """Check that the result is right whatever the file holds."""
    env, whole, _ = halfway
    path.write_bytes(contents)
    policy = FRMLinUCB(variant="exposure-charge")
    assert_same(whole, simulate(env, policy, rounds=20, engine="loop", snapshot=path))
    assert list(path.parent.iterdir()) == []


@pytest.mark.slow
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(place=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_changed_byte_never_changes_a_number(halfway, place, mask, tmp_path) -> None:
    damaged = bytearray(halfway[2])
    damaged[int(place * len(damaged))] ^= mask
    go_on(halfway, tmp_path / "run.npz", bytes(damaged))


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(share=st.floats(0, 1))
def test_a_file_that_was_cut_short_is_replaced(halfway, share, tmp_path) -> None:
    contents = halfway[2]
    go_on(halfway, tmp_path / "run.npz", contents[: int(share * len(contents))])


@pytest.mark.parametrize("changed", ["rounds", "state", "kind", "version"])
def test_a_file_that_is_not_what_was_saved_is_replaced(
    changed: str, halfway, tmp_path, caplog
) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(halfway[2])
    meta, arrays = storage.load_arrays(path, kind="snapshot", version=snapshot.VERSION)
    kind, version = "snapshot", snapshot.VERSION
    if changed == "rounds":
        meta["rounds"] += 1
    elif changed == "state":
        arrays["state/theta"] = arrays["state/theta"] + 1e-9
    elif changed == "kind":
        kind = "ranker"
    else:
        version += 1
    storage.save_arrays(path, kind=kind, version=version, meta=meta, arrays=arrays)
    go_on(halfway, path, path.read_bytes())
    assert f"Snapshot {path} is left aside, the run starts over: " in caplog.text


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4},
        {"rounds": 41},
        {"checkpoints": [2, 40]},
        {"activity": 0.5},
        {"realised": True},
        {"policy": LinUCB(alpha=0.26)},
        {"policy": EALinUCB()},
        {"env": small_environment(users=6, seed=1)},
        {"env": small_environment(users=6, k=4)},
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_snapshot_of_another_run_is_left_aside(
    other: dict, engine: str, tmp_path: Path, caplog
) -> None:
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {
        "env": small_environment(users=6),
        "policy": LinUCB(),
        "rounds": 40,
        "seed": 3,
        "engine": engine,
    }
    simulate(**{**run, **other}, snapshot=path, progress=stop_after(0.5))
    assert path.exists()
    result = simulate(**run, snapshot=path)
    assert f"{path} is left aside, the run starts over: it is of another run" in caplog.text
    assert_same(simulate(**run), result)
    assert not path.exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_snapshot_of_another_release_is_left_aside(engine, tmp_path, monkeypatch) -> None:
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 40, "engine": engine, "snapshot": path}
    simulate(small_environment(), LinUCB(), progress=stop_after(0.5), **run)
    monkeypatch.setattr(snapshot, "__version__", "99")
    shares: list[float] = []
    simulate(small_environment(), LinUCB(), progress=shares.append, **run)
    assert shares[0] < 0.5


def break_saving(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let every save end in its middle."""

    def savez(file: Any, **arrays: Any) -> None:
        file.write(b"PK the first few bytes")
        raise error

    monkeypatch.setattr(np, "savez", savez)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kill_in_the_middle_of_a_save_leaves_the_older_snapshot(
    engine: str, tmp_path: Path, monkeypatch, saved_always
) -> None:
    env = small_environment(users=9)
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 50, "engine": engine, "snapshot": path}
    simulate(env, LinUCB(), progress=stop_after(0.5), **run)
    older = path.read_bytes()
    with monkeypatch.context() as patch:
        break_saving(patch, Killed())
        with pytest.raises(Killed):
            simulate(env, LinUCB(), **run)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == older
    assert_same(simulate(env, LinUCB(), rounds=50, engine=engine), simulate(env, LinUCB(), **run))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_full_disk_does_not_end_a_run(
    engine: str, tmp_path: Path, monkeypatch, saved_always, caplog
) -> None:
    env = small_environment(users=9)
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 50, "engine": engine, "snapshot": path}
    simulate(env, LinUCB(), progress=stop_after(0.2), **run)
    older = path.read_bytes()
    break_saving(monkeypatch, OSError(errno.ENOSPC, "No space left on device"))
    assert simulate(env, LinUCB(), progress=stop_after(0.5), **run).interrupted
    assert "goes on without a new snapshot: [Errno 28] No space left on device" in caplog.text
    assert path.read_bytes() == older
    assert_same(simulate(env, LinUCB(), rounds=50, engine=engine), simulate(env, LinUCB(), **run))


@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_while_a_snapshot_is_saved_leaves_a_whole_one(
    engine: str, tmp_path: Path, monkeypatch, saved_always
) -> None:
    env = small_environment(users=9)
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 50, "engine": engine, "snapshot": path}
    savez, calls = np.savez, []

    def interrupted_savez(file: Any, **arrays: Any) -> None:
        calls.append(1)
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)  # the main thread hears of it when it next looks
        savez(file, **arrays)

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", interrupted_savez)
        stopped = simulate(env, LinUCB(), **run)
    assert stopped.interrupted
    assert rounds_in(path) == stopped.rounds < 50
    assert_same(simulate(env, LinUCB(), rounds=50, engine=engine), simulate(env, LinUCB(), **run))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_was_stopped_in_its_last_round_is_complete(engine: str, tmp_path) -> None:
    env, path = small_environment(), tmp_path / "run.npz"
    stop = stop_after(0.999)
    stopped = simulate(env, LinUCB(), rounds=9, engine=engine, snapshot=path, progress=stop)
    assert stopped.interrupted
    result = simulate(env, LinUCB(), rounds=9, engine=engine, snapshot=path)
    assert not result.interrupted
    assert_same(simulate(env, LinUCB(), rounds=9, engine=engine), result)
    assert not path.exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_seconds_are_those_of_all_attempts(engine: str, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "run.npz"
    run: dict[str, Any] = {"rounds": 20, "engine": engine, "snapshot": path}
    simulate(small_environment(), LinUCB(), progress=stop_after(0.3), **run)
    meta, arrays = storage.load_arrays(path, kind="snapshot", version=snapshot.VERSION)
    assert meta["seconds"] > 0
    del meta["contents"]
    meta["seconds"] = 1000.0
    meta["contents"] = storage.fingerprint(arrays, meta)
    storage.save_arrays(path, kind="snapshot", version=snapshot.VERSION, meta=meta, arrays=arrays)
    again = simulate(small_environment(), LinUCB(), progress=stop_after(0.6), **run)
    assert 1000 < again.seconds < 2000  # counted once
    last = simulate(small_environment(), LinUCB(), **run)
    assert 1000 < last.seconds < 2000
    assert last.summary()["seconds"] == last.seconds


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_cannot_be_removed_does_not_end_a_run(engine, tmp_path, monkeypatch) -> None:
    def refuse(self: Path, missing_ok: bool = False) -> None:
        if self.name == "run.npz":
            raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(Path, "unlink", refuse)
    result = simulate(
        small_environment(), LinUCB(), rounds=9, engine=engine, snapshot=tmp_path / "run.npz"
    )
    assert result.rounds == 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Nameless(Random):
    """A policy that goes by the name of another."""


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    env, path = small_environment(), tmp_path / "run.npz"
    with pytest.raises(ValueError, match="snapshot and trace cannot be combined"):
        simulate(env, LinUCB(), rounds=3, snapshot=path, trace=tmp_path / "trace.parquet")
    with pytest.raises(ValueError, match=r"^snapshot must name a file"):
        simulate(env, LinUCB(), rounds=3, snapshot=tmp_path)
    own = EALinUCB(weight=lambda position, k: 1.0 / position)
    with pytest.raises(ValueError, match=r"a policy that a spec can hold.*holds a function"):
        simulate(env, own, rounds=3, snapshot=path)
    assert simulate(env, own, rounds=3).rounds == 3
    for policy, reason in (
        (Nameless(), "not registered"),
        (MyPolicy(), "policy must be one of"),
    ):
        with pytest.raises(ValueError, match=f"a policy that a spec can hold.*{reason}"):
            simulate(env, policy, rounds=3, snapshot=path)
    with pytest.raises(ValueError, match="a click_model that a spec can hold"):
        simulate(small_environment(click_model=MyClicks()), LinUCB(), rounds=3, snapshot=path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_run_says_nothing(tmp_path: Path, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        simulate(
            small_environment(),
            LinUCB(),
            rounds=3,
            engine="loop",
            snapshot=tmp_path / "a" / "run.npz",
        )
    assert caplog.text == ""
