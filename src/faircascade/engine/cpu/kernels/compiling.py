"""How kernels are compiled: without Python's lock, without reference counts, cached on disk."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name
from numba import njit

from faircascade.storage import cache_folder

_OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,  # kernels allocate nothing; counting references took a third of their time
}
SOURCES = (
    "random",
    "numerics",
    "ranking",
    "metrics.tally",
    "engine.cpu.records",
    "engine.cpu.table_records",
    "engine.cpu.topical_records",
    "exploration.indices",
    "estimators.toprank",
    "engine.cpu.click_numbers",
    "clicks.sequential",
    "observations.base",
    "rerankers.ledger",
)
"""Modules outside this package whose functions and constants are compiled in."""

log = logging.getLogger("faircascade")

part: Callable[..., Any] = njit(**_OPTIONS)
"""Part of a kernel."""
inlined: Callable[..., Any] = njit(inline="always", **_OPTIONS)
"""Part of a kernel that is inlined wherever it is called."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, once for this machine and this version of the code."""
    before = numba.config.CACHE_DIR
    try:
        folder = kernel_folder(before)
        with NamedTemporaryFile(dir=folder):  # Numba would take another folder without a word
            pass
        numba.config.CACHE_DIR = str(folder)
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except OSError:  # nowhere to write
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def announce(compiled: Any) -> None:
    """Say that a kernel is going to be compiled, if it is."""
    if compiled.signatures or is_kept(compiled):
        return
    folder = compiled.stats.cache_path
    _note("there is no folder to keep it in" if folder is None else f"once; kept in {folder}")


@cache
def _note(kept: str) -> None:
    """Say it once, however many kernels there are."""
    log.warning("Compiling the cpu engine: up to a minute, %s.", kept)


def is_kept(compiled: Any) -> bool:
    """Say whether a kernel has been compiled before and can be loaded."""
    folder = compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{compiled.__name__}-*.nbi"))


def kernel_folder(given: str = "") -> Path:
    """Make and return the folder for exactly this code, Python, Numba and processor.

    Numba itself looks at the date of one file only, and the kernels are in several.
    """
    versions = (numba.__version__, sys.implementation.cache_tag, get_host_cpu_name())
    digest = blake2b(" ".join(versions).encode(), digest_size=8)
    files = sorted(Path(__file__).parent.glob("*.py"))
    for name in SOURCES:
        spec = find_spec(f"faircascade.{name}")
        if spec is not None and spec.origin is not None:
            files.append(Path(spec.origin))
    for file in files:
        digest.update(file.read_bytes())
    folder = Path(given or cache_folder() / "kernels") / digest.hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
