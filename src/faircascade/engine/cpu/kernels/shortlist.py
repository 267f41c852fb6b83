"""Slates without scoring every item: who can have risen into a slate, and who cannot.

The items are cut into nested sets: the front, some more near it, more still, all. A *tier* is what
one set has beyond the next smaller one. It knows how high its best item scored when it was left
out, and bounds how high that can be by now. Why slates stay exact: docs/explanation/engine.md.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.lanes import (
    larger,
    load_items,
    load_users,
    nearest,
    smaller,
    splat_items,
    splat_users,
    square_root,
    store_items,
    store_users,
    where_below,
)
from faircascade.engine.cpu.kernels.ranking import is_before, keep_best
from faircascade.engine.cpu.kernels.scoring import gather, score
from faircascade.engine.cpu.records import HALVINGS, ITEMS, USERS
from faircascade.numerics import ROUNDOFF
from faircascade.ranking import RESOLUTION


@part
def limits(tiers, group, theta, intercept, limit):
    """Compute the score that no item of each tier exceeds now, (tiers, 8).

    An intercept, the last of theta, moves all scores alike.
    """
    last = len(theta) - USERS
    features = last if intercept else len(theta)
    rounding = splat_users(16.0 * (len(theta) // USERS + 4) * ROUNDOFF)
    base, fixed, slope = tiers.theta[group], tiers.fixed[group], tiers.slope[group]
    at = 0
    for tier in range(0, len(limit), USERS):
        total = splat_users(0.0)
        for a in range(0, features, USERS):
            move = load_users(theta, a) - load_users(base, at + a)
            total = total + move * move
        rise = load_users(slope, tier) * square_root(total)
        if intercept:
            shift = load_users(theta, last) - load_users(base, at + last)
            size = larger(shift, splat_users(0.0) - shift)
            rise = rise + (load_users(slope, tier) + splat_users(1.0)) * rounding * size + shift
        at += len(theta)
        store_users(limit, tier, load_users(fixed, tier) + rise)


@part
def begin(tiers, tier, group, lane, theta, M_inv, ceiling, radius, rules, d):
    """Note what is left out now: its highest score, its largest norm, and what theta is."""
    at = tier * USERS + lane
    base = tiers.theta[group]
    squares = 0.0
    for a in range(d):
        value = theta[a * USERS + lane]
        base[(tier * d + a) * USERS + lane] = value
        squares += value * value
    norm = 0.0
    pair = lane
    for a in range(d):
        for b in range(a, d):
            norm += (1.0 if a == b else 2.0) * M_inv[pair] * M_inv[pair]
            pair += USERS
    tiers.ceiling[group, at] = ceiling
    tiers.radius[group, at] = radius
    tiers.theta_norm[group, at] = np.sqrt(squares)
    tiers.norm[group, at] = np.sqrt(norm)
    tiers.growth[group, at] = 4.0 * (d + 2) ** 2 * ROUNDOFF * tiers.norm[group, at]
    grow(tiers, tier, group, lane, 0.0, rules.refine_every, rules, d)


@part
def grow(tiers, tier, group, lane, moved, updates, rules, d):
    """Allow for a Newton step that moved M^-1, and for the rounding of updates until the next."""
    at = tier * USERS + lane
    ceiling = tiers.ceiling[group, at]
    if ceiling == -np.inf:  # nobody was left out
        tiers.fixed[group, at] = -np.inf
        tiers.slope[group, at] = 0.0
        return
    tiers.norm[group, at] += moved
    norm = tiers.norm[group, at]
    tiers.growth[group, at] += moved + 8.0 * ROUNDOFF * norm * updates * rules.k
    rounding = 4.0 * (d + 4) * ROUNDOFF
    width = np.sqrt(tiers.growth[group, at]) + rounding * np.sqrt(norm)
    theta = rounding * tiers.theta_norm[group, at]
    radius = tiers.radius[group, at]
    rise = radius * (theta + rules.alpha * width)
    tiers.fixed[group, at] = ceiling + rise + rounding * (abs(ceiling) + rise)
    reach = radius
    if rules.logistic:  # without the intercept
        reach = np.sqrt(max(radius * radius * (1.0 + 8.0 * ROUNDOFF) - 1.0, 0.0))
    tiers.slope[group, at] = reach + 4.0 * rounding * radius


@inlined
def rank_front(env, shortlist, user, lane, theta, M_inv, ties, rules, d, values, bonus, spare):
    """Rank the items at the front; return a score that items elsewhere must not reach."""
    front, order = shortlist.front[user], shortlist.order[user]
    size = shortlist.front_size[user]
    score(
        shortlist.front_x[user], size, len(front), theta, lane, USERS, M_inv, lane, d,
        rules.alpha, values, bonus,
    )  # fmt: skip
    for at in range(0, size, ITEMS):
        store_items(values, at, nearest(load_items(values, at) / splat_items(RESOLUTION)))
    k = rules.k
    floor = values[order[0]]
    for i in range(1, k):
        floor = min(floor, values[order[i]])
    better, worse = 0, 0
    for i in range(size):  # at least k items reach the floor: those listed last time
        place = order[i]
        value = values[place]
        if value < floor:
            spare[worse] = place
            worse += 1
            continue
        j = better
        item = front[place]
        while j > 0:
            other = order[j - 1]
            if not is_before(value, item, values[other], front[other], ties, env.keys):
                break
            order[j] = other
            j -= 1
        order[j] = place
        better += 1
    for i in range(worse):
        order[better + i] = spare[i]
    return (values[order[k - 1]] - 1.0) * RESOLUTION


@part
def widen(env, shortlist, scratch, user, lane, theta, M_inv, ties, rules, level, d):
    """Score the items of a set, choose all smaller sets anew, and fill the slate."""
    group = user // USERS
    tiers, scores, slate = shortlist.tiers, scratch.scores, scratch.slate
    front = shortlist.front[user]
    items, count = score_set(env, shortlist, scratch, user, lane, theta, M_inv, rules, level, d)
    highest = -np.inf
    for target in range(level - 1, -1, -1):
        chosen, room = front, len(front)
        if target > 0:
            start = shortlist.start[target - 1]
            chosen, room = shortlist.sets[user][start:], shortlist.room[target - 1]
        radius, ceiling, least = env.radius, -np.inf, -np.inf
        if count > room:
            least, most = cutting_score(scores, count, room - 1, scratch.block)
            ceiling = min(least, most)
            if target == len(shortlist.room):
                radius = radius_below(scores, env.norms, count, least, scratch.block)
        begin(tiers, target, group, lane, theta, M_inv, ceiling, radius, rules, d)
        highest = max(highest, ceiling)
        count = cut(scores, items, count, least, chosen) if least < np.inf else 0
        items = chosen
        if target > 0:
            shortlist.sizes[user, target - 1] = count
    kept, ceiling = keep_best(scores, items, count, rules.k, ties, env.keys, slate, scratch.values)
    if kept < rules.k or not highest < (scratch.values[rules.k - 1] - 1.0) * RESOLUTION:
        # many are level with the last of the slate, as in the first round: rank the whole set
        items, count = score_set(env, shortlist, scratch, user, lane, theta, M_inv, rules, level, d)
        count, ceiling = keep_best(
            scores, items, count, len(front), ties, env.keys, front, scratch.values
        )
        for place in range(rules.k):
            slate[place] = front[place]
        for tier in range(level - 1):
            begin(tiers, tier, group, lane, theta, M_inv, -np.inf, 0.0, rules, d)
        begin(tiers, level - 1, group, lane, theta, M_inv, ceiling, env.radius, rules, d)
    shortlist.front_size[user] = count
    for i in range(count):
        shortlist.order[user, i] = i
    gather(env.features, front, count, len(front), shortlist.front_x[user])


@part
def score_set(env, shortlist, scratch, user, lane, theta, M_inv, rules, level, d):
    """Score the items of a set; return them (none stands for all, in order) and how many."""
    scores, bonus = scratch.scores, scratch.bonus
    if level > len(shortlist.room):
        count = len(env.keys)
        score(
            env.by_feature, count, env.padded, theta, lane, USERS, M_inv, lane, d,
            rules.alpha, scores, bonus,
        )  # fmt: skip
        return shortlist.sets[user][:0], count
    count = shortlist.sizes[user, level - 1]
    stride = -(-count // ITEMS) * ITEMS
    items = shortlist.sets[user][shortlist.start[level - 1] :]
    gather(env.features, items, count, stride, scratch.x)
    score(scratch.x, count, stride, theta, lane, USERS, M_inv, lane, d, rules.alpha, scores, bonus)
    return items, count


@part
def cut(scores, items, count, least, chosen):
    """Choose the items that score at least so much, their scores moved to the beginning.

    There is no branch to mispredict: what is not chosen is overwritten by what follows, which
    takes one place more than are chosen.
    """
    size = 0
    for i in range(count):
        value = scores[i]
        scores[size] = value
        chosen[size] = items[i] if len(items) > 0 else i
        size += value >= least
    return size


@part
def cutting_score(scores, count, room, block):
    """Return a score that at most `room` items reach, and not many fewer if possible.

    It is infinite if more than `room` share the highest score, which is returned as well.
    """
    low, most = extremes(scores, count, block)
    high, least = most, np.inf
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reach = 0
        for i in range(count):
            reach += scores[i] >= middle
        if reach > room:
            low = middle
        else:
            high = least = middle
            if 8 * reach >= 7 * room:
                break
    return least, most


@part
def extremes(scores, count, block):
    """Return the lowest and the highest score."""
    low = high = scores[0]
    if count >= ITEMS:
        lows = highs = load_items(scores, 0)
        for at in range(ITEMS, count - ITEMS + 1, ITEMS):
            values = load_items(scores, at)
            lows, highs = smaller(lows, values), larger(highs, values)
        store_items(block, 0, lows)
        store_items(block, ITEMS, highs)
        for i in range(ITEMS):
            low, high = min(low, block[i]), max(high, block[ITEMS + i])
    for i in range(count // ITEMS * ITEMS, count):
        low, high = min(low, scores[i]), max(high, scores[i])
    return low, high


@part
def radius_below(scores, norms, count, least, block):
    """Return the largest norm of the items that score less than `least`."""
    found = splat_items(0.0)
    for at in range(0, count, ITEMS):
        below = where_below(load_items(scores, at), splat_items(least), load_items(norms, at))
        found = larger(found, below)
    store_items(block, 0, found)
    radius = 0.0
    for i in range(ITEMS):
        radius = max(radius, block[i])
    return radius
