"""Rounds of a bandit: recommend, observe, learn. Algorithm 1, compiled."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, kernel, part
from faircascade.engine.cpu.kernels.draws import absorb, normal_pair, uniform
from faircascade.engine.cpu.kernels.learning import draw_theta, learn, next_interval, refine
from faircascade.engine.cpu.kernels.logistic import learn_logistic
from faircascade.engine.cpu.kernels.observing import comes, observe, seen_up_to, take_in
from faircascade.engine.cpu.kernels.ranking import keep_best
from faircascade.engine.cpu.kernels.reranking import (
    adjust,
    arrange,
    enter,
    shift,
    sort_by_score,
    take_discount,
)
from faircascade.engine.cpu.kernels.scoring import gather, score
from faircascade.engine.cpu.kernels.shortlist import grow, limits, rank_front, widen
from faircascade.engine.cpu.records import USERS
from faircascade.numerics import LARGEST_RESIDUAL


@kernel
def serve_bandit(
    env, numbers, draws, rules, sums, shortlist, account, books, trace, scratch, stop, groups,
    first, last,
):  # fmt: skip
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    for group in range(groups[0], groups[1]):
        M_inv, theta = sums.M_inv[group], sums.theta[group]
        users = min(USERS, len(env.preferences) - group * USERS)
        if users < USERS:  # lanes without a user learn nothing
            for i in range(len(scratch.shown)):
                scratch.shown[i] = 0.0
            for i in range(len(scratch.weights)):
                scratch.weights[i] = 0.0
        for t in range(first, last + 1):
            if stop[0]:
                return
            if rules.lazy:
                limits(shortlist.tiers, group, theta, rules.logistic, scratch.limit)
            longest = np.int64(0)
            for lane in range(users):
                user = group * USERS + lane
                seen = serve_one(
                    env, numbers, draws, rules, shortlist, account, books, trace, scratch, user,
                    lane, theta, M_inv, t, first,
                )  # fmt: skip
                scratch.examined[lane] = seen
                longest = max(longest, seen)
            if longest == 0:
                continue
            learn_group(sums, rules, shortlist, books, scratch, group, users, longest)


@inlined
def learn_group(sums, rules, shortlist, books, scratch, group, users, longest):
    """Let the users of a group learn what was noted of their slates."""
    M, M_inv, B, theta = sums.M[group], sums.M_inv[group], sums.B[group], sums.theta[group]
    updates, interval = sums.updates[group], sums.interval[group]
    if rules.logistic:
        learn_logistic(
            M, M_inv, theta, scratch.shown, scratch.weights, rules.noticed, longest, scratch.v,
            scratch.expected,
        )  # fmt: skip
    else:
        learn(
            M, M_inv, B, theta, scratch.shown, scratch.weights, longest, rules.gain, rules.scale,
            scratch.v,
        )  # fmt: skip
    for lane in range(users):
        if scratch.examined[lane] > 0:
            updates[lane] += 1
            refine_if_due(
                M, M_inv, B, theta, updates, interval, rules, shortlist, books, scratch, group,
                lane,
            )  # fmt: skip
        elif updates[lane] == 0:  # never served: theta stays where it starts
            for a in range(lane, len(theta), USERS):
                theta[a] = rules.first_theta


@inlined
def serve_one(
    env,
    numbers,
    draws,
    rules,
    shortlist,
    account,
    books,
    trace,
    scratch,
    user,
    lane,
    theta,
    M_inv,
    t,
    first,
):
    """Serve one user and note what there is to learn; return how many positions were examined."""
    word = np.uint64(t)
    d, k = len(theta) // USERS, rules.k
    shown, weights, items = scratch.shown, scratch.weights, scratch.slate
    clicked, seen = 0, 0
    if comes(draws, user, word):
        width = recommend(
            env, draws, rules, shortlist, account, books, scratch, user, lane, theta, M_inv, word
        )
        clicked = observe(
            env, numbers, draws, rules, books, trace, scratch, user, width, word, t - first
        )
        if not rules.plain:
            return take_in(env.features, items, rules, scratch, lane, d)
        seen = seen_up_to(clicked, k)
    for position in range(k):
        at = position * d * USERS + lane
        if position < seen:
            row = env.features[items[position]]
            for a in range(d):
                shown[at + a * USERS] = row[a]
            weights[position * USERS + lane] = rules.ignored[seen - 1, position]
        else:
            for a in range(d):
                shown[at + a * USERS] = 0.0
            weights[position * USERS + lane] = 0.0
    if clicked > 0:
        weights[(clicked - 1) * USERS + lane] = rules.clicked[seen - 1, clicked - 1]
    return seen


@part
def refine_if_due(
    M, M_inv, B, theta, updates, interval, rules, shortlist, books, scratch, group, lane
):
    """Refine a user's inverse now and then, as `Ridge.update` does."""
    if updates[lane] % interval[lane] != 0 and updates[lane] & (updates[lane] - 1) != 0:
        return
    afresh = interval[lane] < rules.refine_every
    moved, residual = refine(M, M_inv, B, theta, lane, afresh, rules.scale, scratch.matrices)
    if interval[lane] == 1 and residual > LARGEST_RESIDUAL:
        books.broken[0] = 1
    interval[lane] = next_interval(interval[lane], residual, rules.refine_every)
    if rules.lazy:
        for tier in range(len(scratch.limit) // USERS):
            grow(
                shortlist.tiers, tier, group, lane, moved, interval[lane], rules,
                len(theta) // USERS,
            )  # fmt: skip


@inlined
def recommend(
    env, draws, rules, shortlist, account, books, scratch, user, lane, theta, M_inv, word
):
    """Fill a user's slate; return the mean confidence width of its items."""
    d, k = len(theta) // USERS, rules.k
    scores, bonus, items = scratch.scores, scratch.bonus, scratch.slate
    ties = absorb(draws.tie[user], word)
    enough = 0.0
    level = len(scratch.limit) // USERS  # score the set that holds every tier that can matter
    if rules.lazy:
        if shortlist.front_size[user] >= k:
            enough = rank_front(
                env, shortlist, user, lane, theta, M_inv, ties, rules, d, scores, bonus,
                scratch.places,
            )  # fmt: skip
            while level > 0 and scratch.limit[(level - 1) * USERS + lane] < enough:
                level -= 1
        if level > 0:
            widen(env, shortlist, scratch, user, lane, theta, M_inv, ties, rules, level, d)
            enough = scratch.values[k - 1]
        else:
            front, order = shortlist.front[user], shortlist.order[user]
            for position in range(k):
                items[position] = front[order[position]]
    else:
        rank_all(env, draws, rules, account, scratch, user, lane, theta, M_inv, ties, word)
        enough = scratch.values[k - 1]
    if not np.isfinite(enough):
        books.broken[0] = 1
    books.work[level] += 1
    as_it_is = rules.epsilon == 0.0 and rules.tolerance == 0.0 and not rules.reorders
    if as_it_is and level == 0 and rules.alpha > 0.0:  # the widths are known already
        order = shortlist.order[user]
        total = bonus[order[0]]
        for position in range(1, k):
            total += bonus[order[position]]
        return total / k
    if rules.epsilon > 0.0:
        mingle(env, draws, rules, scratch, user, word)
    if rules.by_score:
        sort_by_score(account, scratch.scores, items, scratch.values)
    if rules.tolerance > 0.0 or rules.reorders:
        used, at, step = theta, lane, USERS
        if rules.noise > 0.0:
            used, at, step = scratch.drawn, 0, 1
        arrange(env, draws, rules, account, scratch, user, word, used, lane, at, step, M_inv)
    if rules.accounts:
        enter(rules, account, user, items)
    x, widths = scratch.slate_x, scratch.slate_widths
    gather(env.features, items, k, len(widths), x)
    score(x, k, len(widths), theta, lane, USERS, M_inv, lane, d, 1.0, scores, widths)
    total = widths[0]
    for position in range(1, k):
        total += widths[position]
    return total / k


@part
def rank_all(env, draws, rules, account, scratch, user, lane, theta, M_inv, ties, word):
    """Score every item, with a draw from the posterior if the policy makes one, and rank them."""
    d, p = len(theta) // USERS, len(env.keys)
    used, at, step = theta, lane, USERS
    if rules.noise > 0.0:
        draw_posterior(draws, rules, scratch, user, lane, theta, M_inv, word)
        used, at, step = scratch.drawn, 0, 1
    if rules.discount > 0.0 and rules.alpha == 0.0:  # it needs the widths even so
        score(
            env.by_feature, p, env.padded, used, at, step, M_inv, lane, d, 1.0,
            scratch.scores, scratch.bonus,
        )  # fmt: skip
    score(
        env.by_feature, p, env.padded, used, at, step, M_inv, lane, d, rules.alpha,
        scratch.scores, scratch.bonus,
    )  # fmt: skip
    if rules.discount > 0.0:
        take_discount(rules, account, user, word, scratch.scores, scratch.bonus)
    if rules.drawn_by_merit or rules.eta > 0.0:
        adjust(env, draws, rules, account, user, word, scratch.scores, scratch.values)
    if rules.shifts:
        shift(account, scratch.scores)
    items = scratch.slate
    keep_best(scratch.scores, items[:0], p, rules.k, ties, env.keys, items, scratch.values)


@part
def draw_posterior(draws, rules, scratch, user, lane, theta, M_inv, word):
    """Draw theta from the posterior of a user: `ridge.draw_theta`."""
    d, z = len(theta) // USERS, scratch.z
    for pair in range((d + 1) // 2):
        index = np.uint64(pair)
        radius = absorb(absorb(draws.radius[user], word), index)
        angle = absorb(absorb(draws.angle[user], word), index)
        z[2 * pair], z[2 * pair + 1] = normal_pair(radius, angle)
    draw_theta(M_inv, theta, lane, d, z, rules.noise, scratch.matrices[0], scratch.drawn)


@part
def mingle(env, draws, rules, scratch, user, word):
    """Replace items by random ones at random positions: `exploration.epsilon.mingle`."""
    k, p = rules.k, len(env.keys)
    items, greedy, used = scratch.slate, scratch.greedy, scratch.used
    listed = scratch.listed  # places in the order of keys, ascending
    for position in range(k):
        greedy[position] = items[position]
        used[position] = False
    coins, lots = absorb(draws.coin[user], word), absorb(draws.lot[user], word)
    for position in range(k):
        index = np.uint64(position + 1)
        if uniform(absorb(coins, index)) < rules.epsilon:
            rank = np.int64(uniform(absorb(lots, index)) * (p - position))
            for i in range(position):
                rank += rank >= listed[i]
            pick = env.by_key[rank]
        else:
            best = 0
            while used[best]:
                best += 1
            pick = greedy[best]
        items[position] = pick
        for i in range(k):
            used[i] |= greedy[i] == pick
        rank = env.rank[pick]
        i = position
        while i > 0 and listed[i - 1] > rank:
            listed[i] = listed[i - 1]
            i -= 1
        listed[i] = rank
