"""Sums over pairs of user and item, and predictions click by click, compiled."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np

from faircascade.kernel_cache import compiled as compiled_from

compiled = partial(compiled_from, sources=[Path(__file__)])

MOST = 0.98
"""Attraction is predicted to be no more than this."""
_LEAST = 1e-9
_KNOWN = 1e-18
"""Variance of a level below which it is as good as known."""
_FAR = -20.0
"""Standard deviations from 0 below which only series are exact."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@compiled
def soft_attraction(level, softness):
    """Return attraction at a level, cut at 0 with a rounded corner, and its slope."""
    t = level / softness
    if t > 30.0:
        found, slope = level, 1.0
    elif t < -30.0:
        found, slope = 0.0, 0.0
    else:
        e = math.exp(-abs(t))
        found = softness * (max(t, 0.0) + math.log1p(e))
        slope = 1.0 / (1.0 + e) if t >= 0 else e / (1.0 + e)
    if found > MOST:
        return MOST, 0.0
    return max(found, _LEAST), slope


@compiled
def expected_slope(level, variance, clicks, times, looks, softness, nodes, weights):
    """Return the mean of the slope and of the negative curvature of the log-likelihood, over
    levels that are normal.

    An item was there `times` times, and looked at with probability looks / times each time.
    """
    seen = looks / times
    spread = math.sqrt(variance)
    if spread < 0.1 * softness:  # as good as known: Fisher information
        p, rise = soft_attraction(level, softness)
        unclicked = 1.0 - seen * p
        slope = rise * (clicks / p - (times - clicks) * seen / unclicked)
        return slope, times * seen * rise * rise / (p * unclicked)
    slope = along = 0.0
    for i in range(len(nodes)):
        p, rise = soft_attraction(level + spread * nodes[i], softness)
        here = weights[i] * rise * (clicks / p - (times - clicks) * seen / (1.0 - seen * p))
        slope += here
        along += here * nodes[i]
    return slope, max(-along / spread, 0.0)


@compiled
def add_pairs(
    first, last, starts, others, clicks, times, looks, mine, my_doubts, theirs, their_doubts,
    softness, nodes, weights, moments, slopes,
):  # fmt: skip
    """Add up information (n, d, d) and slopes (n, d) of rows first to last, the levels of pairs
    being as uncertain as both sides are. `their_doubts` may be none."""
    d = mine.shape[1]
    turned = np.empty(d)
    for row in range(first, last):
        for pair in range(starts[row], starts[row + 1]):
            if looks[pair] <= 0.0:
                continue
            other = others[pair]
            level = variance = 0.0
            for i in range(d):
                level += mine[row, i] * theirs[other, i]
                turned[i] = 0.0
                for j in range(d):
                    variance += theirs[other, i] * my_doubts[row, i, j] * theirs[other, j]
                    if len(their_doubts):
                        turned[i] += their_doubts[other, i, j] * mine[row, j]
                        variance += my_doubts[row, i, j] * their_doubts[other, i, j]
                variance += turned[i] * mine[row, i]
            push, weight = expected_slope(
                level, variance, clicks[pair], times[pair], looks[pair], softness, nodes, weights
            )
            for i in range(d):
                slopes[row, i] += push * theirs[other, i] - weight * turned[i]
                for j in range(d):
                    moments[row, i, j] += weight * theirs[other, i] * theirs[other, j]
                    if len(their_doubts):
                        moments[row, i, j] += weight * their_doubts[other, i, j]


@compiled
def predict_clicks(users, items, clicks, looks, features, means, doubts, out):
    """Predict attraction at each position (n, K) from what its user did before, then learn from it.

    `means` (u, d) and `doubts` (u, d, d) are what is believed of users; they are changed.
    """
    n, k = items.shape
    d = features.shape[1]
    turned = np.empty(d)
    for row in range(n):
        user = users[row]
        for place in range(k):
            item = items[row, place]
            if item < 0:
                continue
            level = variance = 0.0
            for i in range(d):
                level += features[item, i] * means[user, i]
                turned[i] = 0.0
                for j in range(d):
                    turned[i] += doubts[user, i, j] * features[item, j]
                variance += turned[i] * features[item, i]
            variance = max(variance, 0.0)
            out[row, place] = mean_attraction(level, variance)
            if looks[row, place] <= 0.0:
                continue
            push, bend = change_by_click(level, variance, clicks[row, place], looks[row, place])
            for i in range(d):
                means[user, i] += push * turned[i]
                for j in range(d):
                    doubts[user, i, j] += bend * turned[i] * turned[j]


@compiled
def change_by_click(level, variance, clicked, look):
    """Return slope and curvature, along the mean of a normal level, of the log probability of a
    click or of none.

    The level is known better then: its mean is the mean plus variance times slope, its variance the
    variance plus its square times curvature. Both are exact, so that on average over what can
    happen beliefs stay where they are, and forecasts are right whatever is shown.
    """
    if variance < _KNOWN:
        return 0.0, 0.0
    spread = math.sqrt(variance)
    if clicked and level < _FAR * spread:  # far below 0: the ratios of what nearly vanishes
        x = -level / spread
        return (x + 2.0 / x) / spread, (2.0 / (x * x) - 1.0) / variance
    part, above, density = excess(level, spread)
    cut, over, corner = excess(level - MOST, spread)
    share = 1.0 / (part - cut) if clicked else -look / (1.0 - look * (part - cut))
    slope = share * (above - over)
    return slope, share * (density - corner) - slope * slope


@compiled
def excess(level, spread):
    """Return the mean of a normal level that is cut at 0, and its first two derivatives."""
    t = level / spread
    above = 0.5 * math.erfc(-t / math.sqrt(2.0))
    density = math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return level * above + spread * density, above, density / spread


@compiled
def mean_attraction(level, variance):
    """Return the mean of a normal level that is cut at 0 and `MOST`."""
    if variance < _KNOWN:
        return min(max(level, _LEAST), MOST)
    spread = math.sqrt(variance)
    return max(excess(level, spread)[0] - excess(level - MOST, spread)[0], _LEAST)
