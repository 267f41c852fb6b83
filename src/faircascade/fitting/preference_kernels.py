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
_LEAST = 1e-6


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
def add_pairs(
    first, last, starts, others, looks, clicks, mine, theirs, doubts, softness, moments, slopes
):
    """Add up information (n, d, d) and slopes of the log-likelihood (n, d) of rows first to last.

    `doubts` are covariances of `theirs`, or none of them.
    """
    d = mine.shape[1]
    for row in range(first, last):
        for pair in range(starts[row], starts[row + 1]):
            other = others[pair]
            level = 0.0
            for i in range(d):
                level += mine[row, i] * theirs[other, i]
            p, slope = soft_attraction(level, softness)
            scale = slope / (p * (1.0 - p))
            weight = looks[pair] * slope * scale
            push = (clicks[pair] - looks[pair] * p) * scale
            for i in range(d):
                slopes[row, i] += push * theirs[other, i]
                for j in range(d):
                    moments[row, i, j] += weight * theirs[other, i] * theirs[other, j]
            if len(doubts):
                for i in range(d):
                    for j in range(d):
                        moments[row, i, j] += weight * doubts[other, i, j]
                        slopes[row, i] -= weight * doubts[other, i, j] * mine[row, j]


@compiled
def predict_clicks(users, items, clicks, looks, features, means, doubts, softness, out):
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
            out[row, place] = mean_attraction(level, variance)
            if looks[row, place] <= 0.0:
                continue
            p, slope = soft_attraction(level, softness)
            scale = slope / (p * (1.0 - p))
            weight = looks[row, place] * slope * scale
            push = ((1.0 if clicks[row, place] else 0.0) - looks[row, place] * p) * scale
            gain = 1.0 / (1.0 + weight * variance)
            step = min(max(push * gain, -1.0 / math.sqrt(variance)), 1.0 / math.sqrt(variance))
            for i in range(d):
                means[user, i] += step * turned[i]
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
