"""Logistic regression of 8 users side by side: `Logistic.update`, operation by operation."""

from __future__ import annotations

from numba.extending import register_jitable

from faircascade import numerics
from faircascade.engine.cpu.kernels.compiling import part
from faircascade.engine.cpu.kernels.lanes import (
    load_users,
    splat_users,
    square_root,
    store_users,
)
from faircascade.engine.cpu.kernels.learning import add_outer_products, shrink_and_multiply
from faircascade.engine.cpu.records import USERS

sigmoid = register_jitable(numerics.sigmoid)


@part
def learn_logistic(M, M_inv, theta, shown, weights, noticed, longest, v, expected):
    """Learn one slate of each user of a group: one Newton step for each position.

    `shown` has the features (K, d, 8), zero where a position was not seen; `weights` the clicks
    (K, 8) and, behind them, how much positions count; `noticed` how likely positions are seen (K,);
    `v` has room for two vectors of each user, `expected` for a number.
    """
    step, counts = len(theta), len(weights) // 2
    last, now = 0, step  # where in v the last position's vector is, and where this one's goes
    one = splat_users(1.0)
    for a in range(0, step, USERS):
        store_users(v, last + a, splat_users(0.0))
    for k in range(longest):
        x = k * step
        odds = load_users(theta, 0) * load_users(shown, x)
        for a in range(USERS, step, USERS):
            odds = odds + load_users(theta, a) * load_users(shown, x + a)
        store_users(expected, 0, odds)
        for lane in range(USERS):
            expected[lane] = sigmoid(expected[lane])
        chance, count = load_users(expected, 0), load_users(weights, counts + k * USERS)
        share = one
        if noticed[k] < 1.0:
            share = (one - chance) / (one - splat_users(noticed[k]) * chance)
        curvature = count * (chance * (one - chance)) * share
        inner = shrink_and_multiply(M_inv, v, last, shown, x, now, step)
        shrink = one + curvature * inner
        move = (load_users(weights, k * USERS) - count * chance) * share / shrink
        less, more = square_root(curvature / shrink), square_root(curvature)
        for a in range(0, step, USERS):
            own = load_users(v, now + a)
            store_users(theta, a, load_users(theta, a) + own * move)
            store_users(v, now + a, own * less)
            store_users(shown, x + a, load_users(shown, x + a) * more)
        last, now = now, last
    shrink_and_multiply(M_inv, v, last, theta, 0, now, step)
    add_outer_products(M, shown, longest, 1.0, step)
