"""faircascade doctor: what is here, what is missing, and how to get it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Annotated, Any

import typer

from faircascade.cli.console import print_json, print_table
from faircascade.installation import install_command

_OPTIONAL = {
    "pandas": ("pandas DataFrames, in and out", ""),
    "polars": ("polars DataFrames, in and out", ""),
    "ray": ("experiments on a cluster", "ray"),
    "optuna": ("`faircascade tune`", "tune"),
    "mlflow-skinny": ("`--mlflow`", "mlflow"),
    "fastapi": ("`faircascade serve`", "serve"),
    "redis": ("several services on one Redis", "serve"),
    "asyncpg": ("services on PostgreSQL", "postgres"),
    "opentelemetry-exporter-otlp-proto-http": ("`faircascade serve --traces`", "otel"),
    "httpx": ("`fc.Client`", "client"),
    "FairDynamicRec": ("comparison with the authors' package", "peers"),
}
"""What packages are for, and the extra that each belongs to, if any."""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check the installation: versions, folders, what is missing."""
    found = examine()
    if as_json:
        print_json(found)
    else:
        rows = [[key, str(value)] for key, value in found["machine"].items()]
        rows += [[p["name"], p["version"] or "not installed"] for p in found["packages"]]
        print_table(["What", "Found"], rows)
        for problem in found["problems"]:
            typer.echo(f"Problem: {problem}")
        for hint in found["optional"]:
            typer.echo(f"Optional: {hint}")
        if not found["problems"]:
            typer.echo("Everything that faircascade needs is installed.")
    if found["problems"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Return what was found as plain data."""
    import numpy as np
    from threadpoolctl import threadpool_info

    from faircascade.cores import cores
    from faircascade.storage import cache_folder

    np.ones((2, 2)) @ np.ones((2, 2))  # makes NumPy load its BLAS
    blas = sorted({f"{lib['internal_api']} {lib['version']}" for lib in threadpool_info()})
    cache = cache_folder()
    packages = [{"name": name, "version": _version(name)} for name in ["faircascade", *_needed()]]
    problems = [
        f"{p['name']} is not installed: pip install {p['name']}"
        for p in packages
        if p["version"] is None
    ]
    parent = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if not os.access(parent, os.W_OK):
        problems.append(
            f"the cache folder {cache} cannot be written: set FAIRCASCADE_CACHE to one that can"
        )
    return {
        "machine": {
            "python": f"{platform.python_version()} ({sys.executable})",
            "platform": platform.platform(),
            "threads": cores(),
            "blas": ", ".join(blas) or "none found",
            "cache folder": str(cache),
            "cpu engine": _engine(),
            "gpu engine": _gpu(),
            "cached data": ", ".join(sorted(p.name for p in cache.glob("*.zip"))) or "none",
        },
        "packages": packages,
        "problems": problems,
        "optional": [
            f"{name} is not installed ({what}): "
            + (install_command(extra) if extra else f"pip install {name}")
            for name, (what, extra) in _OPTIONAL.items()
            if _version(name) is None
        ],
    }


def _engine() -> str:
    """Tell whether the compiled engine is ready."""
    from faircascade.engine.cpu.kernels.bandit import serve_bandit
    from faircascade.engine.cpu.kernels.compiling import is_kept

    if not hasattr(serve_bandit, "stats"):
        return "switched off (NUMBA_DISABLE_JIT is set)"
    return "compiled" if is_kept(serve_bandit) else "compiles on first use (up to a minute)"


def _gpu() -> str:
    """Name the GPU, or tell what is missing."""
    from faircascade.engine.gpu.device import NoGPU, the_gpu

    try:
        return the_gpu().name
    except NoGPU as error:
        return f"none: {error}"


def _needed() -> list[str]:
    """Return the names of the packages that faircascade depends on."""
    lines = requires("faircascade") or []
    plain = [line for line in lines if "extra ==" not in line]
    return [line.split(">")[0].split("=")[0].split(";")[0].strip() for line in plain]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
