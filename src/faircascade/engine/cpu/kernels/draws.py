"""The library's draws inside compiled code: the same functions as in `faircascade.random`."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from faircascade import random

__all__ = ["absorb", "gumbel", "normal_pair", "uniform"]

for _function in (random.mix, random.ln, random._cos_sin):
    register_jitable(_function)
absorb = register_jitable(random.absorb)
uniform = register_jitable(random.uniform)
normal_pair = register_jitable(random.normal_pair)
gumbel = register_jitable(random.gumbel)


_FRACTION = 2**52 - 1
_HALF = 1022 << 52


@intrinsic
def _split(typing: Any, x: Any) -> Any:
    """Return `frexp` of a positive number that is neither subnormal nor infinite, by its bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        bits = builder.bitcast(arguments[0], word)
        exponent = builder.sub(builder.lshr(bits, word(52)), word(1022))
        fraction = builder.or_(builder.and_(bits, word(_FRACTION)), word(_HALF))
        parts = (builder.bitcast(fraction, ir.DoubleType()), exponent)
        return cgutils.pack_struct(builder, parts)

    return types.Tuple((types.float64, types.int64))(types.float64), generate


@overload(np.frexp, strict=False)
def _frexp(x: Any) -> Any:
    """Take numbers as `random.ln` does; the C library's function would be a call for each."""
    return (lambda x: _split(x)) if isinstance(x, types.Float) else None
