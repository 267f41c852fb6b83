"""Rounds of policies that do not learn: slates from scores that are fixed, or drawn."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import kernel
from faircascade.engine.cpu.kernels.draws import absorb, uniform
from faircascade.engine.cpu.kernels.observing import comes, observe
from faircascade.engine.cpu.kernels.ranking import keep_best
from faircascade.engine.cpu.records import USERS


@kernel
def serve_yardstick(
    env, numbers, draws, rules, contenders, books, trace, scratch, stop, groups, first, last
):
    """Serve the users of some groups in rounds first, ..., last; return early if told to stop."""
    users = len(env.preferences)
    for user in range(groups[0] * USERS, min(groups[1] * USERS, users)):
        row = user if len(contenders.items) == users else 0
        items, scores = contenders.items[row], contenders.scores[row]
        for t in range(first, last + 1):
            if stop[0]:
                return
            word = np.uint64(t)
            if not comes(draws, user, word):
                continue
            if contenders.drawn:
                lots = absorb(draws.random[user], word)
                scores = scratch.scores
                for i in range(len(items)):
                    scores[i] = uniform(absorb(lots, env.keys[items[i]]))
            ties = absorb(draws.tie[user], word)
            keep_best(
                scores, items, len(items), rules.k, ties, env.keys, scratch.slate, scratch.values
            )
            observe(env, numbers, draws, rules, books, trace, scratch, user, 0.0, word, t - first)
