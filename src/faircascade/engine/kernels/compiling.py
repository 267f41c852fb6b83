"""How kernels are compiled: without Python's lock, without reference counts, cached on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba
from numba import njit

from faircascade.storage import cache_folder

_OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # kernels allocate nothing; counting references took a third of their time
}
_SOURCES = ("random", "numerics", "ranking", "metrics.tally")
"""Modules outside this package whose functions and constants are compiled in."""

log = logging.getLogger("faircascade")

inner: Callable[..., Any] = njit(**_OPTIONS)
"""Part of a kernel."""
inlined: Callable[..., Any] = njit(inline="always", **_OPTIONS)
"""Part of a kernel that is worth repeating wherever it is called."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, once for this machine and this version of the code."""
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = before or str(kernel_folder())
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # nowhere to write
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def announce(kernel: Any) -> None:
    """Say that a kernel is going to be compiled, if it is."""
    if kernel.signatures or is_kept(kernel):
        return
    folder = kernel.stats.cache_path
    kept = "there is no folder to keep it in" if folder is None else f"once; kept in {folder}"
    log.warning("Compiling the cpu engine: about 15 s, %s.", kept)


def is_kept(kernel: Any) -> bool:
    """Say whether a kernel has been compiled before and can be loaded."""
    folder = kernel.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{kernel.__name__}-*.nbi"))


def kernel_folder() -> Path:
    """Return a folder that belongs to this very code: Numba looks at one file's date only."""
    digest = blake2b(numba.__version__.encode(), digest_size=8)
    files = sorted(Path(__file__).parent.glob("*.py"))
    for name in _SOURCES:
        spec = find_spec(f"faircascade.{name}")
        if spec is not None and spec.origin is not None:
            files.append(Path(spec.origin))
    for file in files:
        digest.update(file.read_bytes())
    return cache_folder() / "kernels" / digest.hexdigest()
