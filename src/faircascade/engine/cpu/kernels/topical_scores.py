"""Scores of items given those above, 16 items at a time.

With A = M^-1, an item with features x and topics t scores

    x . theta + sum_j t_j left_j theta_j
              + alpha sqrt(x^T A x + sum_j t_j left_j (2 (A x)_j + sum_i t_i left_i A_ij)).

All but what is left of topics is the same for a whole slate, so these terms are computed once:
for each topic of an item t theta, 2 t (A x), t^2 A, and 2 t t' A' with each topic before it. Items
come by the number of their topics, so that a block of 16 has few terms that are 0.

The sums are exact but for rounding. `exact_score` gives the bits of `TopicalBeliefs`.
"""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.lanes import (
    at_least_zero,
    larger,
    load_items,
    splat_items,
    square_root,
    store_items,
)
from faircascade.engine.cpu.kernels.scoring import gather, means, widths
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.engine.cpu.topical_records import CORNERED
from faircascade.numerics import ROUNDOFF
from faircascade.ranking import RESOLUTION


@part
def prepare(topical, room, lane, M_inv, alpha):
    """Note what scores are made of, and how far rounding can move them.

    Computed in any order, a score is off by at most `width_error` of the ridge's beliefs and some
    roundoffs; the allowance is for two of them, and for scores that are rounded.
    """
    d, first = len(room.left), topical.first
    pair, block = lane, 0
    norm, size = 0.0, 0.0
    for a in range(d):
        size += room.posterior[a] * room.posterior[a]
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
def score_features(env, topical, rules, room, items, count):
    """Compute x . theta and x^T M^-1 x of the features of some items, 0 without features."""
    x, first = room.x, topical.first
    for at in range(0, count, ITEMS):
        mean = square = splat_items(0.0)
        if first > 0:
            gather(env.features, items[at:], min(count - at, ITEMS), ITEMS, x)
            mean = means(x, 0, ITEMS, room.posterior, 0, 1, first)
            if rules.alpha > 0.0:
                width = widths(x, 0, ITEMS, room.block, 0, first)
                square = width * width
        store_items(room.base, at, mean)
        store_items(room.squares, at, square)
    for i in range(count, -(-count // ITEMS) * ITEMS):
        room.base[i] = -np.inf


@part
def assemble(env, topical, rules, room, items, count):
    """Compute the terms of some items, which come by the number of their topics."""
    most, size = topical.most, len(room.terms) // len(room.many)
    for at in range(0, count, ITEMS):
        block, last = at // ITEMS, items[min(at + ITEMS, count) - 1]
        many = topical.start[last + 1] - topical.start[last]
        room.many[block] = many
        for lane in range(ITEMS):
            item, known = np.int64(0), np.int64(0)
            if at + lane < count:
                item = np.int64(items[at + lane])
                known = topical.start[item + 1] - topical.start[item]
            topics, terms = block * most * ITEMS + lane, block * size + lane
            assemble_one(env, topical, rules, room, item, known, many, topics, terms)


@inlined
def assemble_one(env, topical, rules, room, item, known, many, topics, term):
    """Compute the terms of an item that is about `known` topics; up to `many` they are 0."""
    d, begin, row = len(room.left), topical.start[item], env.features[item]
    for j in range(known):
        a, value = topical.column[begin + j], topical.value[begin + j]
        room.topics[topics + j * ITEMS] = a
        room.terms[term] = value * room.posterior[a]
        term += ITEMS
        if rules.alpha > 0.0:
            cross = 0.0
            for b in range(topical.first):
                cross += row[b] * room.A[a * d + b]
            room.terms[term] = value * (cross + cross)
            room.terms[term + ITEMS] = value * value * room.A[a * d + a]
            term += 2 * ITEMS
            for h in range(j):
                pair = topical.value[begin + h] * room.A[a * d + topical.column[begin + h]]
                room.terms[term] = value * (pair + pair)
                term += ITEMS
    for j in range(known, many):
        room.topics[topics + j * ITEMS] = 0
        for _ in range(3 + j if rules.alpha > 0.0 else 1):
            room.terms[term] = 0.0
            term += ITEMS


@part
def score_now(topical, rules, room, first, count):
    """Score items from a place on, whose terms are computed, with what is left of their topics."""
    left, lefts, terms = room.left, room.lefts, room.terms
    size = len(terms) // len(room.many)
    for at in range(0, count, ITEMS):
        block = at // ITEMS
        term, many = block * size, room.many[block]
        topics = block * topical.most * ITEMS
        for i in range(many * ITEMS):
            lefts[i] = left[room.topics[topics + i]]
        mean, square = load_items(room.base, first + at), load_items(room.squares, first + at)
        for j in range(many):
            own = load_items(lefts, j * ITEMS)
            mean = mean + own * load_items(terms, term)
            term += ITEMS
            if rules.alpha > 0.0:
                inner = load_items(terms, term) + own * load_items(terms, term + ITEMS)
                term += 2 * ITEMS
                for h in range(j):
                    inner = inner + load_items(lefts, h * ITEMS) * load_items(terms, term)
                    term += ITEMS
                square = square + own * inner
        if rules.alpha > 0.0:
            mean = mean + splat_items(rules.alpha) * square_root(at_least_zero(square))
        store_items(room.now, first + at, mean)


@part
def bound(rules, room, first, count, bounds):
    """Bound the scores of items from a place on, whose terms are computed, in every slate.

    A score may grow as the slate does, where theta or A is negative, although what is left of
    topics only falls. But it is convex in what is left, so it is largest at a corner of the box
    below: where each topic is left as it is or not at all. An item about many topics has too many
    corners; without terms below 0 its score is a bound, too, but looser.
    """
    for at in range(0, count, ITEMS):
        block = at // ITEMS
        term, many = block * (len(room.terms) // len(room.many)), room.many[block]
        mean, square = load_items(room.base, first + at), load_items(room.squares, first + at)
        if rules.alpha > 0.0 and many <= CORNERED:
            mean = highest_corner(rules, room, term, many, mean, square)
        else:
            mean = without_negatives(rules, room, term, many, mean, square)
        store_items(bounds, first + at, mean)


@inlined
def highest_corner(rules, room, term, many, mean, square):
    """Score the items of a block with every subset of their topics; return the best scores."""
    means, squares, more, terms = room.corner_means, room.corner_squares, room.more, room.terms
    store_items(means, 0, mean)
    store_items(squares, 0, square)
    corners = ITEMS
    for j in range(many):
        slope = load_items(terms, term)
        store_items(more, 0, load_items(terms, term + ITEMS) + load_items(terms, term + 2 * ITEMS))
        term += 3 * ITEMS
        size = ITEMS
        for _ in range(j):  # what the topic adds beside each subset of those before it
            pair = load_items(terms, term)
            term += ITEMS
            for at in range(0, size, ITEMS):
                store_items(more, size + at, load_items(more, at) + pair)
            size += size
        for at in range(0, corners, ITEMS):
            store_items(means, corners + at, load_items(means, at) + slope)
            store_items(squares, corners + at, load_items(squares, at) + load_items(more, at))
        corners += corners
    alpha = splat_items(rules.alpha)
    highest = mean + alpha * square_root(at_least_zero(square))
    for at in range(ITEMS, corners, ITEMS):
        width = square_root(at_least_zero(load_items(squares, at)))
        highest = larger(highest, load_items(means, at) + alpha * width)
    return highest


@inlined
def without_negatives(rules, room, term, many, mean, square):
    """Score the items of a block without terms below 0."""
    terms, zero = room.terms, splat_items(0.0)
    for j in range(many):
        mean = mean + at_least_zero(load_items(terms, term))
        term += ITEMS
        if rules.alpha > 0.0:
            square = square + at_least_zero(load_items(terms, term))
            square = square + load_items(terms, term + ITEMS)
            term += 2 * ITEMS
            for _ in range(j):
                pair = load_items(terms, term)
                square = square + larger(pair, zero - pair)
                term += ITEMS
    if rules.alpha > 0.0:
        mean = mean + splat_items(rules.alpha) * square_root(at_least_zero(square))
    return mean


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
