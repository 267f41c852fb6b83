"""What is said when there is no GPU, or none that can be used; and who takes one."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faircascade.engine import Wanted, simulate, simulate_together, simulation
from faircascade.engine.gpu import device as devices
from faircascade.engine.gpu import run as gpu
from faircascade.engine.gpu.device import NoGPU
from faircascade.engine.gpu.source import Shape
from faircascade.engine.job import Job
from faircascade.experiment.bench import check_engine
from faircascade.installation import install_command
from faircascade.policies import LinUCB, Optimal, Random
from tests.engine.emulated import Emulated, compiler
from tests.environments import small_environment

SMALL = Shape.of(d=3, k=4, items=40, precision="float64")
needs_compiler = pytest.mark.skipif(not compiler(), reason="no C++ compiler")


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def fake_cupy(count: Any, **properties: Any) -> ModuleType:
    """Return what stands for CuPy: `count` is how many GPUs it finds, or what it raises."""

    def get_device_count() -> int:
        if isinstance(count, Exception):
            raise count
        return int(count)

    cupy = ModuleType("cupy")
    about = {"name": b"Fake GPU", "multiProcessorCount": 3, "sharedMemPerBlockOptin": 100_000}
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=lambda: SimpleNamespace(id=0),
        runtime=SimpleNamespace(
            getDeviceCount=get_device_count,
            getDeviceProperties=lambda _: about | properties,
            runtimeGetVersion=lambda: 13000,
            memGetInfo=lambda: (700, 1000),
            CUDARuntimeError=CUDARuntimeError,
        ),
    )
    cupy.get_default_memory_pool = lambda: SimpleNamespace(  # type: ignore[attr-defined]
        free_bytes=lambda: 50
    )
    return cupy


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    devices.the_gpu.cache_clear()
    yield
    devices.the_gpu.cache_clear()


@pytest.mark.parametrize(
    ("cupy", "said"),
    [
        (None, f"needs CuPy, which is not here: {install_command('gpu')}"),
        (fake_cupy(0), "finds no GPU; the cpu engine"),
        (
            fake_cupy(CUDARuntimeError(35, "insufficient driver")),
            "its driver is missing, or too old for CUDA 13 (nvidia-smi tells): update it",
        ),
        (fake_cupy(CUDARuntimeError(100, "cudaErrorNoDevice: none")), "cudaErrorNoDevice: none"),
    ],
)
def test_what_is_missing_is_one_line(monkeypatch, cupy, said: str) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(NoGPU) as caught:
        devices.the_gpu()
    text = str(caught.value)
    assert said in text
    assert text.endswith("the cpu engine needs no GPU")
    assert "\n" not in text


def test_a_gpu_is_known_by_name_and_memory(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(1))
    found = devices.the_gpu()
    assert found.name == "Fake GPU"
    assert found.free_bytes() == 750
    large = Shape.of(d=200, k=10, items=1000, precision="float64")
    assert found.lacks(large).startswith("d = 200 with K = 10 on this Fake GPU")
    with pytest.raises(NoGPU, match="not support d = 200 with K = 10"):
        found.kernel(large, 1)
    assert found.lacks(SMALL) == ""


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_registers_are_shared_among_no_more_blocks_than_users_need(precision: str) -> None:
    shape = Shape.of(d=10, k=10, items=1000, precision=precision)
    found = [devices.blocks_for(shape, users, 100) for users in (1, 800, 801, 1200, 10**6)]
    assert found == [2, 2, 3, 3, devices.MOST_BLOCKS[precision][0]]


@pytest.mark.parametrize("why", ["libnvrtc.so.13: not found\nmore", ""])
def test_a_kernel_that_cannot_be_compiled_is_one_line(monkeypatch, why: str) -> None:
    def compiled(**_: Any) -> Any:
        raise RuntimeError(why)

    cupy = fake_cupy(1)
    cupy.RawModule = compiled  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(NoGPU) as caught:
        devices.the_gpu().kernel(SMALL, 1)
    assert f"cannot compile for this Fake GPU: {why[:25] or 'RuntimeError'};" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_gpu_that_fails_in_a_way_of_its_own_is_none(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(1))
    monkeypatch.setattr(devices, "find_spec", lambda _: True)
    assert devices.is_present()
    devices.the_gpu.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(AttributeError("no such thing")))
    assert not devices.is_present()


class OutOfMemoryError(MemoryError):
    """As CuPy calls its own."""


class Full(Emulated):
    """A GPU without memory."""

    def kernel(self, shape: Shape, users: int) -> Any:
        raise OutOfMemoryError("allocating 5 bytes.")


def test_no_memory_left_is_one_line() -> None:
    job = Job(env=small_environment(), policy=LinUCB(), checkpoints=(5,), seed=0, threads=1)
    with pytest.raises(NoGPU, match="no memory left on this emulated GPU: allocating 5 bytes; end"):
        gpu.run_together([job], Full())


@pytest.mark.parametrize(
    ("present", "policy", "taken"),
    [(True, LinUCB(), "gpu"), (False, LinUCB(), "cpu"), (True, Random(), "cpu")],
)
@needs_compiler
def test_auto_takes_a_gpu_for_long_runs_if_there_is_one(
    monkeypatch, present: bool, policy: Any, taken: str
) -> None:
    auto_finds(monkeypatch, Emulated if present else None)
    result = simulate(small_environment(users=10), policy, rounds=3, threads=1)
    assert result.engine == taken
    assert result.engine_reason.startswith("the fastest that can run it")


def auto_finds(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """Let every run be long enough for a GPU, and that be there or not."""
    monkeypatch.setattr(simulation, "LONG", 0)
    monkeypatch.setattr(simulation, "SHORT", 0)
    monkeypatch.setattr(gpu, "the_gpu", device)
    monkeypatch.setattr(gpu, "is_present", lambda: device is not None)


class Narrow(Emulated):
    """A GPU that has no room for anything."""

    def lacks(self, shape: Shape) -> str:
        return "d = 1"


@pytest.mark.parametrize(
    ("device", "users", "reason"),
    [
        (Full, 10, "the fastest that can run it now: engine 'gpu' has no memory left"),
        (Narrow, 10, "the fastest that can run it"),
        (Emulated, 9, "the fastest that can run it"),  # each is served slowly
    ],
)
def test_auto_goes_to_the_processor_where_a_gpu_is_no_help(
    monkeypatch, device: Any, users: int, reason: str
) -> None:
    auto_finds(monkeypatch, device)
    env = small_environment(users=users)
    result = simulate(env, LinUCB(), rounds=3, threads=1)
    assert result.engine == "cpu"
    assert result.engine_reason.startswith(reason)
    expected = simulate(env, LinUCB(), rounds=3, engine="loop")
    assert np.array_equal(result.tally.appearances, expected.tally.appearances)
    if device is not Emulated:
        with pytest.raises(ValueError, match=r"has no memory left|does not support d ="):
            simulate(env, LinUCB(), rounds=3, engine="gpu")


@pytest.mark.parametrize(
    ("wanted", "options", "said"),
    [
        (("no environment", LinUCB()), {}, "env must be an Environment"),
        ((small_environment(), "linucd"), {}, "policy must be one of .* mean 'linucb'"),
        ((small_environment(), LinUCB(), 1.5), {}, "seed must be a whole number"),
        ((small_environment(), LinUCB()), {"rounds": 0}, "rounds must be at least 1"),
        ((small_environment(), LinUCB()), {"rounds": 2.5}, "rounds must be a whole number"),
        ((small_environment(), LinUCB()), {"precision": "float16"}, r"did you mean 'float(32|64)'"),
    ],
)
def test_runs_together_are_checked_as_one_is(wanted: Any, options: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        simulate_together([Wanted(*wanted)], **{"rounds": 3} | options)
    assert simulate_together([], rounds=3) == []


@needs_compiler
def test_runs_together_are_those_of_simulate(monkeypatch) -> None:
    monkeypatch.setattr(gpu, "the_gpu", Emulated)
    env, told = small_environment(), []
    wanted = [Wanted(env, LinUCB(alpha=alpha), seed) for alpha in (0.1, 1.0) for seed in (0, 1)]
    results = simulate_together(wanted, rounds=6, checkpoints=2, progress=told.append)
    assert told[-1] == 1.0
    for (environment, policy, seed), result in zip(wanted, results, strict=True):
        alone = simulate(environment, policy, rounds=6, checkpoints=2, seed=seed, engine="loop")
        assert np.array_equal(result.tally.appearances, alone.tally.appearances)
        assert result.engine_reason == "4 together: emulated GPU, float64"
        assert result.seconds > 0
    with pytest.raises(ValueError, match="engine 'gpu' does not support policy 'optimal'"):
        simulate_together([Wanted(env, Optimal())], rounds=2)


@pytest.mark.parametrize(
    ("engine", "precision", "said"),
    [
        ("warp", "float64", "engine must be one of cpu, gpu, got 'warp'"),
        ("cpu", "float32", "precision must be float64, or float32 on a GPU, got 'float32'"),
        ("gpu", "float16", "precision must be float64, or float32 on a GPU, got 'float16'"),
    ],
)
def test_what_cannot_be_measured_is_refused(engine: str, precision: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_engine(engine, precision)
