"""The GPU: how it is found, its memory, and its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from faircascade.engine.gpu.source import LANES, WARPS, Shape, cuda_words, source_of
from faircascade.installation import install_command

MOST_BLOCKS = {"float64": (4, 3), "float32": (6, 3)}
"""Blocks of a multiprocessor that share its registers at most, with few features and with many."""
FEWEST_BLOCKS = 2
"""Fewer than these would leave registers unused."""
FEW_FEATURES = 16
INSTEAD = "the cpu engine needs no GPU"
INSUFFICIENT_DRIVER = 35
"""CUDA's number for a driver that is missing or too old, for which CuPy has no name."""


class Kernel(Protocol):
    """A compiled kernel."""

    warps: int
    """How many warps run at the same time."""

    def serve(self, warps: int, arguments: Sequence[Any]) -> None:
        """Let this many warps, a multiple of a block's, serve users until all are served."""

    def add_up(self, cells: Any, count: int, rounds: int) -> None:
        """Add up what happened in each round of each cell."""


class Device(Protocol):
    """Where kernels run."""

    name: str
    xp: Any
    """Makes arrays there: CuPy, or NumPy."""

    def lacks(self, shape: Shape) -> str:
        """Return which limit a shape of problem exceeds, or nothing."""

    def kernel(self, shape: Shape, users: int) -> Kernel:
        """Return the kernel for a shape of problem and so many users, compiled now or before."""

    def free_bytes(self) -> int:
        """Return how much memory is left."""

    def use(self) -> None:
        """Make this the device of the current thread."""

    def release(self) -> None:
        """Release cached memory."""


class NoGPU(ValueError):  # noqa: N818 (it is what is missing that it names)
    """No usable GPU; the message says why, and what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; {INSTEAD}")
        self.why = why


class Cuda:
    """A GPU through CuPy."""

    def __init__(self) -> None:
        self.xp = _cupy()
        self._device = self.xp.cuda.Device()
        properties = self.xp.cuda.runtime.getDeviceProperties(self._device.id)
        self.name = properties["name"].decode()
        self._multiprocessors = properties["multiProcessorCount"]
        self._shared = properties["sharedMemPerBlockOptin"]
        self._kernels: dict[tuple[Shape, int], Kernel] = {}

    def lacks(self, shape: Shape) -> str:
        if shape.bytes_of_block <= self._shared:
            return ""
        return (
            f"d = {shape.d} with K = {shape.k} on this {self.name} "
            f"(it takes {shape.bytes_of_block:,} bytes of shared memory, there are "
            f"{self._shared:,})"
        )

    def kernel(self, shape: Shape, users: int) -> Kernel:
        lacking = self.lacks(shape)
        if lacking:
            raise NoGPU(f"engine 'gpu' does not support {lacking}")
        blocks = blocks_for(shape, users, self._multiprocessors)
        if (shape, blocks) not in self._kernels:
            self._kernels[shape, blocks] = self._compile(shape, blocks)
        return self._kernels[shape, blocks]

    def _compile(self, shape: Shape, blocks: int) -> Kernel:
        try:
            return CudaKernel(self.xp, shape, blocks, self._multiprocessors)
        except Exception as error:  # each part of CuPy has a kind of its own
            if no_memory(error):
                raise
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise NoGPU(
                f"engine 'gpu' cannot compile for this {self.name}: {why[0]}; NVRTC comes with "
                f"{install_command('gpu')}"
            ) from error

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        free, _ = self.xp.cuda.runtime.memGetInfo()
        return int(free) + int(pool.free_bytes())

    def use(self) -> None:
        self._device.use()

    def release(self) -> None:
        self.xp.get_default_memory_pool().free_all_blocks()


def blocks_for(shape: Shape, users: int, multiprocessors: int) -> int:
    """Return how many blocks of a multiprocessor share its registers.

    No more than so many users need: the fewer blocks, the more registers for each, and the less
    is moved to memory and back. Results are the same.
    """
    needed = -(-users // (multiprocessors * WARPS))
    most = MOST_BLOCKS[shape.precision][shape.d > FEW_FEATURES]
    return min(most, max(FEWEST_BLOCKS, needed))


class CudaKernel:
    """A kernel that CuPy compiled; it keeps what it compiled in a folder of its own."""

    def __init__(self, xp: Any, shape: Shape, blocks: int, multiprocessors: int) -> None:
        exact = shape.precision == "float64"
        text = f"#define BLOCKS {blocks}\n" + source_of(shape, cuda_words())
        options = ("--std=c++17", *(["--fmad=false"] if exact else []))
        module = xp.RawModule(code=text, options=options)
        self._serve = module.get_function("serve_bandits")
        self._add_up = module.get_function("add_up_rounds")
        self._shared = shape.bytes_of_block
        self._serve.max_dynamic_shared_size_bytes = self._shared
        self._stream = xp.cuda.get_current_stream
        fit = xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self._serve.kernel.ptr, WARPS * LANES, self._shared
        )
        self.warps = multiprocessors * max(1, fit) * WARPS

    def serve(self, warps: int, arguments: Sequence[Any]) -> None:
        shared = self._shared
        self._serve((warps // WARPS,), (WARPS * LANES,), tuple(arguments), shared_mem=shared)
        self._stream().synchronize()

    def add_up(self, cells: Any, count: int, rounds: int) -> None:
        blocks = min(rounds, self.warps) // WARPS + 1
        sizes = (np.int32(count), np.int32(rounds))
        self._add_up((blocks,), (WARPS * LANES,), (cells, *sizes))
        self._stream().synchronize()


@cache
def the_gpu() -> Device:
    """Return the GPU of this machine, or say why there is none."""
    return Cuda()


def is_present() -> bool:
    """Say whether there is a usable GPU."""
    if find_spec("cupy") is None:
        return False
    try:
        the_gpu()
    except Exception:  # whatever is wrong with it, nobody asked for it
        return False
    return True


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        how = f"{install_command('gpu')} (CUDA 13) or pip install cupy-cuda12x"
        here = find_spec("cupy") is not None
        what = f"which cannot be imported ({error}): again" if here else "which is not here:"
        raise NoGPU(f"engine 'gpu' needs CuPy, {what} {how}") from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NoGPU(f"engine 'gpu' finds no GPU: {_why(cupy, error)}") from error
    if count == 0:
        raise NoGPU("engine 'gpu' finds no GPU")
    return cupy


def _why(cupy: Any, error: Any) -> str:
    """Return what is wrong with the driver in words that help."""
    if error.status == INSUFFICIENT_DRIVER:
        version = cupy.cuda.runtime.runtimeGetVersion() // 1000
        return (
            f"its driver is missing, or too old for CUDA {version} (nvidia-smi tells): update it, "
            "or install the CuPy of an older CUDA"
        )
    return str(error)


def no_memory(error: Exception) -> bool:
    """Say whether an error means that the device is out of memory."""
    return type(error).__name__ == "OutOfMemoryError"
