"""What happens to a slate once it is shown: clicks, counts, a trace, and what is seen of it."""

from __future__ import annotations

import numpy as np

from faircascade.clicks.sequential import SequentialModel
from faircascade.engine.cpu.click_numbers import CASCADE
from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.draws import absorb, uniform
from faircascade.engine.cpu.records import USERS
from faircascade.metrics.tally import BY_ROUND, LARGEST, UNIT
from faircascade.observations.base import FIRST_CLICK, LAST_CLICK

SERVED, CLICKS, CLICKED = (BY_ROUND.index(name) for name in ("served", "clicks", "clicked"))
OPTIMAL_CLICKS, REGRET, WIDTH = (
    BY_ROUND.index(name) for name in ("optimal_clicks", "regret", "width")
)
"""Rows of `StepCounts.by_round`."""
SEQUENTIAL = SequentialModel.code
"""A value of `ClickNumbers.model`; `CASCADE` is another."""


@inlined
def comes(draws, user, word):
    """Say whether a user comes in a round."""
    chance = draws.chances[user]
    return chance == 1.0 or uniform(absorb(draws.visit[user], word)) < chance


@inlined
def observe(env, numbers, draws, rules, books, trace, scratch, user, width, word, place):
    """Show a slate in the round at a place of the step; `numbers` are those of the click model.

    Return the only position that a cascade clicked, or 0. Unless the rules are plain, all clicks
    are in `scratch.clicks`.
    """
    items, clicks, by_round = scratch.slate, scratch.clicks, books.by_round
    luck = absorb(draws.attraction[user], word)
    clicked, optimal_clicks = 0, 0
    if numbers.model == CASCADE:
        clicked, expected = respond(env, items, user, luck)
        count = np.int64(clicked > 0)
        if clicked > 0:
            books.item_clicks[env.rows[items[clicked - 1]], clicked - 1] += 1
        if not rules.plain:
            for position in range(rules.k):
                clicks[position] = position + 1 == clicked
        if rules.realised:
            ideal, _ = respond(env, env.optimal_slates[user], user, luck)
            optimal_clicks += ideal > 0
    else:
        looks = absorb(draws.examination[user], word)
        count, expected = browse(env, numbers, items, user, luck, looks, clicks, scratch.chances)
        for position in range(rules.k):
            if clicks[position]:
                books.item_clicks[env.rows[items[position]], position] += 1
        if rules.realised:
            ideal, _ = browse(
                env, numbers, env.optimal_slates[user], user, luck, looks, scratch.ideal_clicks,
                scratch.chances,
            )  # fmt: skip
            optimal_clicks += ideal
    for position in range(rules.k):
        books.appearances[env.rows[items[position]], position] += 1
    by_round[SERVED, place] += 1
    by_round[CLICKS, place] += count
    by_round[CLICKED, place] += count > 0
    by_round[OPTIMAL_CLICKS, place] += optimal_clicks
    by_round[REGRET, place] += to_units(env.optimal_values[user] - expected)
    by_round[WIDTH, place] += to_units(width)
    if rules.traced:
        for position in range(rules.k):
            trace.slates[place, user, position] = env.rows[items[position]]
            hit = position + 1 == clicked if rules.plain else clicks[position]
            trace.clicks[place, user, position] = hit
    return clicked


@inlined
def seen_up_to(clicked, k):
    """Return the last position seen: `FirstClick.seen` of one click, or of none (0)."""
    return clicked if clicked > 0 else k


@inlined
def last_noticed(rules, clicks):
    """Return the last position of a slate that is seen, at least in part; 0 if none is."""
    limit = rules.k
    for position in range(rules.k):
        if clicks[position] and rules.until == LAST_CLICK:
            limit = position + 1
        elif clicks[position] and rules.until == FIRST_CLICK:
            limit = min(limit, position + 1)
    last = 0
    for position in range(limit):
        if rules.noticed[position] > 0.0:
            last = position + 1
    return last


@inlined
def take_in(features, listed, rules, scratch, lane, d):
    """Note what a slate teaches, position by position; return how many positions that takes.

    The features of a position are the row of `features` that is `listed` there.

    At least one, although nothing may be seen of it: who was served learns, if only that.
    """
    k, clicks = rules.k, scratch.clicks
    last = last_noticed(rules, clicks)
    for position in range(last):
        if clicks[position]:
            factor = rules.clicked_factors[last - 1, position]
            target = rules.clicked[last - 1, position]
        else:
            factor = rules.ignored_factors[last - 1, position]
            target = rules.ignored[last - 1, position]
        scale = rules.noticed[position] * factor
        if rules.noticed[position] == 0.0:
            target = 0.0
        if rules.logistic:  # how much it counts stands beside it
            scratch.weights[(k + position) * USERS + lane] = scale
            scale = np.float64(scale > 0.0)
        at, row = position * d * USERS + lane, features[listed[position]]
        for a in range(d):
            scratch.shown[at + a * USERS] = row[a] * scale
        scratch.weights[position * USERS + lane] = target
    for position in range(last, k):
        at = position * d * USERS + lane
        for a in range(d):
            scratch.shown[at + a * USERS] = 0.0
        scratch.weights[position * USERS + lane] = 0.0
    return np.int64(max(last, 1))


@inlined
def attraction_of(env, item, preference):
    """Return the probability that an item attracts a user; features that are 0 add nothing."""
    if len(env.nonzero) > 0:
        total = 0.0
        for at in range(env.nonzero_from[item], env.nonzero_from[item + 1]):
            total += env.nonzero_x[at] * preference[env.nonzero[at]]
    else:
        row = env.features[item]
        total = row[0] * preference[0]
        for a in range(1, len(preference)):
            total += row[a] * preference[a]
    return min(max(total, 0.0), 1.0)


@part
def respond(env, items, user, luck):
    """Return the clicked position (0 for none) and the probability of a click: a cascade."""
    preference = env.preferences[user]
    clicked = 0
    missed = 1.0
    for position in range(len(items)):
        item = items[position]
        attraction = attraction_of(env, item, preference)
        missed *= 1.0 - attraction
        if clicked == 0 and uniform(absorb(luck, env.keys[item])) < attraction:
            clicked = position + 1
    return clicked, 1.0 - missed


@inlined
def browse(env, numbers, items, user, luck, looks, clicks, chances):
    """Let a user go through a slate; return how many positions they click, and its value."""
    if numbers.model == SEQUENTIAL:
        return browse_in_sequence(env, numbers, items, user, luck, looks, clicks)
    return browse_by_position(env, numbers, items, user, luck, looks, clicks, chances)


@inlined
def browse_in_sequence(env, numbers, items, user, luck, looks, clicks):
    """`SequentialModel`: its clicks, how many there are, and its value."""
    preference = env.preferences[user]
    count, goes_on = 0, True
    total, reached = 0.0, 1.0
    for position in range(len(items)):
        item = items[position]
        w = attraction_of(env, item, preference)
        clicks[position] = goes_on and uniform(absorb(luck, env.keys[item])) < w
        count += clicks[position]
        after_click = (numbers.clicked[position] + numbers.slope * w) * numbers.kept[item]
        if goes_on and (clicks[position] or numbers.ignored < 1.0):
            likely = after_click if clicks[position] else numbers.ignored
            goes_on = uniform(absorb(looks, np.uint64(position + 1))) < likely
        total += reached * (w * (numbers.gain[position] * numbers.worth[item]))
        reached *= (1.0 - w) * numbers.ignored + w * after_click
    return count, total


@inlined
def browse_by_position(env, numbers, items, user, luck, looks, clicks, chances):
    """`PositionalModel`: its clicks, how many there are, and its value."""
    preference = env.preferences[user]
    count, before = 0, 0
    total = 0.0
    chances[0] = 1.0
    for position in range(len(items)):
        item = items[position]
        w = attraction_of(env, item, preference)
        looked = (
            uniform(absorb(looks, np.uint64(position + 1)))
            < (numbers.examination[position, position - before])
        )
        clicks[position] = looked and uniform(absorb(luck, env.keys[item])) < w
        if clicks[position]:
            count += 1
            before = position + 1
        clicked = 0.0
        for last in range(position + 1):
            chance = chances[last] * (numbers.examination[position, position - last] * w)
            chances[last] -= chance
            clicked += chance
        chances[position + 1] = clicked
        total += clicked
    return count, total


@inlined
def to_units(value):
    """Return a fraction as a multiple of 2^-32: `tally.to_units` of one value."""
    return np.int64(np.rint(min(value, LARGEST) / UNIT))
