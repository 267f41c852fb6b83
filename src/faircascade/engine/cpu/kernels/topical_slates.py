"""Slates of a bandit on topics: filled from the top, each position by what is left of topics.

Few items are scored as `loop` does: those whose scores in `topical_scores`, which are exact but for
rounding, come close to the best.

At the first position their bound is no less than the best that any slate above could leave of an
item, which only theta can lift as more is learned, M^-1 being one that shrinks. So the items whose
bounds are high are held from round to round, with these bounds, and the others are a tier, as in
`shortlist`. A slate is chosen from those whose bounds, with what theta can have added, reach what
an item needed to be in the last one.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import part
from faircascade.engine.cpu.kernels.lanes import (
    first_lane,
    lanes_reaching,
    larger,
    load_items,
    splat_items,
    store_items,
)
from faircascade.engine.cpu.kernels.ranking import is_before, rounded
from faircascade.engine.cpu.kernels.shortlist import begin, cut, cutting_score, radius_below
from faircascade.engine.cpu.kernels.topical_scores import (
    assemble,
    bound,
    exact_score,
    score_features,
    score_now,
)
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.ranking import RESOLUTION

HELD, OUTSIDE = 0, 1
"""Tiers: the items that are held, for each unit of their norm, and all others."""
CAUTION = 0.05
"""By how much of it less than in the last slate an item is taken to need."""


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
                score_features(env, topical, rules, room, room.sifted, count)
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
        survey(env, topical, rules, scratch, room, topical.order, count)
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
        room.sifted[found] = item
        found += not kept[i] + topical.norms[item] * rise < guess
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

    The scores of their features are computed. Return what no other item may reach, or the slate
    might be another one.
    """
    for a in range(len(room.left)):
        room.left[a] = 1.0
    lowest = np.inf
    for position in range(rules.k):
        look(env, topical, rules, room, items, count, position)
        found = contenders(topical, room, count)
        if found == 0:  # scores are not numbers
            books.broken[0] = 1
            while room.base[found] == -np.inf:
                found += 1
            room.near[0], found = found, 1
        best, value = better(env, topical, rules, room, items, found, lane, M_inv, ties)
        if not np.isfinite(value):
            books.broken[0] = 1
        lowest = min(lowest, value)
        room.base[best] = -np.inf  # an item is listed once
        item = items[best]
        scratch.slate[position] = item
        for i in range(topical.start[item], topical.start[item + 1]):
            room.left[topical.column[i]] *= 1.0 - topical.value[i]
    return (lowest - 1.0) * RESOLUTION


@part
def look(env, topical, rules, room, items, count, position):
    """Score items for a position; their terms are kept for the next one if there is room."""
    size = len(room.many) * ITEMS
    for first in range(0, count if topical.lazy else 0, size):
        some = min(size, count - first)
        if position == 0 or count > size:
            assemble(env, topical, rules, room, items[first:], some)
        score_now(topical, rules, room, first, some)


@part
def contenders(topical, room, count):
    """Note the places of items that may be the best now; return how many there are."""
    now, near = room.now, room.near
    found = 0
    if not topical.lazy:
        for i in range(count):
            if room.base[i] > -np.inf:
                near[found] = i
                found += 1
        return found
    floor = splat_items(largest(now, count, room.highest) - room.allowance[0])
    for at in range(0, count, ITEMS):
        reaching = lanes_reaching(load_items(now, at), floor)
        while reaching != 0:
            near[found] = at + first_lane(reaching)
            found += 1
            reaching &= reaching - 1
    return found


@part
def largest(values, count, block):
    """Return the largest of some values (rounded up to 16s)."""
    highs = load_items(values, 0)
    for at in range(ITEMS, count, ITEMS):
        highs = larger(highs, load_items(values, at))
    store_items(block, 0, highs)
    most = block[0]
    for i in range(1, ITEMS):
        most = max(most, block[i])
    return most


@part
def survey(env, topical, rules, scratch, room, items, count):
    """Compute bounds of the scores of some items into `scratch.scores`."""
    score_features(env, topical, rules, room, items, count)
    size = len(room.many) * ITEMS
    for first in range(0, count if rules.lazy else 0, size):
        some = min(size, count - first)
        assemble(env, topical, rules, room, items[first:], some)
        bound(rules, room, first, some, scratch.scores)


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
