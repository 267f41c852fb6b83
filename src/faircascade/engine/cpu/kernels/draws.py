"""The library's draws inside compiled code: the same functions as in `faircascade.random`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from faircascade import random

__all__ = ["absorb", "gumbel", "normal_pair", "uniform"]

for _function in (random.mix, random.ln, random._cos_sin):
    register_jitable(_function)
absorb = register_jitable(random.absorb)
uniform = register_jitable(random.uniform)
normal_pair = register_jitable(random.normal_pair)
gumbel = register_jitable(random.gumbel)


@overload(np.frexp, strict=False)
def _frexp(x: Any) -> Any:
    return (lambda x: math.frexp(x)) if isinstance(x, types.Float) else None
