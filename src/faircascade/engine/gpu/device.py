"""The GPU: found, asked for its memory, and given a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from faircascade.engine.gpu.source import LANES, WARPS, Shape, cuda_words, source_of

BLOCKS = {"float64": (4, 3), "float32": (6, 3)}
"""Blocks of a multiprocessor that registers are shared out for, with few features and with many."""
FEW_FEATURES = 16
INSTEAD = "engine='cpu' needs no GPU"


class Kernel(Protocol):
    """A compiled kernel."""

    warps: int
    """How many warps run at the same time."""

    def serve(self, warps: int, arguments: Sequence[Any]) -> None:
        """Let so many warps serve users until all are served; a multiple of a block's."""

    def add_up(self, cells: Any, count: int, rounds: int) -> None:
        """Add up what happened in each round of each cell."""


class Device(Protocol):
    """Where kernels run."""

    name: str
    xp: Any
    """Makes arrays there: CuPy, or NumPy."""

    def kernel(self, shape: Shape) -> Kernel:
        """Return the kernel for a shape of problem, compiled now or before."""

    def free_bytes(self) -> int:
        """Return how much memory is left."""


class NoGPU(ValueError):  # noqa: N818 (it is what is missing that it names)
    """There is no GPU that can be used; the text says why, and what to do."""


class Cuda:
    """A GPU through CuPy."""

    def __init__(self) -> None:
        self.xp = _cupy()
        device = self.xp.cuda.Device()
        properties = self.xp.cuda.runtime.getDeviceProperties(device.id)
        self.name = properties["name"].decode()
        self._multiprocessors = properties["multiProcessorCount"]
        self._shared = properties["sharedMemPerBlockOptin"]
        self._kernels: dict[Shape, Kernel] = {}

    def kernel(self, shape: Shape) -> Kernel:
        if shape.bytes_of_block > self._shared:
            raise NoGPU(
                f"engine 'gpu' has no room for {shape.d} features on this {self.name}; {INSTEAD}"
            )
        if shape not in self._kernels:
            self._kernels[shape] = CudaKernel(self.xp, shape, self._multiprocessors)
        return self._kernels[shape]

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free) + int(pool.free_bytes())


class CudaKernel:
    """A kernel that CuPy compiled; it keeps what it compiled in a folder of its own."""

    def __init__(self, xp: Any, shape: Shape, multiprocessors: int) -> None:
        exact = shape.precision == "float64"
        blocks = BLOCKS[shape.precision][shape.d > FEW_FEATURES]
        text = f"#define BLOCKS {blocks}\n" + source_of(shape, cuda_words())
        options = ("--std=c++17", *(["--fmad=false"] if exact else []))
        module = xp.RawModule(code=text, options=options)
        self._serve = module.get_function("serve_bandits")
        self._add_up = module.get_function("add_up_rounds")
        self._shared = shape.bytes_of_block
        self._serve.max_dynamic_shared_size_bytes = self._shared
        self._wait = xp.cuda.get_current_stream().synchronize
        fit = xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self._serve.kernel.ptr, WARPS * LANES, self._shared
        )
        self.warps = multiprocessors * max(1, fit) * WARPS

    def serve(self, warps: int, arguments: Sequence[Any]) -> None:
        shared = self._shared
        self._serve((warps // WARPS,), (WARPS * LANES,), tuple(arguments), shared_mem=shared)
        self._wait()

    def add_up(self, cells: Any, count: int, rounds: int) -> None:
        blocks = min(rounds, self.warps) // WARPS + 1
        sizes = (np.int32(count), np.int32(rounds))
        self._add_up((blocks,), (WARPS * LANES,), (cells, *sizes))
        self._wait()


@cache
def the_gpu() -> Device:
    """Return the GPU of this machine, or say why there is none."""
    return Cuda()


def is_present() -> bool:
    """Say whether there is a GPU that can be used, without a word if there is none."""
    if find_spec("cupy") is None:
        return False
    try:
        the_gpu()
    except NoGPU:
        return False
    return True


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise NoGPU(
            "engine 'gpu' needs CuPy, which is not here: pip install 'faircascade[gpu]' "
            f"(CUDA 13) or cupy-cuda12x; {INSTEAD}"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NoGPU(f"engine 'gpu' finds no GPU: {_why(cupy, error)}; {INSTEAD}") from error
    if count == 0:
        raise NoGPU(f"engine 'gpu' finds no GPU; {INSTEAD}")
    return cupy


def _why(cupy: Any, error: Any) -> str:
    """Return what is wrong with the driver in words that help."""
    if error.status == cupy.cuda.runtime.errorInsufficientDriver:
        version = cupy.cuda.runtime.runtimeGetVersion() // 1000
        return (
            f"its driver is missing, or too old for CUDA {version} (nvidia-smi tells): update it, "
            "or install the CuPy of an older CUDA"
        )
    return str(error)


def no_memory(error: Exception) -> bool:
    """Say whether an error is that the device's memory is used up."""
    return type(error).__name__ == "OutOfMemoryError"
