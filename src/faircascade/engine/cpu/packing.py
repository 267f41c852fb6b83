"""From the library's objects to the arrays of the kernels, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from faircascade.engine.cpu.memory import up, zeros
from faircascade.engine.cpu.records import (
    ITEMS,
    Account,
    Contenders,
    Draws,
    PackedEnvironment,
    Rules,
)
from faircascade.engine.job import Job
from faircascade.policies import Yardstick
from faircascade.random import draws as words
from faircascade.rerankers import Ledger
from faircascade.rerankers.ledger import prices
from faircascade.types import Floats, Ints, Pool

SPARSE = 4
"""Features are taken as sparse if at most one in so many is not 0."""


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
        chances=job.chances,
        radius=words(job.seed, "thompson/radius", keys),
        angle=words(job.seed, "thompson/angle", keys),
        coin=words(job.seed, "epsilon/coin", keys),
        lot=words(job.seed, "epsilon/item", keys),
        random=words(job.seed, "random", keys),
        shuffle=words(job.seed, "ears", keys),
        fair=words(job.seed, "fairx", keys),
    )


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
        kept=np.ones(len(packed.keys) if rules.shifts else 0),
        added=np.zeros(len(packed.keys) if rules.shifts else 0),
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
