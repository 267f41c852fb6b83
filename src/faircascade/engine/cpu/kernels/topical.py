"""Rounds of a bandit on topics: `TopicalBeliefs` says what is computed.

What is believed of an item below others is that of the first position with theta and M^-1
multiplied by what is left of each topic. `topical_slates` fills the slates.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.bandit import draw_posterior, learn_group, mingle
from faircascade.engine.cpu.kernels.compiling import kernel, part
from faircascade.engine.cpu.kernels.draws import absorb
from faircascade.engine.cpu.kernels.observing import comes, observe, take_in
from faircascade.engine.cpu.kernels.scoring import score
from faircascade.engine.cpu.kernels.shortlist import limits
from faircascade.engine.cpu.kernels.topical_scores import prepare
from faircascade.engine.cpu.kernels.topical_slates import fill
from faircascade.engine.cpu.records import USERS


@kernel
def serve_topical(
    env, topical, numbers, draws, rules, sums, shortlist, books, trace, scratch, room, stop,
    groups, first, last,
):  # fmt: skip
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    for group in range(groups[0], groups[1]):
        M_inv, theta = sums.M_inv[group], sums.theta[group]
        users = min(USERS, len(env.preferences) - group * USERS)
        for i in range(len(scratch.shown)):  # lanes without a user learn nothing
            scratch.shown[i] = 0.0
        for i in range(len(scratch.weights)):
            scratch.weights[i] = 0.0
        for t in range(first, last + 1):
            if stop[0]:
                return
            if rules.lazy:
                limits(shortlist.tiers, group, theta, False, scratch.limit)
            longest = np.int64(0)
            for lane in range(users):
                user = group * USERS + lane
                seen = serve_one(
                    env, topical, numbers, draws, rules, shortlist, books, trace, scratch, room,
                    user, lane, theta, M_inv, t, first,
                )  # fmt: skip
                scratch.examined[lane] = seen
                longest = max(longest, seen)
            if longest == 0:
                continue
            learn_group(sums, rules, shortlist, books, scratch, group, users, longest)


@part
def serve_one(
    env,
    topical,
    numbers,
    draws,
    rules,
    shortlist,
    books,
    trace,
    scratch,
    room,
    user,
    lane,
    theta,
    M_inv,
    t,
    first,
):
    """Serve one user and note what there is to learn; return how many positions that takes."""
    word = np.uint64(t)
    d, k = len(theta) // USERS, rules.k
    if not comes(draws, user, word):
        for at in range(lane, k * d * USERS, USERS):
            scratch.shown[at] = 0.0
        for at in range(lane, k * USERS, USERS):
            scratch.weights[at] = 0.0
        return np.int64(0)
    for a in range(d):
        room.posterior[a] = theta[a * USERS + lane]
    if rules.noise > 0.0:
        draw_posterior(draws, rules, scratch, user, lane, theta, M_inv, word)
        for a in range(d):
            room.posterior[a] = scratch.drawn[a]
    ties = absorb(draws.tie[user], word)
    prepare(topical, room, lane, M_inv, rules.alpha)
    fill(env, topical, rules, shortlist, books, scratch, room, user, lane, theta, M_inv, ties)
    if rules.epsilon > 0.0:
        mingle(env, draws, rules, scratch, user, word)
    width = derive(topical, rules, scratch, room, lane, theta, M_inv)
    observe(env, numbers, draws, rules, books, trace, scratch, user, width, word, t - first)
    return take_in(room.derived, room.places, rules, scratch, lane, d)


@part
def derive(topical, rules, scratch, room, lane, theta, M_inv):
    """Note the gains of a slate, which are what is learned; return their mean width."""
    d, k = len(room.left), rules.k
    items, x, widths = scratch.slate, scratch.slate_x, scratch.slate_widths
    stride = len(widths)
    for a in range(d):
        room.left[a] = 1.0
    for position in range(k):
        row = topical.rows[items[position]]
        for a in range(d):
            room.derived[position, a] = row[a] * room.left[a]
            x[a * stride + position] = room.derived[position, a]
        for a in range(topical.first, d):
            room.left[a] *= 1.0 - row[a]
    score(x, k, stride, theta, lane, USERS, M_inv, lane, d, 1.0, scratch.scores, widths)
    total = widths[0]
    for position in range(1, k):
        total += widths[position]
    return total / k
