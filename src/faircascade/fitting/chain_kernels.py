"""The E-step of sequential models, compiled: the same numbers as `expectation.expect_slowly`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from faircascade.kernel_cache import compiled


@partial(compiled, sources=[Path(__file__)])
def expect_group(tails, heads, positions, weights, w, ignored, of_entries, of_places, out):
    """Add what happened in tails (L, n) to the sums of `out`."""
    examined, entered, entered_at, sums = out
    length, n = tails.shape
    quiet = np.ones(length + 1)
    for i in range(n):
        for place in range(length - 1, -1, -1):
            below = quiet[place + 1]
            if place + 1 < length:
                below = below * ignored + (1.0 - ignored)
            quiet[place] = (1.0 - w[tails[place, i]]) * below
        going = of_entries[heads[i]] * of_places[positions[i]]
        total = 1.0 - going + going * quiet[0]
        sums[0] += weights[i] * np.log(total)
        reach = weights[i] * going / total
        entered[heads[i] + 1] += reach * quiet[0]
        entered_at[positions[i] + 1] += reach * quiet[0]
        for place in range(length):
            looks = reach * quiet[place]
            examined[tails[place, i]] += looks
            if place > 0:
                sums[1] += looks
            if place + 1 < length:
                reach *= 1.0 - w[tails[place, i]]
                sums[2] += (1.0 - ignored) * reach
                reach *= ignored
