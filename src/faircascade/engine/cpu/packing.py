"""From the library's objects to the arrays of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faircascade.engine.cpu.records import (
    ITEMS,
    USERS,
    Account,
    Books,
    Contenders,
    Draws,
    Rules,
    Scratch,
    Shortlist,
    Sums,
    Tiers,
    Trace,
    World,
)
from faircascade.engine.job import Job
from faircascade.estimators import Ridge
from faircascade.estimators.ridge import REFINE_EVERY
from faircascade.exploration import UCB, Epsilon, Exploration, Thompson
from faircascade.policies import Bandit, MostPopular, Optimal, Policy, Random
from faircascade.policies.bandit import table_of
from faircascade.random import draws as words
from faircascade.rerankers import EARS, FairCo, FairX, Identity, Ledger, Reorder, Reranker
from faircascade.rerankers.ears import set_shares, stops
from faircascade.rerankers.ledger import exposure_units, prices
from faircascade.types import Floats, Ints, Pool

SPARE = 22
"""How many more items than a list has are at the front; rounded up to 16s."""
WIDER = 4
"""How many times larger each set is than the one before."""
LARGEST_SET = 2048
"""More memory than this for each user's largest set does not pay."""

EXPLORERS: dict[type[Exploration], Callable[[Any], tuple[float, float, float]]] = {
    UCB: lambda ucb: (float(ucb.alpha), 0.0, 0.0),
    Thompson: lambda thompson: (0.0, float(thompson.scale), 0.0),
    Epsilon: lambda epsilon: (0.0, 0.0, float(epsilon.epsilon)),
}
"""Explorations as (weight of the width, spread of the draw, share of random positions)."""

RERANKERS: dict[type[Reranker], Callable[[Any], dict[str, Any]]] = {
    Identity: lambda _: {},
    EARS: lambda ears: {"tolerance": float(ears.tolerance), "patience": float(ears.patience)},
    FairX: lambda fairx: {"drawn_by_merit": True, "sharpness": float(fairx.sharpness)},
    FairCo: lambda fairco: {"accounts": True, "eta": float(fairco.eta)},
    Reorder: lambda _: {"accounts": True, "reorders": True},
}
"""Re-rankers as the rules they make."""


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


def pack_world(job: Job, like: World | None = None) -> World:
    """Pack items and users; the items are those of `like`, if that has the same."""
    env, pool = job.env, job.env.items.pool
    place = np.full(len(env.items), -1, dtype=np.int32)
    place[pool.rows] = np.arange(len(pool))
    users: dict[str, Any] = {
        "preferences": np.array(env.preferences, order="C"),
        "optimal_rewards": np.array(env.optimal_rewards),
        "optimal_lists": place[env.optimal_lists],
    }
    return like._replace(**users) if like is not None else World(**_pack_items(pool), **users)


def _pack_items(pool: Pool) -> dict[str, Any]:
    p, d = len(pool), len(pool.by_feature)
    padded = up(p, ITEMS)
    by_feature = zeros(d, padded)
    by_feature[:, :p] = pool.by_feature
    norms = zeros(padded)
    norms[:p] = pool.norms
    by_key = np.argsort(pool.keys)
    return {
        "features": np.array(pool.by_feature.T, order="C"),
        "by_feature": by_feature.reshape(-1),
        "padded": padded,
        "norms": norms,
        "radius": pool.radius,
        "keys": np.array(pool.keys),
        "rows": np.array(pool.rows),
        "by_key": by_key,
        "rank": np.argsort(by_key),
    }


def pack_draws(job: Job) -> Draws:
    keys = job.env.users.keys
    return Draws(
        attraction=words(job.seed, "attraction", keys),
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


def pack_rules(job: Job, policy: Policy) -> Rules:
    k = job.env.k
    learns = isinstance(policy, Bandit)
    bandit = policy if isinstance(policy, Bandit) else Bandit()
    alpha, noise, epsilon = EXPLORERS[type(bandit.exploration)](bandit.exploration)
    table = table_of(bandit.reward, k)
    last = RERANKERS[type(bandit.reranker)](bandit.reranker)
    return Rules(
        k=k,
        alpha=alpha,
        noise=noise,
        epsilon=epsilon,
        gain=float(bandit.estimator.gain),
        scale=float(bandit.estimator.scale),
        first_theta=float(bandit.estimator.first_theta),
        clicked=np.array(table.clicked),
        ignored=np.array(table.ignored, order="C"),
        tolerance=last.get("tolerance", 0.0),
        stops=stops(k, last.get("patience", 1.0)),
        shares=set_shares(k) if last.get("tolerance", 0.0) > 0.0 else np.zeros((0, 0)),
        drawn_by_merit=last.get("drawn_by_merit", False),
        sharpness=last.get("sharpness", 0.0),
        eta=last.get("eta", 0.0),
        reorders=last.get("reorders", False),
        accounts=last.get("accounts", False),
        gained=exposure_units(k),
        refine_every=REFINE_EVERY,
        activity=float(job.activity),
        realised=bool(job.realised),
        lazy=bool(job.lazy and learns and noise == 0.0 and not {"sharpness", "eta"} & set(last)),
        traced=job.trace is not None,
    )


def pack_contenders(job: Job, policy: Policy, world: World) -> Contenders:
    """Return what a yardstick's lists come from."""
    pool, k = job.env.items.pool, job.env.k
    if isinstance(policy, Optimal):
        falling = np.arange(k, 0, -1, dtype=np.float64)
        scores = np.tile(falling, (len(world.optimal_lists), 1))
        return Contenders(world.optimal_lists, scores, False)
    every = np.arange(len(pool), dtype=np.int32)
    if isinstance(policy, Random):
        return Contenders(every[None], np.zeros((1, len(every))), True)
    if isinstance(policy, MostPopular):
        popularity = pool.items.popularity[pool.rows]
        enough = np.partition(popularity, -k)[-k] - 1.0  # below it no rounding can help
        liked = every[popularity >= enough]
        return Contenders(liked[None], popularity[liked][None], False)
    raise TypeError(f"not a yardstick: {policy!r}")


def start_sums(estimator: Ridge, n: int, d: int) -> Sums:
    groups = up(n, USERS) // USERS
    a, b = np.triu_indices(d)
    diagonal = np.repeat((a == b).astype(np.float64), USERS)
    return Sums(
        M=filled(diagonal * estimator.ridge, groups, len(diagonal)),
        M_inv=filled(diagonal / estimator.ridge, groups, len(diagonal)),
        B=zeros(groups, d * USERS),
        theta=filled(estimator.first_theta, groups, d * USERS),
        updates=np.zeros((groups, USERS), dtype=np.int64),
        interval=np.full((groups, USERS), REFINE_EVERY),
    )


def symmetric(halves: Floats) -> Floats:
    """Return matrices (d, d, n) from their upper halves, one column a user, (d (d + 1) / 2, n)."""
    pairs, n = halves.shape
    d = int((2 * pairs) ** 0.5)
    a, b = np.triu_indices(d)
    matrices = np.empty((d, d, n))
    matrices[a, b] = matrices[b, a] = halves
    return matrices


def start_account(job: Job, world: World, rules: Rules) -> Account:
    n, p = (len(world.preferences), len(world.keys)) if rules.accounts else (0, 0)
    return Account(
        units=np.zeros((n, p), dtype=np.int64),
        worth=np.zeros((n, p), dtype=np.int64),
        total=np.zeros(n, dtype=np.int64),
        prices=prices(job.env.items.merit)[world.rows],
        items=len(job.env.items),
    )


def unpack_account(job: Job, world: World, units: Ints) -> Ledger:
    """Return the account of every user in the layout of the library: one column an item."""
    ledger = Ledger.of("user", len(units))
    ledger.follow(job.env.items.ids)
    ledger.units[:, world.rows] = units
    return ledger


def pack_account(job: Job, world: World, ledger: Ledger, account: Account) -> None:
    """Put the account of every user into that of the kernels: `unpack_account` backwards."""
    ledger.follow(job.env.items.ids)
    account.units[:] = ledger.units[:, world.rows]
    account.worth[:] = np.rint(account.units * account.prices)
    account.total[:] = account.worth.sum(axis=1)


def start_shortlist(world: World, rules: Rules) -> Shortlist:
    n, d = world.preferences.shape if rules.lazy else (0, 1)
    front = up(rules.k + SPARE, ITEMS)
    room = [WIDER * front]
    while WIDER * room[-1] <= min(LARGEST_SET, len(world.keys) // 2):
        room.append(WIDER * room[-1])
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


def make_scratch(world: World, rules: Rules, shortlist: Shortlist) -> Scratch:
    k, d = rules.k, world.features.shape[1]
    front, slate = shortlist.front.shape[1], up(k, ITEMS)
    return Scratch(
        scores=zeros(world.padded + ITEMS),
        bonus=zeros(world.padded + ITEMS),
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
        weights=zeros(k * USERS),
        examined=np.zeros(USERS, dtype=np.int64),
        v=zeros(2 * d * USERS),
        matrices=zeros(4, d, d),
        drawn=zeros(d),
        z=zeros(d + 1),
        misses=zeros(slate),
        missed=zeros(2 * (k + 1)),
        lots=np.zeros(k, dtype=np.uint64),
    )


def make_books(job: Job, rounds: int, sets: int) -> Books:
    m, k = len(job.env.items), job.env.k
    return Books(
        appearances=np.zeros((m, k), dtype=np.int64),
        item_clicks=np.zeros((m, k), dtype=np.int64),
        by_round=np.zeros((5, rounds), dtype=np.int64),
        work=np.zeros(sets + 2, dtype=np.int64),
        broken=np.zeros(1, dtype=np.int64),
    )


def make_trace(job: Job, rounds: int) -> Trace:
    n = len(job.env.users)
    rounds = rounds if job.trace is not None else 0
    return Trace(
        lists=np.zeros((rounds, n, job.env.k), dtype=np.int32),
        clicked=np.zeros((rounds, n), dtype=np.int32),
        examined=np.zeros((rounds, n), dtype=np.int32),
    )
