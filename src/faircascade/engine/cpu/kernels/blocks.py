"""Rounds of TopRank: shuffle the blocks, observe, compare the items of a block.

Blocks change only where a comparison is decided, at most once for each pair of items.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from faircascade.engine.cpu.kernels.compiling import inlined, kernel, part
from faircascade.engine.cpu.kernels.draws import absorb
from faircascade.engine.cpu.kernels.observing import comes, last_noticed, observe
from faircascade.engine.cpu.records import USERS
from faircascade.estimators.toprank import lead_needed

needed = register_jitable(lead_needed)


@kernel
def serve_blocks(
    env, numbers, draws, rules, pairs, books, trace, scratch, stop, groups, first, last
):
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    users = len(env.preferences)
    for user in range(groups[0] * USERS, min(groups[1] * USERS, users)):
        for t in range(first, last + 1):
            if stop[0]:
                return
            word = np.uint64(t)
            if not comes(draws, user, word):
                continue
            pairs.served[user] = True
            shuffle(env, rules, pairs, scratch, user, absorb(draws.tie[user], word))
            observe(env, numbers, draws, rules, books, trace, scratch, user, 0.0, word, t - first)
            if learn(rules, pairs, scratch, user):
                sort_into_blocks(pairs.better[user], pairs.order[user], pairs.block[user])


@inlined
def shuffle(env, rules, pairs, scratch, user, ties):
    """Fill the slate block by block, the items of each in the order of their draws."""
    order, block = pairs.order[user], pairs.block[user]
    slate, lots = scratch.slate, scratch.lots
    filled, at = 0, 0
    while filled < rules.k:
        begin = at  # of a block, in the order and in the slate
        while at < len(order) and block[order[at]] == begin:
            item = order[at]
            lot = absorb(ties, env.keys[item])
            at += 1
            if filled == rules.k:
                if lot >= lots[filled - 1]:
                    continue
            else:
                filled += 1
            place = filled - 1
            while place > begin and lot < lots[place - 1]:
                slate[place] = slate[place - 1]
                lots[place] = lots[place - 1]
                place -= 1
            slate[place], lots[place] = item, lot


@inlined
def learn(rules, pairs, scratch, user):
    """Compare each clicked item with those of its block that were not: `TopRankBlocks.update`.

    Return whether one is known to be better now.
    """
    wins, better = pairs.wins[user], pairs.better[user]
    order, block = pairs.order[user], pairs.block[user]
    slate, clicks, hit = scratch.slate, scratch.clicks, scratch.hit
    last = last_noticed(rules, clicks)
    for position in range(last):
        hit[slate[position]] = clicks[position] and rules.noticed[position] > 0.0
    decided = False
    for position in range(last):
        item = slate[position]
        if not hit[item]:
            continue
        at = begin = block[item]
        while at < len(order) and block[order[at]] == begin:
            other = order[at]
            at += 1
            if hit[other]:
                continue
            wins[item, other] += 1
            lead = np.float64(wins[item, other] - wins[other, item])
            count = np.float64(wins[item, other] + wins[other, item])
            # most are far from it, which takes no logarithm to see
            if lead <= 0.0 or lead * lead < rules.least * count:
                continue
            if lead >= needed(count, rules.delta) and not better[item, other]:
                better[item, other] = decided = True
    for position in range(last):
        hit[slate[position]] = False
    return decided


@part
def sort_into_blocks(better, order, block):
    """Put items into the order of their blocks; a block is named by its place there: `blocks`."""
    m = len(order)
    done = 0
    for item in range(m):
        block[item] = -1
    while done < m:
        begin = done
        for item in range(m):
            if block[item] >= 0:
                continue
            beaten = False
            for other in range(m):  # those of this very block are not done yet
                left = block[other] < 0 or block[other] == begin
                beaten = beaten or (left and better[other, item])
            if not beaten:
                order[done] = item
                done += 1
                block[item] = begin
        if done == begin:  # a circle
            for item in range(m):
                if block[item] < 0:
                    order[done] = item
                    done += 1
                    block[item] = begin
