"""How kernels are compiled: without Python's lock, without reference counts, cached on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba import njit

from faircascade.kernel_cache import OPTIONS, compiled

_OPTIONS = {
    **OPTIONS,
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
    return compiled(function, sources(), **_OPTIONS)


def sources() -> list[Path]:
    """Return the files that kernels are compiled from."""
    specs = [find_spec(f"faircascade.{name}") for name in SOURCES]
    outside = [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]
    return [*sorted(Path(__file__).parent.glob("*.py")), *outside]


def announce(function: Any) -> None:
    """Say that a kernel is going to be compiled, if it is."""
    if function.signatures or is_kept(function):
        return
    folder = function.stats.cache_path
    _note("there is no folder to keep it in" if folder is None else f"once; kept in {folder}")


@cache
def _note(kept: str) -> None:
    """Say it once, however many kernels there are."""
    log.warning("Compiling the cpu engine: up to a minute, %s.", kept)


def is_kept(function: Any) -> bool:
    """Say whether a kernel has been compiled before and can be loaded."""
    folder = function.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{function.__name__}-*.nbi"))
