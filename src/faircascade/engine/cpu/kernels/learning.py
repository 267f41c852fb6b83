"""Ridge regression of 8 users side by side: `Ridge.update`, operation by operation."""

from __future__ import annotations

import numpy as np

from faircascade.engine.cpu.kernels.compiling import part
from faircascade.engine.cpu.kernels.lanes import (
    load_users,
    splat_users,
    square_root,
    store_users,
)
from faircascade.engine.cpu.records import USERS
from faircascade.numerics import AIM, RESIDUAL


@part
def learn(M, M_inv, B, theta, shown, weights, longest, gain, scale, v):
    """Learn one slate of each user of a group.

    `shown` has the features (K, d, 8), zero where a position was not examined; `longest` is the
    largest examined length; `v` has room for two vectors of each user.
    """
    step = len(B)
    last, now = 0, step  # where in v the last position's vector is, and where this one's goes
    for a in range(0, step, USERS):
        store_users(v, last + a, splat_users(0.0))
    for k in range(longest):
        inner = shrink_and_multiply(M_inv, v, last, shown, k * step, now, step)
        shrink = splat_users(1.0) / square_root(splat_users(1.0 / gain) + inner)
        for a in range(now, now + step, USERS):
            store_users(v, a, load_users(v, a) * shrink)
        last, now = now, last
    for a in range(0, step, USERS):  # B is added up before the last pass, which multiplies by it
        total = load_users(B, a)
        for k in range(longest):
            x = load_users(shown, k * step + a)
            total = total + load_users(weights, k * USERS) * x
        store_users(B, a, total)
    shrink_and_multiply(M_inv, v, last, B, 0, now, step)
    for a in range(0, step, USERS):
        store_users(theta, a, splat_users(scale) * load_users(v, now + a))
    add_outer_products(M, shown, longest, gain, step)


@part
def shrink_and_multiply(M_inv, v, last, x, at, now, step):
    """Subtract the outer product of the last vector from M^-1 and multiply the result by x.

    M^-1 is read and written once for both. Every entry of the product is still the sum of its
    terms in index order: row a adds its term to all entries below, and completes entry a. Return
    the inner product of x and M^-1 x.
    """
    for b in range(now, now + step, USERS):
        store_users(v, b, splat_users(0.0))
    inner = splat_users(0.0)
    pair = 0
    for a in range(0, step, USERS):
        own_x, own_v = load_users(x, at + a), load_users(v, last + a)
        entry = load_users(M_inv, pair) - own_v * own_v
        store_users(M_inv, pair, entry)
        pair += USERS
        total = load_users(v, now + a) + entry * own_x
        for b in range(a + USERS, step, USERS):
            entry = load_users(M_inv, pair) - own_v * load_users(v, last + b)
            store_users(M_inv, pair, entry)
            pair += USERS
            store_users(v, now + b, load_users(v, now + b) + entry * own_x)
            total = total + entry * load_users(x, at + b)
        store_users(v, now + a, total)
        inner = inner + own_x * total
    return inner


@part
def add_outer_products(M, shown, longest, gain, step):
    """Add gain * x x^T of every position to M, two entries at a time."""
    factor = splat_users(gain)
    pair = 0
    for a in range(0, step, USERS):
        b = a
        while b + USERS < step:
            first, second = load_users(M, pair), load_users(M, pair + USERS)
            for x in range(0, longest * step, step):
                own = load_users(shown, x + a)
                first = first + factor * (own * load_users(shown, x + b))
                second = second + factor * (own * load_users(shown, x + b + USERS))
            store_users(M, pair, first)
            store_users(M, pair + USERS, second)
            pair += 2 * USERS
            b += 2 * USERS
        if b < step:
            first = load_users(M, pair)
            for x in range(0, longest * step, step):
                first = first + factor * (load_users(shown, x + a) * load_users(shown, x + b))
            store_users(M, pair, first)
            pair += USERS


@part
def unpack(packed, lane, full):
    """Copy one user's symmetric matrix into a full one."""
    d = len(full)
    pair = lane
    for a in range(d):
        for b in range(a, d):
            full[a, b] = full[b, a] = packed[pair]
            pair += USERS


@part
def refine(M, M_inv, B, theta, lane, afresh, scale, matrices):
    """Make one user's inverse better, and theta from it if there is a B: `refinement.refine`.

    Return how far the inverse moved (its Frobenius norm), and max |M M^-1 - I| before.
    """
    d = len(theta) // USERS
    A, Y, rest, better = matrices[0], matrices[1], matrices[2], matrices[3]
    unpack(M, lane, A)
    unpack(M_inv, lane, Y)
    multiply(A, Y, rest)
    residual = 0.0
    for a in range(d):
        for b in range(d):
            rest[a, b] = -rest[a, b]
        rest[a, a] += 2.0
        for b in range(d):
            residual = max(residual, abs(rest[a, b] - (1.0 if a == b else 0.0)))
    if afresh or residual > RESIDUAL:
        invert(A, rest[0], better)
    else:
        multiply(Y, rest, better)
    moved = 0.0
    pair = lane
    for a in range(d):
        for b in range(a, d):
            value = 0.5 * (better[a, b] + better[b, a])
            moved += (2.0 if a < b else 1.0) * (value - Y[a, b]) ** 2
            M_inv[pair] = value
            pair += USERS
    if len(B) > 0:
        unpack(M_inv, lane, Y)
        for b in range(d):
            total = Y[0, b] * B[lane]
            for a in range(1, d):
                total += Y[a, b] * B[a * USERS + lane]
            theta[b * USERS + lane] = scale * total
    return np.sqrt(moved), residual


@part
def invert(A, column, A_inv):
    """Put the inverse of A into another matrix: `numerics.inverse`. A is lost."""
    d = len(A)
    for a in range(d):
        for b in range(d):
            A_inv[a, b] = 0.0
    for _ in range(d):
        pivot, largest = 0, -np.inf
        for a in range(d):  # those that are done have a mark in A_inv
            if A_inv[a, a] == 0.0 and A[a, a] > largest:
                pivot, largest = a, A[a, a]
        A_inv[pivot, pivot] = 1.0
        for a in range(d):
            column[a] = A[a, pivot]
        for a in range(d):
            for b in range(a, d):
                A[a, b] -= column[a] * (column[b] / column[pivot])
                A[b, a] = A[a, b]
        for a in range(d):
            A[a, pivot] = A[pivot, a] = column[a] / column[pivot]
        A[pivot, pivot] = -1.0 / column[pivot]
    for a in range(d):
        for b in range(d):
            A_inv[a, b] = -A[a, b]


@part
def next_interval(interval, residual, longest):
    """Return after how many updates to refine again: `refinement.next_interval`."""
    if interval == longest and residual <= RESIDUAL:
        return interval
    if residual < AIM / 8.0 and interval < longest // 2:
        return 2 * interval
    while residual > AIM and interval > 1:
        interval //= 2
        residual /= 2.0
    return interval


@part
def multiply(A, B, C):
    """Put A B into C, sums in index order."""
    d = len(A)
    for i in range(d):
        for j in range(d):
            total = A[i, 0] * B[0, j]
            for c in range(1, d):
                total += A[i, c] * B[c, j]
            C[i, j] = total


@part
def draw_theta(M_inv, theta, lane, d, z, noise, L, drawn):
    """Draw theta from the posterior of one user: theta + noise * L z, L L^T = M^-1."""
    pair = lane
    for j in range(d):  # column j of the factor, as in `numerics.cholesky`
        for i in range(j, d):
            rest = M_inv[pair]
            pair += USERS
            for c in range(j):
                rest -= L[i, c] * L[j, c]
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
    for b in range(d):
        total = L[b, 0] * z[0]
        for a in range(1, b + 1):
            total += L[b, a] * z[a]
        drawn[b] = theta[b * USERS + lane] + noise * total
