"""E-step of sequential models: who looked at what below the last click."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from faircascade.fitting.tails import Tails
from faircascade.types import Floats

_COMPILED_CELLS = 1 << 20
"""From so many positions below last clicks on, the compiled E-step is worth loading."""
_LANES = 8
"""Parts that are summed up separately, so that the sum is the same for any number of threads."""


class Going(NamedTuple):
    """How likely users go on; heads and positions have a last element of 1, for no click."""

    ignored: float
    """From a position that was not clicked."""
    heads: Floats
    """After a click, by what was clicked, (h + 1,)."""
    positions: Floats
    """Times this, by position, (K + 1,)."""


class Expectation(NamedTuple):
    """Expected numbers below last clicks, given all clicks."""

    log_likelihood: float
    examined: Floats
    """Looks at positions, by entry, (m,)."""
    entered: Floats
    """Last clicks after which users went on, by what was clicked, (h,)."""
    entered_at: Floats
    """The same by position, (K,)."""
    went_on: float
    """Times that users went on from a position that was not clicked."""
    stopped: float
    """And that they did not, though there was another one."""


def expect(tails: Tails, attraction: Floats, going: Going) -> Expectation:
    """Return what happened below last clicks."""
    if tails.cells < _COMPILED_CELLS:
        return expect_slowly(tails, attraction, going)
    m, h, k = len(attraction), len(going.heads), len(going.positions)
    groups = list(tails.groups(_COMPILED_CELLS >> 4))
    group_sums = _kernels().expect_group

    def lane(number: int) -> tuple[Floats, ...]:
        out = np.zeros(m), np.zeros(h), np.zeros(k), np.zeros(3)
        for group in groups[number::_LANES]:
            group_sums(*group, attraction, going.ignored, going.heads, going.positions, out)
        return out

    with ThreadPoolExecutor(min(_LANES, os.cpu_count() or 1)) as threads:
        parts = list(threads.map(lane, range(_LANES)))
    examined, entered, entered_at, sums = (sum(some) for some in zip(*parts, strict=True))
    likelihood, went_on, stopped = sums.tolist()
    return Expectation(likelihood, examined, entered[1:], entered_at[1:], went_on, stopped)


@cache
def _kernels() -> Any:
    """Load compiled code when it is first needed, by name: the service imports environments, and
    these import fits, but no server should load a compiler."""
    return import_module("faircascade.fitting.chain_kernels")


def expect_slowly(tails: Tails, attraction: Floats, going: Going) -> Expectation:
    """Return what happened below last clicks, by forward-backward over each tail.

    T_j is the probability of no click from position j of a tail on, for users who look at it:
    T_j = (1 - w_j) (1 - c + c T_(j+1)), with c the probability of going on, and 1 after the end.
    Users who did not click below went on with probability g T_0 / (1 - g + g T_0).
    """
    m, h, k = len(attraction), len(going.heads), len(going.positions)
    examined, entered, entered_at = np.zeros(m), np.zeros(h), np.zeros(k)
    likelihood = went_on = stopped = 0.0
    for group in tails.groups():
        w = attraction[group.tails]  # (L, n)
        ignored = 1.0 - w
        g = going.heads[group.heads] * going.positions[group.positions]
        quiet = _quiet(ignored, going.ignored)  # (L + 1, n)
        total = 1.0 - g + g * quiet[0]
        likelihood += float(group.weights @ np.log(total))
        came = group.weights * g / total  # times quiet[0]: that they went on
        looks = quiet[:-1]  # from here on: expected looks
        reach = came
        for place in range(len(w)):
            looks[place] *= reach
            if place + 1 < len(w):
                reach = reach * ignored[place]
                if going.ignored < 1.0:
                    stopped += (1.0 - going.ignored) * float(reach.sum())
                    reach = reach * going.ignored
        examined += np.bincount(group.tails.reshape(-1), looks.reshape(-1), minlength=m)
        entered += np.bincount(group.heads + 1, looks[0], minlength=h)
        entered_at += np.bincount(group.positions + 1, looks[0], minlength=k)
        went_on += float(looks[1:].sum())
    return Expectation(likelihood, examined, entered[1:], entered_at[1:], went_on, stopped)


def _quiet(ignored: Floats, going: float) -> Floats:
    """Return the probability of no click from each place of tails on, (L + 1, n)."""
    length, n = ignored.shape
    quiet = np.ones((length + 1, n))
    for place in range(length - 1, -1, -1):
        below = quiet[place + 1]
        if going < 1.0:
            below = below * going + (1.0 - going) if place + 1 < length else below
        np.multiply(ignored[place], below, out=quiet[place])
    return quiet
