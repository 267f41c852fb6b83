"""A `Device` on the processor: one warp, its lanes taking turns."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any

import numpy as np

from faircascade.engine.gpu.source import Shape, source_of

HERE = Path(__file__).parent
OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-Wall", "-Wextra")


def compiler() -> str | None:
    """Return a C++ compiler, if there is one."""
    return shutil.which("g++") or shutil.which("clang++")


class Emulated:
    """A GPU of one warp."""

    name = "emulated GPU"
    xp = np

    def __init__(self, free: int = 2**40) -> None:
        self.free = free
        self.launches = 0

    def lacks(self, shape: Shape) -> str:
        return ""

    def kernel(self, shape: Shape, users: int) -> EmulatedKernel:
        return EmulatedKernel(shape, self)

    def free_bytes(self) -> int:
        return self.free

    def use(self) -> None:
        pass

    def release(self) -> None:
        pass


class EmulatedKernel:
    """A kernel that the compiler of this machine has made."""

    warps = 1

    def __init__(self, shape: Shape, device: Emulated) -> None:
        self._device = device
        self.library = ctypes.CDLL(str(build(shape)))
        for name in ("bytes_of_desk", "bytes_of_job"):
            getattr(self.library, name).restype = ctypes.c_longlong

    def serve(self, warps: int, arguments: Sequence[Any]) -> None:
        self._device.launches += 1
        self.library.emulate(*map(as_c, arguments))

    def add_up(self, jobs: Any, count: int, rounds: int) -> None:
        self.library.emulate_adding(as_c(jobs), count, rounds)


def as_c(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_longlong(int(value)) if isinstance(value, np.int64) else int(value)


@cache
def build(shape: Shape) -> Path:
    """Compile a kernel unless that was done before; return the library."""
    entry = (HERE / "entry.h").read_text(encoding="utf-8")
    words = f"#define BYTES_OF_BLOCK {shape.bytes_of_block}\n"
    words += (HERE / "warp.h").read_text(encoding="utf-8")
    text = source_of(shape, words) + entry
    name = blake2b(text.encode(), digest_size=8).hexdigest()
    library = Path(gettempdir()) / f"faircascade-emulated-{name}.so"
    if not library.exists():
        with NamedTemporaryFile(dir=gettempdir(), suffix=".so", delete=False) as file:
            found = compiler()
            assert found is not None
            subprocess.run(
                [found, *OPTIONS, "-x", "c++", "-", "-o", file.name],
                input=text,
                text=True,
                check=True,
            )
            Path(file.name).replace(library)
    return library
