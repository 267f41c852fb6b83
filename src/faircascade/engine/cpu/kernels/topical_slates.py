"""Slates of a bandit on topics: filled from the top, each position by what is left of topics.

Few items are scored as `TopicalBeliefs` does. With A = M^-1, an item with features x and topics t
scores

    x . theta + sum_j t_j left_j theta_j
              + alpha sqrt(x^T A x + sum_j t_j left_j (2 (A x)_j + sum_i t_i left_i A_ij)),

of which the products with x are the same for a whole slate, and the others are few where an item
is about few topics. That is exact but for rounding, so only items that come close to the best are
scored as `loop` does. And without what is negative in these sums it is a bound that cannot grow as
the slate does, for `left` only falls: an item whose bound is too low is not looked at again.
(The score itself may grow, where theta or A is negative.)

At the first position the bound is no less than the best that any slate above could leave of an
item, which only theta can lift as more is learned, M^-1 being one that shrinks. So the items whose
bounds are high are held from round to round, with these bounds, and the others are a tier, as in
`shortlist`. A slate is chosen from those whose bounds, with what theta can have added, reach what
an item needed to be in the last one.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.lanes import (
    first_lane,
    lanes_reaching,
    larger,
    load_items,
    splat_items,
    store_items,
)
from faircascade.engine.cpu.kernels.ranking import is_before, rounded
from faircascade.engine.cpu.kernels.scoring import gather, means, widths
from faircascade.engine.cpu.kernels.shortlist import begin, cut, cutting_score, radius_below
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.numerics import ROUNDOFF
from faircascade.ranking import RESOLUTION

HELD, OUTSIDE = 0, 1
"""Tiers: the items that are held, for each unit of their norm, and all others."""
CAUTION = 0.05
"""By how much of it less than in the last slate an item is taken to need."""
LOW = -1e308
"""Less than every score, and more than the bound of an item that is listed."""
LOOKS = 2
"""Items that are looked at before all others, at most."""


@part
def fill(env, topical, rules, shortlist, books, scratch, room, user, lane, theta, M_inv, ties):
    """Fill a user's slate from the items that could be in it.

    What an item needs to be in a slate is known only when it is full. A little less than in the
    last slate is a guess; if it was too high, what this slate took is the next.
    """
    whole = True
    if rules.lazy and shortlist.sizes[user, 0] > 0:
        guess = topical.needed[user] - CAUTION * abs(topical.needed[user])
        outside = scratch.limit[OUTSIDE * USERS + lane]
        rise = scratch.limit[HELD * USERS + lane]
        count = rules.k
        while whole and outside < guess and count >= rules.k:
            count = sift(topical, shortlist, room, user, rise, guess)
            if count >= rules.k:
                features_part(env, topical, rules, room, room.sifted, count)
                needed = choose(
                    env, topical, rules, books, scratch, room, room.sifted, count, lane, M_inv, ties
                )
                whole, guess = needed < guess, min(guess, needed)
        if not whole:
            books.work[1] += 1
            topical.needed[user] = needed
            topical.fewest[user] = min(topical.fewest[user], count)
            topical.spent[user] += count - topical.fewest[user]
            if topical.spent[user] > shortlist.sizes[user, 0]:
                survey(
                    env, topical, rules, scratch, room, shortlist.sets[user],
                    shortlist.sizes[user, 0],
                )  # fmt: skip
                keep_bounds(topical, rules, shortlist, scratch, room, user, lane, theta, M_inv)
    if whole:
        books.work[-1] += 1
        count = len(env.keys)
        if topical.lazy:
            survey(env, topical, rules, scratch, room, topical.order, count)
            for i in range(count):
                room.bounds[i] = scratch.scores[i]
        topical.needed[user] = choose(
            env, topical, rules, books, scratch, room, topical.order, count, lane, M_inv, ties
        )
        if rules.lazy:
            hold(env, topical, rules, shortlist, scratch, room, user, lane, theta, M_inv)


@part
def sift(topical, shortlist, room, user, rise, guess):
    """Note the held items whose bounds may have risen to a score; return how many there are."""
    held, kept = shortlist.sets[user], topical.bounds[user]
    found = 0
    for i in range(shortlist.sizes[user, 0]):
        item = held[i]
        bound = kept[i] + topical.norms[item] * rise
        room.sifted[found] = item
        room.bounds[found] = bound
        found += not bound < guess
    return found


@part
def hold(env, topical, rules, shortlist, scratch, room, user, lane, theta, M_inv):
    """Hold the items with the highest bounds, and note how high the others can come."""
    bounds, count, size = scratch.scores, len(env.keys), shortlist.room[0]
    least, ceiling, radius = -np.inf, -np.inf, 0.0
    if count > size:
        least, most = cutting_score(bounds, count, size - 1, scratch.block)
        ceiling = min(least, most) + room.allowance[0]
        radius = radius_below(bounds, topical.norms_in_order, count, least, scratch.block)
    d, group = len(room.left), user // USERS
    begin(shortlist.tiers, OUTSIDE, group, lane, theta, M_inv, ceiling, radius, rules, d)
    held = shortlist.sets[user]
    size = cut(bounds, topical.order, count, least, held) if least < np.inf else 0
    shortlist.sizes[user, 0] = size
    keep_bounds(topical, rules, shortlist, scratch, room, user, lane, theta, M_inv)


@part
def keep_bounds(topical, rules, shortlist, scratch, room, user, lane, theta, M_inv):
    """Note the bounds of held items, and what theta is now."""
    for i in range(shortlist.sizes[user, 0]):
        topical.bounds[user, i] = scratch.scores[i] + room.allowance[0]
    topical.spent[user], topical.fewest[user] = 0, shortlist.sizes[user, 0]
    begin(shortlist.tiers, HELD, user // USERS, lane, theta, M_inv, 0.0, 1.0, rules, len(room.left))


@part
def choose(env, topical, rules, books, scratch, room, items, count, lane, M_inv, ties):
    """Put the best of some items given those above into every position of a slate.

    `room.bounds` has bounds of their scores, and their features are computed. Return what no other
    item may reach, or the slate might be another one.
    """
    k = rules.k
    for a in range(len(room.left)):
        room.left[a] = 1.0
    for i in range(count):
        room.now[i], room.scored_at[i] = room.bounds[i], k + 1
        if not topical.lazy:
            room.bounds[i] = np.inf
    for i in range(count, -(-count // ITEMS) * ITEMS):
        room.now[i] = room.bounds[i] = -np.inf
    room.touched[0] = 0
    lowest = np.inf
    for position in range(k):
        found = contenders(env, topical, rules, room, items, count, position)
        if found == 0:  # scores are not numbers
            books.broken[0] = 1
            while room.bounds[found] == -np.inf:
                found += 1
            room.near[0], found = found, 1
        best, value = better(env, topical, rules, room, items, found, lane, M_inv, ties)
        if not np.isfinite(value):
            books.broken[0] = 1
        lowest = min(lowest, value)
        room.now[best] = room.bounds[best] = -np.inf  # an item is listed once
        item = items[best]
        scratch.slate[position] = item
        for i in range(topical.start[item], topical.start[item + 1]):
            room.left[topical.column[i]] *= 1.0 - topical.value[i]
        for before in range(position + 1):
            room.touched[before] |= topical.about[item]
        room.touched[position + 1] = 0
    return (lowest - 1.0) * RESOLUTION


@part
def contenders(env, topical, rules, room, items, count, position):
    """Note the places of items that may be the best now; return how many there are."""
    bounds, now, near = room.bounds, room.now, room.near
    found = 0
    if not topical.lazy:
        for i in range(count):
            if bounds[i] > -np.inf:
                near[found] = i
                found += 1
        return found
    margin = room.allowance[0]
    floor = lead(env, topical, rules, room, items, count, position) - margin
    for at in range(0, count, ITEMS):
        reaching = lanes_reaching(load_items(bounds, at), splat_items(floor))
        while reaching != 0:
            i = at + first_lane(reaching)
            reaching &= reaching - 1
            look(env, topical, rules, room, items, i, position)
            if now[i] >= floor:
                near[found] = i
                found += 1
                floor = max(floor, now[i] - margin)
    close = 0
    for j in range(found):
        if now[near[j]] >= floor:
            near[close] = near[j]
            close += 1
    return close


@part
def lead(env, topical, rules, room, items, count, position):
    """Return a score that others have to come close to: that of an item which seems the best."""
    score = LOW
    for _ in range(LOOKS):
        i = place_of_largest(room.now, count, room.highest)
        if i < 0:  # scores are not numbers
            break
        before = room.now[i]
        look(env, topical, rules, room, items, i, position)
        score = max(score, room.now[i])
        if room.now[i] == before:
            break
    return score


@inlined
def look(env, topical, rules, room, items, i, position):
    """Compute anew what the item at a place scores, unless nothing has touched its topics."""
    unseen = room.scored_at[i] > rules.k
    if unseen or topical.about[items[i]] & room.touched[room.scored_at[i]]:
        if unseen and topical.first > 0 and rules.alpha > 0.0:
            cross_part(env, topical, room, items[i], i)
        room.now[i], room.bounds[i] = outlook(topical, room, items[i], i, rules.alpha)
        room.scored_at[i] = position


@part
def place_of_largest(values, count, block):
    """Return where the largest value is, -1 if none is a number."""
    highs = load_items(values, 0)
    for at in range(ITEMS, count, ITEMS):
        highs = larger(highs, load_items(values, at))
    store_items(block, 0, highs)
    most = block[0]
    for i in range(1, ITEMS):
        most = max(most, block[i])
    for at in range(0, count, ITEMS):
        reaching = lanes_reaching(load_items(values, at), splat_items(most))
        if reaching != 0:
            return at + first_lane(reaching)
    return -1


@part
def survey(env, topical, rules, scratch, room, items, count):
    """Compute bounds of the scores of some items into `scratch.scores`."""
    for a in range(len(room.left)):
        room.left[a] = 1.0
    features_part(env, topical, rules, room, items, count)
    for i in range(count):
        if topical.first > 0 and rules.alpha > 0.0:
            cross_part(env, topical, room, items[i], i)
        _, scratch.scores[i] = outlook(topical, room, items[i], i, rules.alpha)


@part
def features_part(env, topical, rules, room, items, count):
    """Compute x . theta and x^T M^-1 x of the features of some items, if these are learned from."""
    x, first = room.x, topical.first
    for at in range(0, count if first > 0 else 0, ITEMS):
        gather(env.features, items[at:], min(count - at, ITEMS), ITEMS, x)
        store_items(room.base, at, means(x, 0, ITEMS, room.posterior, 0, 1, first))
        if rules.alpha > 0.0:
            width = widths(x, 0, ITEMS, room.block, 0, first)
            store_items(room.squares, at, width * width)


@inlined
def cross_part(env, topical, room, item, place):
    """Compute 2 (M^-1 x)_j for the features of an item and each of its topics."""
    d, at, row = len(room.left), place * topical.most, env.features[item]
    for j in range(topical.start[item], topical.start[item + 1]):
        beside, total = topical.column[j] * d, 0.0
        for a in range(topical.first):
            total += row[a] * room.A[beside + a]
        room.cross[at] = total + total
        at += 1


@inlined
def outlook(topical, room, item, place, alpha):
    """Return what an item scores now, and what it scores at most, now and further down."""
    mean = highest = room.base[place]
    square = largest = room.squares[place]
    d, at, begin = len(room.left), place * topical.most, topical.start[item]
    for i in range(begin, topical.start[item + 1]):
        a = topical.column[i]
        gain = topical.value[i] * room.left[a]
        room.gains[i - begin] = gain
        mean += gain * room.posterior[a]
        highest += gain * room.risen[a]
        if alpha > 0.0:
            inner = room.cross[at + i - begin]
            above = max(inner, 0.0)
            half = 0.0
            rise = 0.0
            for j in range(begin, i):
                beside = room.A[a * d + topical.column[j]] * room.gains[j - begin]
                half += beside
                rise += abs(beside)
            own = room.A[a * d + a] * gain
            square += gain * (inner + (half + half + own))
            largest += gain * (above + (rise + rise + own))
    if alpha > 0.0:
        mean += alpha * np.sqrt(max(square, 0.0))
        highest += alpha * np.sqrt(max(largest, 0.0))
    return mean, highest


@part
def prepare(topical, room, lane, M_inv, alpha):
    """Note what scores and bounds are made of, and how far rounding can move them.

    Computed in any order, a score is off by at most `width_error` of the ridge's beliefs and some
    roundoffs; the allowance is for two of them, and for scores that are rounded.
    """
    d, first = len(room.left), topical.first
    pair, block = lane, 0
    norm, size = 0.0, 0.0
    for a in range(d):
        value = room.posterior[a]
        room.risen[a] = max(value, 0.0)
        size += value * value
        for b in range(a, d):
            entry = M_inv[pair]
            room.A[a * d + b] = room.A[b * d + a] = entry
            if b < first:
                room.block[block] = entry
                block += USERS
            norm += (1.0 if a == b else 2.0) * entry * entry
            pair += USERS
    error = (d + 4) ** 2 * ROUNDOFF
    off = alpha * (np.sqrt(error) + error) * np.sqrt(np.sqrt(norm)) + error * np.sqrt(size)
    room.allowance[0] = 4.0 * topical.radius * off + 4.0 * RESOLUTION


@part
def better(env, topical, rules, room, items, count, lane, M_inv, ties):
    """Score the contenders as `loop` does; return the place of the best and its rounded score."""
    best, value = -1, -np.inf
    for i in range(count):
        place = room.near[i]
        item = items[place]
        found = rounded(exact_score(topical, rules, room, item, lane, M_inv))
        if best < 0 or is_before(found, item, value, items[best], ties, env.keys):
            best, value = place, found
    return best, value


@part
def exact_score(topical, rules, room, item, lane, M_inv):
    """Return theta . x + alpha * width with the sums of `scoring`, but for what is 0 in a row."""
    d, first, row = len(room.left), topical.first, topical.rows[item]
    size = first
    for a in range(first):
        room.column[a] = a
    for i in range(topical.start[item], topical.start[item + 1]):
        room.column[size] = topical.column[i]
        size += 1
    mean, square = 0.0, 0.0
    for i in range(size):
        a = room.column[i]
        left = room.left[a]
        mean += (room.posterior[a] * left) * row[a]
        if rules.alpha > 0.0:
            before = lane + (a * d - a * (a + 1) // 2) * USERS  # the pair (a, 0), were there one
            inner = (M_inv[before + a * USERS] * (left * left)) * row[a]
            beside = 0.0
            for j in range(i + 1, size):
                b = room.column[j]
                beside += (M_inv[before + b * USERS] * (left * room.left[b])) * row[b]
            square += row[a] * (inner + (beside + beside))
    if rules.alpha > 0.0:
        mean += rules.alpha * np.sqrt(max(square, 0.0))
    return mean
