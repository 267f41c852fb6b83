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
from faircascade.policies import LinUCB, Optimal, Random
from tests.engine.emulated import Emulated, compiler
from tests.worlds import small_world

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
            errorInsufficientDriver=35,
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
        (None, "needs CuPy, which is not here: pip install 'faircascade[gpu]'"),
        (fake_cupy(0), "finds no GPU; engine='cpu'"),
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
    assert text.endswith("engine='cpu' needs no GPU")
    assert "\n" not in text


def test_a_gpu_is_known_by_name_and_memory(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(1))
    found = devices.the_gpu()
    assert found.name == "Fake GPU"
    assert found.free_bytes() == 750
    with pytest.raises(NoGPU, match="no room for 200 features on this Fake GPU"):
        found.kernel(Shape.of(d=200, k=10, items=1000, precision="float64"))


def test_no_memory_left_is_one_line() -> None:
    class OutOfMemoryError(MemoryError):
        pass

    class Full(Emulated):
        def kernel(self, shape: Shape) -> Any:
            raise OutOfMemoryError("allocating 5 bytes")

    job = Job(env=small_world(), policy=LinUCB(), checkpoints=(5,), seed=0, threads=1)
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
    monkeypatch.setattr(simulation, "LONG", 0)
    monkeypatch.setattr(simulation, "SHORT", 0)
    monkeypatch.setattr(gpu, "the_gpu", Emulated)
    monkeypatch.setattr(gpu, "is_present", lambda: present)
    result = simulate(small_world(), policy, rounds=3)
    assert result.engine == taken
    assert result.engine_reason.startswith("the fastest that can run it")


@needs_compiler
def test_runs_together_are_those_of_simulate(monkeypatch) -> None:
    monkeypatch.setattr(gpu, "the_gpu", Emulated)
    env, told = small_world(), []
    wanted = [Wanted(env, LinUCB(alpha=alpha), seed) for alpha in (0.1, 1.0) for seed in (0, 1)]
    results = simulate_together(wanted, rounds=6, checkpoints=2, progress=told.append)
    assert told[-1] == 1.0
    for (world, policy, seed), result in zip(wanted, results, strict=True):
        alone = simulate(world, policy, rounds=6, checkpoints=2, seed=seed, engine="loop")
        assert np.array_equal(result.tally.appearances, alone.tally.appearances)
        assert result.engine_reason == "4 together: emulated GPU, float64"
        assert result.seconds > 0
    with pytest.raises(ValueError, match="engine 'gpu' has no policy 'optimal'"):
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
