"""How kernels are compiled: without Python's lock, without reference counts, cached on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba import njit

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
        numba.config.CACHE_DIR = before or str(_cache_folder())
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except (RuntimeError, OSError):  # nowhere to write
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def announce(kernel: Any) -> None:
    """Say that a kernel is going to be compiled, if it is."""
    if kernel.signatures:
        return
    folder = kernel.stats.cache_path
    if folder is None:
        log.warning("Compiling the cpu engine (about 15 s; there is no folder to keep it in).")
    elif not any(Path(folder).glob(f"*.{kernel.__name__}-*.nbi")):
        log.warning("Compiling the cpu engine: about 15 s, once; kept in %s.", folder)


def _cache_folder() -> Path:
    """Return a folder that belongs to this very code: Numba looks at one file's date only."""
    digest = blake2b(numba.__version__.encode(), digest_size=8)
    files = sorted(Path(__file__).parent.glob("*.py"))
    for name in _SOURCES:
        spec = find_spec(f"faircascade.{name}")
        if spec is not None and spec.origin is not None:
            files.append(Path(spec.origin))
    for file in files:
        digest.update(file.read_bytes())
    return Path(platformdirs.user_cache_dir("faircascade")) / "kernels" / digest.hexdigest()
