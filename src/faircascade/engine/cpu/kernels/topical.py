"""Rounds of a bandit on topics: slates are filled from the top, each item by what is left.

`TopicalBeliefs` says what is computed: what is believed of an item below others is that of the
first position with theta and M^-1 multiplied by what is left of each topic.

Few items are scored exactly. With r_j = sqrt(M^-1_jj), and c the largest eigenvalue's root, the
score of an item with features x and topics t is at most

    x . theta + sum_j t_j left_j max(theta_j, 0)
              + alpha min(c |(x, t left)|, c |x| + sum_j t_j left_j r_j),

as |u + v|_A <= |u|_A + |v|_A in the norm of A = M^-1. Nothing in it grows as the slate does, for
`left` only falls: a bound that was too low for one position stays too low, and a bound from above
remains one. (The score itself may grow, where theta is negative.)
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.bandit import draw_posterior, mingle, refine_if_due
from faircascade.engine.cpu.kernels.compiling import inlined, kernel, part
from faircascade.engine.cpu.kernels.draws import absorb
from faircascade.engine.cpu.kernels.lanes import store_items
from faircascade.engine.cpu.kernels.learning import learn
from faircascade.engine.cpu.kernels.observing import comes, observe, take_in
from faircascade.engine.cpu.kernels.ranking import is_before, rounded
from faircascade.engine.cpu.kernels.scoring import means, score
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.numerics import ROUNDOFF
from faircascade.ranking import RESOLUTION


@kernel
def serve_topical(
    env, topical, draws, rules, sums, shortlist, books, trace, scratch, room, stop, groups, first,
    last,
):  # fmt: skip
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    for group in range(groups[0], groups[1]):
        M, M_inv, B, theta = sums.M[group], sums.M_inv[group], sums.B[group], sums.theta[group]
        updates, interval = sums.updates[group], sums.interval[group]
        users = min(USERS, len(env.preferences) - group * USERS)
        for i in range(len(scratch.shown)):  # lanes without a user learn nothing
            scratch.shown[i] = 0.0
        for i in range(len(scratch.weights)):
            scratch.weights[i] = 0.0
        for t in range(first, last + 1):
            if stop[0]:
                return
            longest = np.int64(0)
            for lane in range(users):
                seen = serve_one(
                    env, topical, draws, rules, books, trace, scratch, room, group * USERS + lane,
                    lane, theta, M_inv, t, first,
                )  # fmt: skip
                scratch.examined[lane] = seen
                longest = max(longest, seen)
            if longest == 0:
                continue
            learn(
                M, M_inv, B, theta, scratch.shown, scratch.weights, longest,
                rules.gain, rules.scale, scratch.v,
            )  # fmt: skip
            for lane in range(users):
                if scratch.examined[lane] > 0:
                    updates[lane] += 1
                    refine_if_due(
                        M, M_inv, B, theta, updates, interval, rules, shortlist, books, scratch,
                        group, lane,
                    )  # fmt: skip
                elif updates[lane] == 0:  # never served: theta stays where it starts
                    for a in range(lane, len(theta), USERS):
                        theta[a] = rules.first_theta


@part
def serve_one(
    env, topical, draws, rules, books, trace, scratch, room, user, lane, theta, M_inv, t, first
):
    """Serve one user and note what there is to learn; return how many positions that takes."""
    word = np.uint64(t)
    d, k = len(theta) // USERS, rules.k
    if not comes(draws, rules, user, word):
        for at in range(lane, k * d * USERS, USERS):
            scratch.shown[at] = 0.0
        for at in range(lane, k * USERS, USERS):
            scratch.weights[at] = 0.0
        return np.int64(0)
    alpha = rules.alpha
    for a in range(d):
        room.posterior[a] = theta[a * USERS + lane]
    if rules.noise > 0.0:
        draw_posterior(draws, rules, scratch, user, lane, theta, M_inv, word)
        for a in range(d):
            room.posterior[a] = scratch.drawn[a]
    ties = absorb(draws.tie[user], word)
    fill(env, topical, rules, books, scratch, room, user, lane, M_inv, alpha, ties)
    if rules.epsilon > 0.0:
        mingle(env, draws, rules, scratch, user, word)
    width = derive(topical, rules, scratch, room, lane, theta, M_inv)
    observe(env, draws, rules, books, trace, scratch, user, width, word, t - first)
    return take_in(room.derived, room.places, rules, scratch, lane, d)


@part
def fill(env, topical, rules, books, scratch, room, user, lane, M_inv, alpha, ties):
    """Put the best item given those above into every position of a user's slate.

    The items of the last slate are scored first: most others can do no better.
    """
    d, p, k = len(room.left), len(env.keys), rules.k
    items, bounds, before = scratch.slate, room.bounds, topical.before[user]
    for a in range(d):
        room.left[a] = 1.0
    cap = prepare(topical, room, lane, M_inv, alpha)
    if topical.lazy:
        first_bounds(topical, room, p, alpha, cap)
    else:
        for item in range(p):
            bounds[item] = np.inf
    for position in range(k):
        shrink(room, lane, M_inv, alpha)
        best, value, count = -1, -np.inf, 0
        for place in range(min(k, ITEMS)):
            if before[place] >= 0 and bounds[before[place]] > -np.inf:
                room.batch[count] = before[place]
                count += 1
        if count > 0:
            best, value = better(env, topical, room, count, alpha, ties, best, value)
        level = (value - 1.0) * RESOLUTION
        count = 0
        for item in range(p):
            if bounds[item] < level or bounds[item] == -np.inf:
                continue
            if topical.lazy and position > 0:
                bounds[item] = bound(topical, room, item, alpha, cap)
                if bounds[item] < level:
                    continue
            room.batch[count] = item
            count += 1
            if count == ITEMS:
                best, value = better(env, topical, room, count, alpha, ties, best, value)
                level = (value - 1.0) * RESOLUTION
                count = 0
        if count > 0:
            best, value = better(env, topical, room, count, alpha, ties, best, value)
        if not np.isfinite(value):
            books.broken[0] = 1
            best = first_left(bounds)
        items[position] = best
        bounds[best] = -np.inf  # an item is listed once
        row = topical.rows[best]
        for a in range(topical.first, d):
            room.left[a] *= 1.0 - row[a]
    for position in range(k):
        before[position] = items[position]


@inlined
def first_left(bounds):
    """Return an item that is not listed yet, for a slate that nobody will see."""
    item = 0
    while bounds[item] == -np.inf:
        item += 1
    return item


@part
def prepare(topical, room, lane, M_inv, alpha):
    """Note what bounds are made of; return a bound of the largest root of M^-1.

    Rounding takes part: an exact width can be off by `width_error` of the ridge's beliefs.
    """
    d = len(room.left)
    squares, largest = 0.0, 0.0
    pair = lane
    for a in range(d):
        for b in range(a, d):
            entry = M_inv[pair]
            squares += entry * entry * (1.0 if a == b else 2.0)
            if a == b:
                room.roots[a] = np.sqrt(max(entry, 0.0))
            pair += USERS
        largest += room.roots[a] * room.roots[a]
    norm = np.sqrt(squares)
    error = np.sqrt((d + 2) ** 2 * ROUNDOFF) + (d + 2) ** 2 * ROUNDOFF
    room.error[0] = alpha * error * np.sqrt(norm)
    size = 0.0
    for a in range(d):
        of_topic = a >= topical.first
        room.risen[a] = max(room.posterior[a], 0.0) if of_topic else room.posterior[a]
        room.roots[a] = room.roots[a] if of_topic else 0.0
        size += room.posterior[a] * room.posterior[a]
    room.error[1] = 1e-12 * np.sqrt(size)
    return np.sqrt(min(norm, largest))


@part
def first_bounds(topical, room, p, alpha, cap):
    """Bound the scores of all items in the first position, 16 at a time."""
    d, stride = len(room.left), len(room.bounds)
    for at in range(0, p, ITEMS):
        store_items(room.bounds, at, means(topical.by_column, at, stride, room.risen, 0, 1, d))
        if alpha > 0.0:
            store_items(room.spread, at, means(topical.by_column, at, stride, room.roots, 0, 1, d))
    for item in range(p):
        room.bounds[item] = limit_of(
            topical, room, item, room.bounds[item], topical.norms[item], topical.own[item],
            room.spread[item], alpha, cap,
        )  # fmt: skip


@inlined
def limit_of(topical, room, item, mean, norm, own, spread, alpha, cap):
    """Return a bound from its parts, with what rounding may add."""
    width = min(cap * norm, cap * own + spread)
    limit = mean + alpha * width
    rounding = (room.error[0] + room.error[1]) * topical.norms[item] + 1e-12 * abs(limit)
    return limit + rounding + RESOLUTION


@inlined
def shrink(room, lane, M_inv, alpha):
    """Multiply theta and M^-1 by what is left."""
    d = len(room.left)
    pair = lane
    place = 0
    for a in range(d):
        room.theta[a] = room.posterior[a] * room.left[a]
        if alpha > 0.0:
            for b in range(a, d):
                room.M_inv[place] = M_inv[pair] * (room.left[a] * room.left[b])
                pair += USERS
                place += USERS


@inlined
def bound(topical, room, item, alpha, cap):
    """Return what an item scores at most, now and in the positions below."""
    row = topical.rows[item]
    mean, square, spread = 0.0, 0.0, 0.0
    for a in range(len(row)):
        gain = row[a] * room.left[a]
        mean += gain * room.risen[a]
        spread += gain * room.roots[a]
        square += gain * gain
    return limit_of(
        topical, room, item, mean, np.sqrt(square), topical.own[item], spread, alpha, cap
    )


@part
def better(env, topical, room, count, alpha, ties, best, value):
    """Score some items and return the best of them and of the best so far."""
    d = len(room.left)
    x = room.x
    for i in range(count):
        row = topical.rows[room.batch[i]]
        for a in range(d):
            x[a * ITEMS + i] = row[a]
    for i in range(count, ITEMS):
        for a in range(d):
            x[a * ITEMS + i] = 0.0
    score(x, count, ITEMS, room.theta, 0, 1, room.M_inv, 0, d, alpha, room.scores, room.bonus)
    for i in range(count):
        item, found = room.batch[i], rounded(room.scores[i])
        if best < 0 or is_before(found, item, value, best, ties, env.keys):
            best, value = item, found
    return best, value


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
