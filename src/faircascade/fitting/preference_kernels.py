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
def predict_clicks(
    users, items, clicks, looks, features, means, doubts, softness, nodes, weights, out
):
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
            clicked = 1.0 if clicks[row, place] else 0.0
            push, weight = expected_slope(
                level, variance, clicked, 1.0, looks[row, place], softness, nodes, weights
            )
            gain = 1.0 / (1.0 + weight * variance)
            for i in range(d):
                means[user, i] += push * gain * turned[i]
                for j in range(d):
                    doubts[user, i, j] -= weight * gain * turned[i] * turned[j]


@compiled
def mean_attraction(level, variance):
    """Return the mean of a normal level that is cut at 0."""
    if variance < 1e-18:
        return min(max(level, _LEAST), MOST)
    spread = math.sqrt(variance)
    t = level / spread
    found = level * 0.5 * math.erfc(-t / math.sqrt(2.0))
    found += spread * math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return min(max(found, _LEAST), MOST)
