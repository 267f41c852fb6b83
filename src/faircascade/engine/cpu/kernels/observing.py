"""What happens to a slate once it is shown: clicks, counts, a trace."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined
from faircascade.engine.cpu.kernels.draws import absorb, uniform
from faircascade.metrics.tally import BY_ROUND, LARGEST, UNIT

SERVED, CLICKS, CLICKED = (BY_ROUND.index(name) for name in ("served", "clicks", "clicked"))
OPTIMAL_CLICKS, REGRET, WIDTH = (
    BY_ROUND.index(name) for name in ("optimal_clicks", "regret", "width")
)
"""Rows of `StepCounts.by_round`."""


@inlined
def comes(draws, rules, user, word):
    """Say whether a user comes in a round."""
    return rules.activity == 1.0 or uniform(absorb(draws.visit[user], word)) < rules.activity


@inlined
def observe(env, draws, rules, books, trace, user, items, width, word, place):
    """Show a slate in the round at a place of the step; return the clicked position, or 0."""
    luck = absorb(draws.attraction[user], word)
    clicked, expected = respond(env, items, user, luck)
    for position in range(rules.k):
        books.appearances[env.rows[items[position]], position] += 1
    by_round = books.by_round
    by_round[SERVED, place] += 1
    if clicked > 0:
        books.item_clicks[env.rows[items[clicked - 1]], clicked - 1] += 1
        by_round[CLICKS, place] += 1
        by_round[CLICKED, place] += 1
    if rules.realised:
        ideal, _ = respond(env, env.optimal_slates[user], user, luck)
        by_round[OPTIMAL_CLICKS, place] += ideal > 0
    by_round[REGRET, place] += to_units(env.optimal_values[user] - expected)
    by_round[WIDTH, place] += to_units(width)
    if rules.traced:
        for position in range(rules.k):
            trace.slates[place, user, position] = env.rows[items[position]]
        trace.clicked[place, user] = clicked
    return clicked


@inlined
def seen_up_to(clicked, k):
    """Return the last position seen: `FirstClick.seen` of one click, or of none (0)."""
    return clicked if clicked > 0 else k


@inlined
def respond(env, items, user, luck):
    """Return the clicked position (0 for none) and the probability of a click: a cascade."""
    clicked = 0
    missed = 1.0
    for position in range(len(items)):
        item = items[position]
        attraction = attraction_of(env, user, item)
        missed *= 1.0 - attraction
        if clicked == 0 and uniform(absorb(luck, env.keys[item])) < attraction:
            clicked = position + 1
    return clicked, 1.0 - missed


@inlined
def attraction_of(env, user, item):
    """Return the attraction of an item; features that are 0 add nothing, and few may be others."""
    preference = env.preferences[user]
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


@inlined
def to_units(value):
    """Return a fraction as a multiple of 2^-32: `tally.to_units` of one value."""
    return np.int64(np.rint(min(value, LARGEST) / UNIT))
