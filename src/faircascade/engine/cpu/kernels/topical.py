"""Rounds of a bandit on topics: slates are filled from the top, each item by what is left.

`TopicalBeliefs` says what is computed: what is believed of an item below others is that of the
first position with theta and M^-1 multiplied by what is left of each topic.

Few items are scored exactly. With r_j = sqrt(M^-1_jj), and c^2 and b^2 no less than the largest
eigenvalues of M^-1 and of its block for the features, the score of an item with features x and
topics t is at most

    x . theta + sum_j t_j left_j max(theta_j, 0)
              + alpha min(c |(x, t left)|, b |x| + sum_j t_j left_j r_j),

as |u + v|_A <= |u|_A + |v|_A in the norm of A = M^-1, which only shrinks as more is learned: c and
b are found anew now and then. Nothing in it grows as the slate does, for
`left` only falls: a bound holds for all positions below. (The score itself may grow, where theta
is negative.) It is at most |(x, t)| (|theta| + alpha c), so items come by falling norm, and those
behind the first whose norm is too small need not be looked at.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.bandit import draw_posterior, learn_group, mingle
from faircascade.engine.cpu.kernels.compiling import inlined, kernel, part
from faircascade.engine.cpu.kernels.draws import absorb
from faircascade.engine.cpu.kernels.learning import unpack
from faircascade.engine.cpu.kernels.observing import comes, observe, take_in
from faircascade.engine.cpu.kernels.ranking import is_before, rounded
from faircascade.engine.cpu.kernels.scoring import score
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.numerics import ROUNDOFF
from faircascade.ranking import RESOLUTION

CAPPED = 16
"""Updates of a user after which eigenvalues are bounded anew."""


@kernel
def serve_topical(
    env, topical, numbers, draws, rules, sums, shortlist, books, trace, scratch, room, stop,
    groups, first, last,
):  # fmt: skip
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    for group in range(groups[0], groups[1]):
        M_inv, theta, updates = sums.M_inv[group], sums.theta[group], sums.updates[group]
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
                user = group * USERS + lane
                if topical.lazy and updates[lane] % CAPPED == 0:
                    cap_roots(topical, scratch, user, lane, M_inv)
                seen = serve_one(
                    env, topical, numbers, draws, rules, books, trace, scratch, room, user, lane,
                    theta, M_inv, t, first,
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
    observe(env, numbers, draws, rules, books, trace, scratch, user, width, word, t - first)
    return take_in(room.derived, room.places, rules, scratch, lane, d)


@part
def fill(env, topical, rules, books, scratch, room, user, lane, M_inv, alpha, ties):
    """Put the best item given those above into every position of a user's slate.

    The items of the last slate are scored first: most others can do no better.
    """
    d, k, p = len(room.left), rules.k, len(topical.items)
    bounds, before = room.bounds, topical.before[user]
    for a in range(d):
        room.left[a] = 1.0
    prepare(topical, room, user, lane, M_inv, alpha)
    reach = 0  # places with a bound so far
    for position in range(k):
        shrink(room, lane, M_inv, alpha)
        best, value, count = -1, -np.inf, 0
        for i in range(min(k, ITEMS)):
            place = before[i]
            if place >= 0 and (place >= reach or bounds[place] > -np.inf):
                room.batch[count] = place
                count += 1
        if count > 0:
            best, value = better(env, topical, room, count, alpha, ties, best, value)
        level = (value - 1.0) * RESOLUTION
        count, place = 0, 0
        while place < p:
            if place < reach:
                hopeless = bounds[place] < level or bounds[place] == -np.inf
            else:
                if topical.lazy and topical.norms[place] * room.rate[0] < level:
                    break
                bounds[place] = np.inf
                room.base[place] = features_mean(topical, room, place)
                reach = place + 1
                hopeless = False
            if not hopeless and topical.lazy:
                bounds[place] = bound(topical, room, place, alpha)
                hopeless = bounds[place] < level
            if not hopeless:
                room.batch[count] = place
                count += 1
                if count == ITEMS:
                    best, value = better(env, topical, room, count, alpha, ties, best, value)
                    level = (value - 1.0) * RESOLUTION
                    count = 0
            place += 1
        if count > 0:
            best, value = better(env, topical, room, count, alpha, ties, best, value)
        if not np.isfinite(value):
            books.broken[0] = 1
        for at in range(reach, best + 1):  # one of the last slate that was not come to
            bounds[at] = np.inf
            room.base[at] = features_mean(topical, room, at)
        reach = max(reach, best + 1)
        bounds[best] = -np.inf  # an item is listed once
        room.slate[position] = best
        row = topical.rows[best]
        for a in range(topical.first, d):
            room.left[a] *= 1.0 - row[a]
    for position in range(k):
        before[position] = room.slate[position]
        scratch.slate[position] = topical.items[room.slate[position]]


@part
def cap_roots(topical, scratch, user, lane, M_inv):
    """Bound the roots of the largest eigenvalues of M^-1, and of its block for the features."""
    A, squared = scratch.matrices[0], scratch.matrices[1]
    for block in range(2):
        d = len(A) if block == 0 else topical.first
        if d == 0:
            continue
        unpack(M_inv, lane, A)
        power, root = 1.0, 0.0
        for _ in range(3):  # |A^p|_F^(1/p) is at most d^(1/(2 p)) times the largest eigenvalue
            square = 0.0
            for i in range(d):
                for j in range(d):
                    square += A[i, j] * A[i, j]
            root = np.sqrt(square) ** (1.0 / power)
            for i in range(d):
                for j in range(d):
                    total = 0.0
                    for c in range(d):
                        total += A[i, c] * A[c, j]
                    squared[i, j] = total
            for i in range(d):
                for j in range(d):
                    A[i, j] = squared[i, j]
            power *= 2.0
        topical.caps[user, block] = min(topical.cap, np.sqrt(root) * (1.0 + 1e-9))


@part
def prepare(topical, room, user, lane, M_inv, alpha):
    """Note what bounds are made of.

    Rounding takes part: a computed width can be off by `width_error` of the ridge's beliefs, and
    bounds are sums with a few roundoffs themselves.
    """
    d = len(room.left)
    size = 0.0
    pair = lane
    for a in range(d):
        of_topic = a >= topical.first
        room.roots[a] = np.sqrt(max(M_inv[pair], 0.0)) if of_topic else 0.0
        room.risen[a] = max(room.posterior[a], 0.0) if of_topic else room.posterior[a]
        size += room.risen[a] * room.risen[a]
        pair += (d - a) * USERS
    cap = topical.caps[user, 0]
    error = np.sqrt((d + 2) ** 2 * ROUNDOFF) + (d + 2) ** 2 * ROUNDOFF
    room.caps[0], room.caps[1] = cap, topical.caps[user, 1]
    room.error[0] = alpha * error * cap * d + 1e-12 * np.sqrt(size)
    room.rate[0] = (np.sqrt(size) + alpha * cap) * (1.0 + 1e-9) + room.error[0]


@inlined
def features_mean(topical, room, place):
    """Return theta . x of the features of an item, which no other item changes."""
    row, mean = topical.rows[place], 0.0
    for a in range(topical.first):
        mean += row[a] * room.posterior[a]
    return mean


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
def bound(topical, room, place, alpha):
    """Return what an item scores at most, now and in the positions below."""
    mean, square, spread = room.base[place], topical.own[place] * topical.own[place], 0.0
    for i in range(topical.start[place], topical.start[place + 1]):
        a = topical.column[i]
        gain = topical.value[i] * room.left[a]
        mean += gain * room.risen[a]
        spread += gain * room.roots[a]
        square += gain * gain
    width = min(room.caps[0] * np.sqrt(square), room.caps[1] * topical.own[place] + spread)
    limit = mean + alpha * width
    return limit + room.error[0] * topical.norms[place] + 1e-12 * abs(limit) + RESOLUTION


@part
def better(env, topical, room, count, alpha, ties, best, value):
    """Score the items at some places and return the best of them and of the best so far."""
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
        place, found = room.batch[i], rounded(room.scores[i])
        if best < 0 or is_before(
            found, topical.items[place], value, topical.items[best], ties, env.keys
        ):
            best, value = place, found
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
        row = topical.rows[topical.place[items[position]]]
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
