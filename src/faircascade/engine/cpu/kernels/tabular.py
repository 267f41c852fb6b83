"""Rounds of a tabular bandit: rank by index, observe, count.

Between two times that an item is seen its index only grows, along a concave function of the level
of time. So a tangent bounds it, and items whose bound is below the slate need no index. Why slates
stay exact: docs/explanation/engine.md.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from faircascade.engine.cpu.kernels.compiling import inlined, kernel, part
from faircascade.engine.cpu.kernels.draws import absorb, normal_pair
from faircascade.engine.cpu.kernels.lanes import (
    first_lane,
    lanes_reaching,
    load_items,
    splat_items,
)
from faircascade.engine.cpu.kernels.observing import comes, last_noticed, observe, seen_up_to
from faircascade.engine.cpu.kernels.ranking import keep_best, rounded
from faircascade.engine.cpu.records import ITEMS, USERS
from faircascade.engine.cpu.table_records import INDICES, LAZY, MEMORY
from faircascade.exploration.indices import (
    CLOSE,
    MOST_STEPS,
    UNSEEN,
    gamma_trial,
    gaussian_spread,
    kl_rest,
    kl_start,
    kl_step,
    kl_time,
    log_time,
    ucb1_bonus,
)
from faircascade.ranking import RESOLUTION

UCB1, KL_UCB, GAUSSIAN, BETA = (
    INDICES.index(name) for name in ("ucb1", "kl-ucb", "gaussian", "beta")
)
WORD = 64
"""Items that are looked at before any of them is ranked: the bits of a word."""
UNKNOWN = 2.0 * UNSEEN
"""Bound of an item whose index has to be computed."""
SLACK = RESOLUTION / 4.0
"""Allows for rounding: indices are compared as multiples of the resolution."""
CALMER = 0.7
"""By which the margin shrinks from slate to slate."""
LARGEST_MARGIN = 0.25

for _function in (
    log_time,
    kl_time,
    ucb1_bonus,
    kl_start,
    kl_rest,
    kl_step,
    gaussian_spread,
    gamma_trial,
):
    register_jitable(_function)


@kernel
def serve_table(
    env, numbers, draws, rules, table, books, trace, scratch, stop, groups, first, last
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
            ties = absorb(draws.tie[user], word)
            time = 1.0 + table.slates[user]
            if rules.ranks_by < LAZY:
                fill(env, rules, table, scratch, user, ties, time)
            else:
                draw_all(env, draws, rules, table, scratch.scores, user, word, time)
                keep_best(
                    scratch.scores, scratch.slate[:0], len(env.keys), rules.k, ties, env.keys,
                    scratch.slate, scratch.values,
                )  # fmt: skip
            clicked = observe(
                env, numbers, draws, rules, books, trace, scratch, user, 0.0, word, t - first
            )
            learn(rules, table, scratch, user, clicked)


@inlined
def learn(rules, table, scratch, user, clicked):
    """Count what was seen: `Tabular.update`."""
    last = seen_up_to(clicked, rules.k)
    if not rules.plain:
        last = last_noticed(rules, scratch.clicks)
    for position in range(last):
        if not rules.noticed[position] > 0.0:
            continue
        item = scratch.slate[position]
        hit = position == clicked - 1 if rules.plain else scratch.clicks[position]
        target = rules.ignored[last - 1, position]
        if hit:
            target = rules.clicked[last - 1, position]
        table.targets[user, item] += target
        table.positions[user, item] += 1.0
        table.seen[user, item] += rules.noticed[position]
        table.base[user, item] = UNKNOWN
        table.slope[user, item] = 0.0
    table.slates[user] += 1


@part
def fill(env, rules, table, scratch, user, ties, time):
    """Put the items of the largest indices into the slate."""
    level = rules.strength * log_time(time)
    if rules.ranks_by == KL_UCB:
        level = kl_time(time)
    reach, margin = table.reach[user], table.margin[user]
    limit = reach - margin if rules.lazy else -np.inf
    kept = pick(env, rules, table, scratch, user, ties, level, limit)
    last = rules.k - 1
    if kept < rules.k or (scratch.values[last] - 1.0) * RESOLUTION < limit:
        pick(env, rules, table, scratch, user, ties, level, -np.inf)
    table.reach[user] = scratch.values[last] * RESOLUTION
    drop = 1.5 * (reach - table.reach[user])
    if drop < LARGEST_MARGIN:
        table.margin[user] = max(CALMER * margin, drop, 4.0 * RESOLUTION)


@part
def pick(env, rules, table, scratch, user, ties, level, limit):
    """Put the items of the largest indices that reach a limit into the slate; return how many."""
    base, slope = table.base[user], table.slope[user]
    best, values, lots = scratch.slate, scratch.values, scratch.lots
    kept = 0
    half = 0.5 / level if level > 0.0 else np.inf
    floor = limit  # an index below it cannot come in
    last, score = -1, 0.0  # the item before, whose numbers are often the same
    for at in range(0, len(base), WORD):
        reaching = items_reaching(base, slope, level, at, floor if rules.lazy else -UNKNOWN)
        while reaching != 0:
            item = at + first_lane(reaching)
            reaching &= reaching - 1
            if rules.lazy and base[item] + slope[item] * level < floor:
                continue
            if last >= 0 and are_alike(table, user, item, last):
                base[item], slope[item] = base[last], slope[last]
            else:
                score = index_of(rules, table, scratch.known, user, item, level, half)
            last = item
            if score < floor:
                continue
            value = rounded(score)
            lot = absorb(ties, env.keys[item])
            if kept == rules.k:
                if value == values[kept - 1] and lot > lots[kept - 1]:
                    continue
                if value < values[kept - 1]:
                    continue
            else:
                kept += 1
            place = kept - 1
            while place > 0 and (
                value > values[place - 1] or (value == values[place - 1] and lot < lots[place - 1])
            ):
                best[place] = best[place - 1]
                values[place] = values[place - 1]
                lots[place] = lots[place - 1]
                place -= 1
            best[place], values[place], lots[place] = item, value, lot
            if kept == rules.k:
                floor = max(limit, (values[kept - 1] - 1.0) * RESOLUTION)
    return kept


@inlined
def items_reaching(base, slope, level, first, floor):
    """Return which of the next 64 items have a bound that reaches a floor, as bits.

    A branch for each 64 items is guessed wrong less often than one for each 16.
    """
    reaching = 0
    for at in range(first, min(first + WORD, len(base)), ITEMS):
        bounds = load_items(base, at) + load_items(slope, at) * splat_items(level)
        reaching |= lanes_reaching(bounds, splat_items(floor)) << (at - first)
    return reaching


@inlined
def are_alike(table, user, item, other):
    """Say whether two items have the same sums, and so the same index."""
    return (
        table.seen[user, item] == table.seen[user, other]
        and table.targets[user, item] == table.targets[user, other]
        and table.positions[user, item] == table.positions[user, other]
    )


@inlined
def index_of(rules, table, known, user, item, level, half):
    """Return the index of an item now, and note how it can grow; `half` is 1 / (2 level)."""
    positions, count = table.positions[user, item], table.seen[user, item]
    score, slope = UNSEEN, 0.0
    if positions > 0.0:
        mean = table.targets[user, item] / count
        if rules.ranks_by == KL_UCB:
            score, slope = kl_ucb(known, min(max(mean, 0.0), 1.0), count, level)
        else:
            bonus = ucb1_bonus(count, positions, level)
            score = mean + bonus
            slope = bonus * half
    if slope < np.inf:
        table.base[user, item] = score - slope * level + SLACK
        table.slope[user, item] = slope
    return score


@part
def kl_ucb(known, mean, count, level):
    """Return `indices.kl_index` and its slope in the level; items alike are computed once."""
    if mean >= 1.0:
        return 1.0, 0.0
    if not level > 0.0:
        return mean, np.inf
    entry = known[(np.int64(count) * 7 + np.int64(mean * 1021.0)) & (MEMORY - 1)]
    if entry[0] == mean and entry[1] == count and entry[2] == level:
        return entry[3], entry[4]
    budget = level / count
    rest, q = kl_rest(mean), kl_start(mean, budget)
    if not q > mean:
        return q, np.inf
    for _ in range(MOST_STEPS):
        now = kl_step(mean, rest, budget, q)
        near = abs(now - q) <= CLOSE * now * (1.0 - now)
        q = now
        if near:
            break
    entry[0], entry[1], entry[2] = mean, count, level
    entry[3], entry[4] = q, q * (1.0 - q) / ((q - mean) * count)
    return entry[3], entry[4]


@part
def draw_all(env, draws, rules, table, scores, user, word, time):
    """Draw a score for every item: `GaussianThompson.scores` and `BetaThompson.scores`."""
    z, level = 0.0, 0.0
    if rules.ranks_by == GAUSSIAN:
        nought = np.uint64(0)
        radius = absorb(absorb(draws.radius[user], word), nought)
        z, _ = normal_pair(radius, absorb(absorb(draws.angle[user], word), nought))
        level = log_time(time + 1.0)
    for item in range(len(env.keys)):
        count = table.seen[user, item]
        mean = 0.0
        if count > 0.0:
            mean = min(max(table.targets[user, item] / count, 0.0), 1.0)
        if rules.ranks_by == GAUSSIAN:
            scores[item] = mean + z * gaussian_spread(mean, count, level)
        else:
            clicked = mean * count
            key = env.keys[item]
            first = gamma(draws.gammas[:3, user], word, key, 1.0 + clicked)
            second = gamma(draws.gammas[3:, user], word, key, 1.0 + (count - clicked))
            scores[item] = first / (first + second)


@part
def gamma(words, word, key, shape):
    """Return a draw from Gamma(shape), trial by trial until one is kept."""
    radius = absorb(absorb(words[0], word), key)
    angle = absorb(absorb(words[1], word), key)
    luck = absorb(absorb(words[2], word), key)
    trial = np.uint64(0)
    while True:
        value, kept = gamma_trial(
            shape, absorb(radius, trial), absorb(angle, trial), absorb(luck, trial)
        )
        if kept:
            return value
        trial += np.uint64(1)
