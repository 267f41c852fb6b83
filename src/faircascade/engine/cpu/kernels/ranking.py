"""The best of many, ties decided by keys: `ranking.top_k` item by item."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.draws import absorb
from faircascade.ranking import RESOLUTION


@inlined
def rounded(score):
    """Return a score as a multiple of the resolution."""
    return np.rint(score / RESOLUTION)


@inlined
def is_before(value, item, other_value, other, ties, keys):
    """Say whether an item comes before another: by rounded score, then by tie key."""
    if value != other_value:
        return value > other_value
    return absorb(ties, keys[item]) < absorb(ties, keys[other])


@part
def keep_best(scores, items, count, size, ties, keys, best, values):
    """Put the first `size` of `count` items in order into `best`, their rounded scores in `values`.

    `items` may be empty: then item i has scores[i]. Return how many there are and the highest
    score that was left out.
    """
    kept = 0
    left_out = -np.inf
    floor = -np.inf  # a score below it cannot come in
    for i in range(count):
        score = scores[i]
        if score < floor:
            left_out = max(left_out, score)
            continue
        item = items[i] if len(items) > 0 else i
        value = rounded(score)
        if kept == size:
            if not is_before(value, item, values[size - 1], best[size - 1], ties, keys):
                left_out = max(left_out, score)
                continue
            left_out = max(left_out, (values[size - 1] + 0.5) * RESOLUTION)
        else:
            kept += 1
        place = kept - 1
        while place > 0 and is_before(value, item, values[place - 1], best[place - 1], ties, keys):
            values[place] = values[place - 1]
            best[place] = best[place - 1]
            place -= 1
        values[place] = value
        best[place] = item
        if kept == size:
            floor = (values[size - 1] - 1.0) * RESOLUTION
    return kept, left_out
