"""On what was measured: processor, cores, versions, date."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from faircascade.cores import cores
from faircascade.version import __version__

_PACKAGES = ("numpy", "numba", "cupy-cuda12x", "cupy-cuda13x")


def describe_machine(*others: str | None, engine: str = "cpu") -> dict[str, Any]:
    """Return the machine, the date and the versions, also of other packages, as plain data."""
    machine = {"cpu": _processor(), "cores": cores(), "platform": platform.platform()}
    if engine == "gpu":
        from faircascade.engine.gpu.device import the_gpu

        machine["gpu"] = the_gpu().name
    return {
        "machine": machine,
        "date": date.today().isoformat(),
        "versions": versions(*others),
    }


def platform_versions() -> dict[str, str]:
    """Return the versions and the kind of processor."""
    return {**versions(), "machine": platform.machine()}


def versions(*others: str | None) -> dict[str, str]:
    """Return the versions that results can depend on, also of other packages."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *others):
        with suppress(PackageNotFoundError):
            found |= {package: version(package)} if package else {}
    return found | {"faircascade": __version__}


def _processor() -> str:
    """Return the processor's name, which Linux tells only in a file."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def peak_memory() -> int:
    """Return the largest resident memory that this process has had, in bytes.

    Linux hands `ru_maxrss` down from parent to child; the peak in /proc belongs to one program.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) * 1024
    import resource  # not on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
