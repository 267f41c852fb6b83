"""Compiled kernels, kept on disk for this machine and this version of the code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_name

from faircascade.storage import cache_folder

OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(
    function: Callable[..., Any], sources: Iterable[Path], **options: Any
) -> Callable[..., Any]:
    """Compile a function that Python calls, once for the source files that it depends on."""
    options = OPTIONS | options
    before = numba.config.CACHE_DIR
    try:
        folder = kernel_folder(sources, before)
        with NamedTemporaryFile(dir=folder):  # Numba would take another folder without a word
            pass
        numba.config.CACHE_DIR = str(folder)
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except OSError:  # nowhere to write
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def kernel_folder(sources: Iterable[Path], given: str = "") -> Path:
    """Make and return the folder for exactly these sources, Python, Numba and processor.

    Numba itself looks at the date of one file only.
    """
    versions = (numba.__version__, sys.implementation.cache_tag, get_host_cpu_name())
    digest = blake2b(" ".join(versions).encode(), digest_size=8)
    for file in sources:
        digest.update(file.read_bytes())
    folder = Path(given or cache_folder() / "kernels") / digest.hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
