"""From the library's objects to the arrays of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu.click_numbers import CASCADE, click_numbers
from faircascade.engine.cpu.records import (
    ITEMS,
    USERS,
    Account,
    Contenders,
    Draws,
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
from faircascade.estimators.logistic import weights_and_clicks
from faircascade.metrics.tally import BY_ROUND
from faircascade.observations.base import FIRST_CLICK, LAST_CLICK
from faircascade.policies import Yardstick
from faircascade.random import draws as words
from faircascade.rerankers import Ledger
from faircascade.rerankers.ears import set_shares, stops
from faircascade.rerankers.ledger import exposure_units, prices
from faircascade.rewards import RegressionTable
from faircascade.types import Floats, Ints, Pool
from faircascade.weighing import Weighs

SPARE = 22
"""How many more items than a slate has are at the front; rounded up to 16s."""
WIDER = 4
"""How many times larger each set is than the one before."""
SPARSE = 4
"""Features are taken as sparse if at most one in so many is not 0."""
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


def pack_environment(job: Job, like: PackedEnvironment | None = None) -> PackedEnvironment:
    """Pack items and users; the items of `like` are reused if they are the same."""
    env, pool = job.env, job.env.items.pool
    place = np.full(len(env.items), -1, dtype=np.int32)
    place[pool.rows] = np.arange(len(pool))
    users: dict[str, Any] = {
        "preferences": np.array(env.preferences, order="C"),
        "optimal_values": np.array(env.optimum(1).values),
        "optimal_slates": place[env.optimum(1).slates],
    }
    if like is not None:
        return like._replace(**users)
    logistic = any(part.kernel().get("logistic") for part in job.policy.components)
    return PackedEnvironment(
        **_pack_items(pool, pool.with_intercept if logistic else pool), **users
    )


def _pack_items(pool: Pool, learned: Pool) -> dict[str, Any]:
    """Pack items; `learned` has the features that a policy knows them by."""
    p, d = len(pool), len(learned.by_feature)
    padded = up(p, ITEMS)
    by_feature = zeros(d, padded)
    by_feature[:, :p] = learned.by_feature
    norms = zeros(padded)
    norms[:p] = learned.norms
    by_key = np.argsort(pool.keys)
    return {
        "features": np.array(learned.by_feature.T, order="C"),
        "by_feature": by_feature.reshape(-1),
        "padded": padded,
        **_pack_nonzero(pool.by_feature.T),
        "norms": norms,
        "radius": learned.radius,
        "keys": np.array(pool.keys),
        "rows": np.array(pool.rows),
        "by_key": by_key,
        "rank": np.argsort(by_key),
    }


def _pack_nonzero(features: Floats) -> dict[str, Any]:
    """Return where features (p, d) are not 0, if that is rare: indicators, say."""
    rows, columns = np.nonzero(features)
    if SPARSE * len(rows) > features.size:
        rows, columns = rows[:0], columns[:0]
    return {
        "nonzero": columns.astype(np.int32),
        "nonzero_x": np.array(features[rows, columns]),
        "nonzero_from": np.searchsorted(rows, np.arange(len(features) + 1)),
    }


def pack_draws(job: Job) -> Draws:
    keys = job.env.users.keys
    return Draws(
        attraction=words(job.seed, "attraction", keys),
        examination=words(job.seed, "examination", keys),
        tie=words(job.seed, "tie", keys),
        visit=words(job.seed, "visit", keys),
        radius=words(job.seed, "thompson/radius", keys),
        angle=words(job.seed, "thompson/angle", keys),
        coin=words(job.seed, "epsilon/coin", keys),
        lot=words(job.seed, "epsilon/item", keys),
        random=words(job.seed, "random", keys),
        shuffle=words(job.seed, "ears", keys),
        fair=words(job.seed, "fairx", keys),
    )


DEFAULTS: dict[str, Any] = {
    "alpha": 0.0,
    "noise": 0.0,
    "epsilon": 0.0,
    "gain": 1.0,
    "scale": 1.0,
    "first_theta": 0.0,
    "refine_every": 1,
    "tolerance": 0.0,
    "patience": 1.0,
    "drawn_by_merit": False,
    "sharpness": 0.0,
    "eta": 0.0,
    "discount": 0.0,
    "reorders": False,
    "accounts": False,
    "until": FIRST_CLICK,
    "logistic": False,
    "weighs": "targets",
}
"""Defaults of the rules that parts give in `kernel`, for policies without such a part."""


def pack_rules(job: Job) -> Rules:
    policy, k = job.policy, job.env.k
    given = DEFAULTS | {"noticed": np.ones(k)}
    for part in policy.components:
        given.update(part.kernel())
        given.update(part.kernel_for(k))
    table = policy.regression_table(k) or RegressionTable(*np.ones((4, k, k)))
    weighs = given.pop("weighs")
    for name in ("shared", "index", "strength"):  # of scores that no kernel computes
        given.pop(name, None)
    if given["logistic"]:
        table = _logistic_table(job, table, weighs)
    given |= {name: np.array(values, order="C") for name, values in table._asdict().items()}
    model = click_numbers(job.env).model
    in_full = bool((table.clicked_factors == 1.0).all() and (table.ignored_factors == 1.0).all())
    return Rules(
        k=k,
        plain=model == CASCADE
        and given["until"] in (FIRST_CLICK, LAST_CLICK)  # there is one click at most
        and in_full
        and not given["logistic"]
        and not policy.conditional,
        stops=stops(k, given.pop("patience")),
        shares=set_shares(k) if given["tolerance"] > 0.0 else np.zeros((0, 0)),
        gained=exposure_units(k),
        activity=float(job.activity),
        realised=bool(job.realised),
        lazy=bool(job.lazy and policy.learns and not policy.needs_all_scores),
        traced=job.trace is not None,
        **given,
    )


def _logistic_table(job: Job, table: RegressionTable, weighs: Weighs) -> RegressionTable:
    """Return how much positions count, and as how much of a click, in place of a regression's."""
    rewards = job.policy.reward_table(job.env.k)
    assert rewards is not None
    click = np.ones_like(table.clicked, dtype=bool)
    sides = [
        weights_and_clicks(weighs, factors, targets, clicked, rewards.largest)
        for factors, targets, clicked in (
            (table.clicked_factors, table.clicked, click),
            (table.ignored_factors, table.ignored, ~click),
        )
    ]
    return RegressionTable(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def pack_contenders(job: Job, policy: Yardstick, packed: PackedEnvironment) -> Contenders:
    """Return what a yardstick's slates come from."""
    pool, k = job.env.items.pool, job.env.k
    if policy.omniscient:
        falling = np.arange(k, 0, -1, dtype=np.float64)
        scores = np.tile(falling, (len(packed.optimal_slates), 1))
        return Contenders(packed.optimal_slates, scores, False)
    every, fixed = np.arange(len(pool), dtype=np.int32), policy.scores(pool)
    if fixed is None:
        return Contenders(every[None], np.zeros((1, len(every))), True)
    enough = np.partition(fixed, -k)[-k] - 1.0  # below it no rounding can help
    liked = every[fixed >= enough]
    return Contenders(liked[None], fixed[liked][None], False)


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


def symmetric(halves: Floats) -> Floats:
    """Return matrices (d, d, n) from upper halves, one column per user, (d (d + 1) / 2, n)."""
    pairs, n = halves.shape
    d = int((2 * pairs) ** 0.5)
    a, b = np.triu_indices(d)
    matrices = np.empty((d, d, n))
    matrices[a, b] = matrices[b, a] = halves
    return matrices


def start_account(job: Job, packed: PackedEnvironment, rules: Rules) -> Account:
    n, p = (len(packed.preferences), len(packed.keys)) if rules.accounts else (0, 0)
    return Account(
        units=np.zeros((n, p), dtype=np.int64),
        worth=np.zeros((n, p), dtype=np.int64),
        total=np.zeros(n, dtype=np.int64),
        prices=prices(job.env.items.merit)[packed.rows],
        items=len(job.env.items),
    )


def unpack_account(job: Job, packed: PackedEnvironment, units: Ints) -> Ledger:
    """Return the account of every user in the layout of the library: one column per item."""
    ledger = Ledger.of("user", len(units))
    ledger.follow(job.env.items.ids)
    ledger.units[:, packed.rows] = units
    return ledger


def pack_account(job: Job, packed: PackedEnvironment, ledger: Ledger, account: Account) -> None:
    """Put the account of every user into that of the kernels: the inverse of `unpack_account`."""
    ledger.follow(job.env.items.ids)
    account.units[:] = ledger.units[:, packed.rows]
    account.worth[:] = np.rint(account.units * account.prices)
    account.total[:] = account.worth.sum(axis=1)


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
