"""Room for what kernels learn, count and compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu.records import (
    ITEMS,
    USERS,
    PackedEnvironment,
    Rules,
    Scratch,
    Shortlist,
    StepCounts,
    Sums,
    Tiers,
    Trace,
)
from faircascade.engine.job import Job
from faircascade.metrics.tally import BY_ROUND
from faircascade.types import Floats

SPARE = 22
"""How many more items than a slate has are at the front; rounded up to 16s."""
WIDER = 4
"""How many times larger each set is than the one before."""
LARGEST_SET = 2048
"""Items in a user's largest set; more memory does not pay."""


def zeros(*shape: int) -> Floats:
    """Return floats that begin on a cache line, so that lanes never straddle two."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8)
    skip = (-room.ctypes.data // 8) % 8
    return room[skip : skip + size].reshape(shape)


def filled(value: Any, *shape: int) -> Floats:
    """Return such floats with a value in them."""
    array = zeros(*shape)
    array[:] = value
    return array


def up(count: int, step: int) -> int:
    """Round up to a multiple."""
    return -(-count // step) * step


def start_sums(n: int, d: int, *, logistic: bool = False) -> Sums:
    """Return room for what is learned of users; lanes without a user stay 0."""
    groups, pairs = up(n, USERS) // USERS, d * (d + 1) // 2
    return Sums(
        M=zeros(groups, pairs * USERS),
        M_inv=zeros(groups, pairs * USERS),
        B=zeros(groups, 0 if logistic else d * USERS),
        theta=zeros(groups, d * USERS),
        updates=np.zeros((groups, USERS), dtype=np.int64),
        interval=np.ones((groups, USERS), dtype=np.int64),
    )


def set_sizes(front: int, items: int) -> list[int]:
    """Return how many items the nested sets between the front and all items have room for."""
    sizes = [WIDER * front]
    while WIDER * sizes[-1] <= min(LARGEST_SET, items // 2):
        sizes.append(WIDER * sizes[-1])
    return sizes


def start_shortlist(packed: PackedEnvironment, rules: Rules) -> Shortlist:
    """Return room for the items that slates come from: a front, and wider and wider sets."""
    front = up(rules.k + SPARE, ITEMS)
    room = set_sizes(front, len(packed.keys))
    return start_sets(packed, rules, packed.features.shape[1], front, room)


def start_sets(
    packed: PackedEnvironment, rules: Rules, d: int, front: int, room: list[int]
) -> Shortlist:
    """Return room for a front and some sets, which stay empty unless scoring is lazy."""
    n, d = (len(packed.preferences), d) if rules.lazy else (0, 1)
    groups, tiers = up(n, USERS) // USERS, len(room) + 1
    lanes = (groups, tiers * USERS)
    return Shortlist(
        front=np.zeros((n, front), dtype=np.int32),
        front_size=np.zeros(n, dtype=np.int64),
        front_x=zeros(n, d * front),
        order=np.zeros((n, front), dtype=np.int32),
        sets=np.zeros((n, sum(room)), dtype=np.int32),
        sizes=np.zeros((n, len(room)), dtype=np.int64),
        start=np.cumsum([0, *room[:-1]]),
        room=np.array(room, dtype=np.int64),
        tiers=Tiers(
            fixed=filled(np.inf, *lanes),
            slope=zeros(*lanes),
            theta=zeros(groups, tiers * d * USERS),
            ceiling=zeros(*lanes),
            radius=zeros(*lanes),
            theta_norm=zeros(*lanes),
            norm=zeros(*lanes),
            growth=zeros(*lanes),
        ),
    )


def make_scratch(packed: PackedEnvironment, rules: Rules, shortlist: Shortlist, d: int) -> Scratch:
    k = rules.k
    front, slate = shortlist.front.shape[1], up(k, ITEMS)
    return Scratch(
        scores=zeros(packed.padded + ITEMS),
        bonus=zeros(packed.padded + ITEMS),
        x=zeros(d * int(shortlist.room[-1])),
        values=zeros(max(k, front)),
        places=np.zeros(front, dtype=np.int32),
        block=zeros(2 * ITEMS),
        limit=zeros((len(shortlist.room) + 1) * USERS),
        slate=np.zeros(k, dtype=np.int32),
        slate_x=zeros(d * slate),
        slate_widths=zeros(slate),
        greedy=np.zeros(k, dtype=np.int32),
        listed=np.zeros(k, dtype=np.int64),
        used=np.zeros(k, dtype=np.bool_),
        shown=zeros(k * d * USERS),
        weights=zeros((2 if rules.logistic else 1) * k * USERS),
        examined=np.zeros(USERS, dtype=np.int64),
        v=zeros(2 * d * USERS),
        expected=zeros(USERS),
        matrices=zeros(4, d, d),
        drawn=zeros(d),
        z=zeros(d + 1),
        misses=zeros(slate),
        missed=zeros(2 * (k + 1)),
        lots=np.zeros(k, dtype=np.uint64),
        clicks=np.zeros(k, dtype=np.bool_),
        ideal_clicks=np.zeros(k, dtype=np.bool_),
        chances=zeros(k + 1),
    )


def make_counts(job: Job, rounds: int, sets: int) -> StepCounts:
    m, k = len(job.env.items), job.env.k
    return StepCounts(
        appearances=np.zeros((m, k), dtype=np.int64),
        item_clicks=np.zeros((m, k), dtype=np.int64),
        by_round=np.zeros((len(BY_ROUND), rounds), dtype=np.int64),
        work=np.zeros(sets + 2, dtype=np.int64),
        broken=np.zeros(1, dtype=np.int64),
    )


def make_trace(job: Job, rounds: int, *, wanted: bool = False) -> Trace:
    n = len(job.env.users)
    rounds = rounds if wanted or job.trace is not None else 0
    return Trace(
        slates=np.zeros((rounds, n, job.env.k), dtype=np.int32),
        clicks=np.full((rounds, n, job.env.k), -1, dtype=np.int8),
    )
