"""The E-step of sequential models, compiled: the same numbers as `expectation.expect_slowly`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import njit

from faircascade.storage import cache_folder

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function once for this machine and this version of the code."""
    before = numba.config.CACHE_DIR
    try:
        versions = (numba.__version__, sys.implementation.cache_tag, get_host_cpu_name())
        digest = blake2b(" ".join(versions).encode(), digest_size=8)
        digest.update(Path(__file__).read_bytes())
        folder = Path(before or cache_folder() / "kernels") / digest.hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        numba.config.CACHE_DIR = str(folder)
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except OSError:  # nowhere to write
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


@compiled
def expect_group(tails, heads, positions, weights, w, ignored, of_entries, of_places, out):
    """Add what happened in tails (L, n) to the sums of `out`."""
    examined, entered, entered_at, sums = out
    length, n = tails.shape
    quiet = np.ones(length + 1)
    for i in range(n):
        for place in range(length - 1, -1, -1):
            below = quiet[place + 1]
            if place + 1 < length:
                below = below * ignored + (1.0 - ignored)
            quiet[place] = (1.0 - w[tails[place, i]]) * below
        going = of_entries[heads[i]] * of_places[positions[i]]
        total = 1.0 - going + going * quiet[0]
        sums[0] += weights[i] * np.log(total)
        reach = weights[i] * going / total
        entered[heads[i] + 1] += reach * quiet[0]
        entered_at[positions[i] + 1] += reach * quiet[0]
        for place in range(length):
            looks = reach * quiet[place]
            examined[tails[place, i]] += looks
            if place > 0:
                sums[1] += looks
            if place + 1 < length:
                reach *= 1.0 - w[tails[place, i]]
                sums[2] += (1.0 - ignored) * reach
                reach *= ignored
