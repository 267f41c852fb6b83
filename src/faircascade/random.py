"""Random draws that are a function of where they are used, never of who drew before.

A draw is the hash of (seed, purpose, user, round, item): three rounds of a 64-bit mixer. Every
policy therefore meets the same users, and results do not depend on the order of items, users,
threads or machines. `mix`, `absorb`, `uniform`, `normal_pair`, `gumbel` and `ln` are plain
arithmetic on words and floats (no library's sine or logarithm, which differ in the last bit from
one to the next), so that compiled engines use these very functions and get the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from math import factorial, log, pi
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_TO_53_BITS = np.uint64(11)
_UNIT = np.float64(2.0**-53)
_LOG_2 = log(2.0)
_HALF_ROOT = 0.5**0.5
_LOG_SERIES = tuple(1.0 / n for n in range(21, 1, -2))  # log f = 2 s (1 + s^2/3 + s^4/5 + ...)
_SIN_SERIES = tuple((-1.0) ** n / factorial(2 * n + 1) for n in range(9, 0, -1))
_COS_SERIES = tuple((-1.0) ** n / factorial(2 * n) for n in range(9, 0, -1))


def mix(word: Words) -> Words:
    """A bijection of 64-bit words in which every input bit changes about half of the output."""
    word = (word ^ (word >> _SHIFTS[0])) * _MULTIPLIER_1
    word = (word ^ (word >> _SHIFTS[1])) * _MULTIPLIER_2
    return word ^ (word >> _SHIFTS[2])


def absorb(state: Words, word: Words) -> Words:
    """Fold one more word into a hash; both broadcast."""
    return mix((state ^ word) + _STEP)


def uniform(word: Words) -> NDArray[np.float64]:
    """Map words to floats in [0, 1), 53 bits each."""
    return (word >> _TO_53_BITS) * _UNIT


def normal_pair(radius: Words, angle: Words) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Map two words to two independent standard normals (Box and Muller)."""
    length = np.sqrt(-2.0 * ln(1.0 - uniform(radius)))
    cosine, sine = _cos_sin(uniform(angle))
    return length * cosine, length * sine


def gumbel(word: Words) -> Any:
    """Map words to standard Gumbel draws, between -3.7 and 36.8."""
    u = uniform(word)
    u = u + _UNIT * (u < _UNIT)  # so that no logarithm is of 0
    return -ln(-ln(1.0 - u))


def ln(y: Any) -> Any:
    """Return the natural logarithm of y > 0."""
    fraction, exponent = np.frexp(y)
    small = fraction < _HALF_ROOT
    fraction = fraction + fraction * small  # now in [sqrt(1/2), sqrt(2))
    s = (fraction - 1.0) / (fraction + 1.0)
    square = s * s
    series = 0.0 * s
    for coefficient in _LOG_SERIES:
        series = series * square + coefficient
    return (exponent - 1.0 * small) * _LOG_2 + 2.0 * s * (1.0 + square * series)


def _cos_sin(turn: Any) -> tuple[Any, Any]:
    """Return cosine and sine of an angle in turns, [0, 1)."""
    quarter = np.floor(4.0 * turn + 0.5)
    x = 2.0 * pi * (turn - 0.25 * quarter)  # within an eighth of a turn
    square = x * x
    sine, cosine = 0.0 * x, 0.0 * x
    for coefficient in _SIN_SERIES:
        sine = (sine + coefficient) * square
    for coefficient in _COS_SERIES:
        cosine = (cosine + coefficient) * square
    sine, cosine = x + x * sine, 1.0 + cosine
    odd = quarter - 2.0 * np.floor(0.5 * quarter)
    sign = 1.0 - 2.0 * (np.floor(0.5 * quarter) - 2.0 * np.floor(0.25 * quarter))
    even = 1.0 - odd
    return sign * (even * cosine - odd * sine), sign * (even * sine + odd * cosine)


def key_of(identity: object) -> int:
    """Return the stable 64-bit key of a user or item id: a hash of its text."""
    return int.from_bytes(blake2b(str(identity).encode(), digest_size=8).digest(), "little")


def keys_of(identities: Iterable[object]) -> Words:
    """Return the keys of many ids, (n,)."""
    return np.fromiter((key_of(i) for i in identities), dtype=np.uint64)


@lru_cache(maxsize=256)
def _base(seed: int, purpose: str) -> Words:
    if not 0 <= seed < 2**128:
        raise ParameterError("seed", "must be between 0 and 2^128 - 1", seed)
    words = np.array([key_of(purpose), seed & 0xFFFFFFFFFFFFFFFF, seed >> 64], dtype=np.uint64)
    return absorb(absorb(words[:1], words[1:2]), words[2:])


def draws(seed: int, purpose: str, *where: Any) -> Words:
    """Hash (seed, purpose, where...) to 64-bit words; the parts of `where` broadcast.

    >>> a = draws(0, "attraction", [7], [1], [3, 4])
    >>> b = draws(0, "attraction", [7], [1], [4, 3])
    >>> bool(a[0] == b[1] and a[1] == b[0])
    True
    """
    state = _base(index(seed), purpose)
    for part in where:
        state = absorb(state, np.asarray(part, dtype=np.uint64))
    return state


def uniforms(seed: int, purpose: str, *where: Any) -> NDArray[np.float64]:
    """Draw uniforms in [0, 1) for (seed, purpose, where...)."""
    return uniform(draws(seed, purpose, *where))


def normals(seed: int, purpose: str, n: int, *where: Any) -> NDArray[np.float64]:
    """Draw n standard normals (last axis) for each place in `where`, in Box-Muller pairs."""
    pairs = (n + 1) // 2
    index = np.arange(pairs, dtype=np.uint64)
    where_ = tuple(np.asarray(part, dtype=np.uint64)[..., None] for part in where)
    radius = draws(seed, purpose + "/radius", *where_, index)
    angle = draws(seed, purpose + "/angle", *where_, index)
    both = np.stack(normal_pair(radius, angle), axis=-1)
    return both.reshape(*both.shape[:-2], 2 * pairs)[..., :n]
