"""Scores of 16 items at a time, with the sums of `numerics.ordered_dot` and `quadratic_form`."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import inlined, part
from faircascade.engine.cpu.kernels.lanes import (
    at_least_zero,
    load_items,
    splat_items,
    square_root,
    store_items,
)
from faircascade.engine.cpu.records import ITEMS, USERS


@inlined
def means(x, at, stride, theta, first, step, d):
    """Return theta . x of the items whose features are x[at + a * stride], ...

    Component a of theta is theta[first + a * step].
    """
    total = splat_items(theta[first]) * load_items(x, at)
    for a in range(1, d):
        total = total + splat_items(theta[first + a * step]) * load_items(x, at + a * stride)
    return total


@inlined
def widths(x, at, stride, M_inv, lane, d):
    """Return sqrt(x^T M^-1 x) of the items whose features are x[at + a * stride], ..."""
    total = splat_items(0.0)
    pair = lane
    for a in range(d):
        own = load_items(x, at + a * stride)
        inner = splat_items(M_inv[pair]) * own
        pair += USERS
        if a + 1 < d:
            beside = splat_items(M_inv[pair]) * load_items(x, at + (a + 1) * stride)
            pair += USERS
            for b in range(a + 2, d):
                beside = beside + splat_items(M_inv[pair]) * load_items(x, at + b * stride)
                pair += USERS
            inner = inner + (beside + beside)
        total = total + own * inner
    return square_root(at_least_zero(total))


@part
def score(x, count, stride, theta, first, step, M_inv, lane, d, alpha, scores, bonus):
    """Score `count` items (rounded up to 16s): theta . x + alpha * width into `scores`.

    The widths go to `bonus`; they are left out if alpha is 0.
    """
    for at in range(0, count, ITEMS):
        mean = means(x, at, stride, theta, first, step, d)
        if alpha > 0.0:
            width = widths(x, at, stride, M_inv, lane, d)
            store_items(bonus, at, width)
            mean = mean + splat_items(alpha) * width
        store_items(scores, at, mean)
    for i in range(count, -(-count // ITEMS) * ITEMS):
        scores[i] = -np.inf


@part
def gather(features, items, count, stride, x):
    """Copy the features of some items next to each other, one row per feature."""
    d = features.shape[1]
    for i in range(count):
        row = features[items[i]]
        for a in range(d):
            x[a * stride + i] = row[a]
    for i in range(count, stride):
        for a in range(d):
            x[a * stride + i] = 0.0
