"""What users like, from what they looked at and clicked.

The attraction of item i for user u is the product of the item's features and the user's
preferences, cut at 0. Preferences are normal around what is common, so that users of whom little
is known are like everybody, and users differ as much as they do. That makes it right for logs of a
policy that learns. Such a policy shows users what they like, so that clicks over looks say too much
of an item that only its friends have seen. But given all that came before, what it shows next does
not depend on preferences, and the likelihood is that of the clicks alone (Rubin 1976): nothing may
be left out of it, though. Means, spread and, unless given, the features are fitted by variational
EM: what is known of each user and item is taken as normal, and likelihoods as means over it. Most
users have few clicks, and their likelihoods are so skew that the mode would say far too little.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.fitting.user_sums import UserSums
from faircascade.numerics import one_blas_thread
from faircascade.random import Words, normals
from faircascade.types import Floats, Ints

ITERATIONS = 200
"""EM steps at most."""
TOLERANCE = 2e-3
"""EM ends when mean and spread of the attraction of items change by less than this share."""
_SOFT = 0.1
"""Width of the rounded corner at attraction 0, over the click rate."""
_WARM = 10
"""EM steps with a wide corner, so that items find their place first."""
_START = 0.3
"""Spread of features that EM begins with, over the click rate."""
_PASSES = 2
"""Steps of each side before the other."""
_LONGEST = 2.0
"""A step at most, in standard deviations."""
_SURE = 0.01
"""Variance of features that EM begins with, over that among items."""
_WORTH_THREADS = 50_000
"""Pairs from which on threads are worth their start."""
_LANES = 8
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Preferences:
    """Features of items, and what is known of the preferences of users."""

    features: Floats  # (m, d)
    means: Floats  # (n, d)
    doubts: Floats
    """Covariances: how little is known of each user, (n, d, d)."""
    common: Floats
    """Mean of all users, (d,)."""
    spread: Floats
    """How users differ: covariance around the mean, (d, d)."""
    impressions: Ints
    """Of each user, (n,)."""
    clicks: Floats
    """On each item, (m,)."""
    looks: Floats
    """At each item, (m,)."""
    softness: float
    steps: int
    converged: bool

    def drawn(self, seed: int, keys: Words) -> Floats:
        """Draw preferences that users with these keys may have, (n, d): they differ as much as
        users do, where the means are too much alike."""
        roots = np.linalg.cholesky(_regular(self.doubts))
        noise = normals(seed, "preferences", self.means.shape[1], keys)
        return np.asarray(self.means + np.einsum("nij,nj->ni", roots, noise))

    @property
    def click_rates(self) -> Floats:
        """Clicks over looks, with one more look at the mean rate, (m,)."""
        rate = self.clicks.sum() / max(self.looks.sum(), 1.0)
        return np.asarray((self.clicks + rate) / (self.looks + 1.0))

    @property
    def mean_attraction(self) -> Floats:
        """Of items, for users as they are on the whole, (m,)."""
        x = self.features
        return mean_attraction(x @ self.common, np.einsum("md,de,me->m", x, self.spread, x))

    def attraction(self, users: NDArray[np.integer], items: Ints) -> Floats:
        """Return the expected attraction of items (n, K) for users (n,)."""
        found = np.empty(items.shape)
        for first in range(0, len(users), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            x, doubts = self.features[items[part]], self.doubts[users[part]]
            level = np.einsum("nkd,nd->nk", x, self.means[users[part]])
            variance = ((x @ doubts) * x).sum(axis=2)
            found[part] = mean_attraction(level, variance)
        return found


def mean_attraction(level: Floats, variance: Floats) -> Floats:
    """Return the mean of normal levels that are cut at 0 and `MOST`."""
    most = kernels().MOST
    spread = np.sqrt(np.maximum(variance, 1e-18))
    return np.asarray(np.maximum(_excess(level, spread) - _excess(level - most, spread), 1e-6))


def _excess(level: Floats, spread: Floats) -> Floats:
    """Return the mean of normal levels that are cut at 0."""
    from scipy.special import ndtr

    t = level / spread
    bell = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi)
    return np.asarray(level * ndtr(t) + spread * bell)


def fit_preferences(
    sums: UserSums, features: Floats | None, dim: int, seed: int, *, near: Preferences | None = None
) -> Preferences:
    """Fit preferences on features (m, d), or on as many features of their own. EM begins with those
    that are `near`, if there are some."""
    with one_blas_thread():
        if near is None:
            state, warm = _State.start(sums, features, dim, seed), _WARM
        else:
            state, warm = _State.like(near, sums, features), 0
        steps, converged = 0, False
        while steps < ITERATIONS and not converged:
            before = state.population
            state.step(_SOFT if steps >= warm else 1.0)
            steps += 1
            change = np.abs(state.population - before).mean()
            converged = steps > warm + 2 and change < TOLERANCE * np.abs(before).mean()
    return state.preferences(sums, steps, converged)


Normal = tuple[Floats, Floats]
"""Means and covariances; no covariances if means are known."""


class _Pairs(NamedTuple):
    """Pairs sorted by one side."""

    starts: Ints
    others: Ints
    clicks: Floats
    times: Floats
    looks: Floats

    @classmethod
    def of(cls, mine: Ints, others: Ints, sums: UserSums, size: int) -> _Pairs:
        order = np.argsort(mine, kind="stable")
        starts = np.searchsorted(mine[order], np.arange(size + 1))
        counts = (sums.clicks[order], sums.times[order], sums.looks[order])
        return cls(starts, others[order], *counts)

    def add(self, mine: Normal, theirs: Normal, softness: float) -> Any:
        """Return information (n, d, d) and slopes (n, d) of what is on one side."""
        n, d = mine[0].shape
        moments, slopes = np.zeros((n, d, d)), np.zeros((n, d))
        compiled = kernels()
        nodes = compiled.NODES, compiled.WEIGHTS

        def add(first: int, last: int) -> None:
            compiled.add_pairs(
                first, last, *self, *mine, *theirs, softness, *nodes, moments, slopes
            )

        if len(self.others) < _WORTH_THREADS:
            add(0, n)
            return moments, slopes
        shares = np.linspace(0, len(self.others), _LANES + 1)
        edges = np.searchsorted(self.starts[1:], shares)
        edges[0], edges[-1] = 0, n
        with ThreadPoolExecutor(min(_LANES, os.cpu_count() or 1)) as threads:
            list(threads.map(add, edges[:-1], edges[1:]))
        return moments, slopes


@dataclass(eq=False)
class _State:
    """EM between steps. Preferences are `common` + z, and z is standard normal among users."""

    by_user: _Pairs
    by_item: _Pairs | None
    """None where features are given."""
    given: Floats | None
    turn: Floats
    """What takes preferences to those on the features that were given, (d, d)."""
    rate: float
    softness: float
    b: Floats
    """Features, (m, d)."""
    b_doubts: Floats  # (m, d, d), or none
    z: Floats  # (n, d)
    doubts: Floats  # (n, d, d)
    common: Floats  # (d,)
    mean_b: Floats
    """Features of an item of which nothing is known, (d,)."""
    spread_b: Floats  # (d, d)

    @classmethod
    def start(cls, sums: UserSums, features: Floats | None, dim: int, seed: int) -> _State:
        """Begin with the same attraction for all users, and features that are drawn."""
        n, m = len(sums.impressions), sums.n_items
        looks, rate = sums.of_items(sums.looks), _rate(sums)
        mean = (sums.of_items(sums.clicks) + rate) / (looks + 1.0)
        if features is None:
            d, scale = min(dim, n, m), np.ones(min(dim, n, m))
            b = np.asarray(_START * rate * normals(seed, "features", d, np.arange(m)))
            b[:, 0] = mean
            common = np.eye(d)[0]
        else:
            size = np.sqrt(np.mean(features**2, axis=0))
            d, scale = features.shape[1], _START * rate / np.where(size > 0, size, 1.0)
            b, root = np.asarray(scale * features, dtype=np.float64), np.sqrt(looks)
            common = np.asarray(np.linalg.lstsq(b * root[:, None], mean * root, rcond=None)[0])
        spread_b = np.asarray(np.diag(np.full(d, (_START * rate) ** 2)), dtype=np.float64)
        turn, z = np.asarray(np.diag(scale), dtype=np.float64), np.zeros((n, d))
        return cls._of(sums, features, b, turn, common, z, spread_b)

    @classmethod
    def like(cls, near: Preferences, sums: UserSums, features: Floats | None) -> _State:
        """Begin with what is nearly right."""
        d = len(near.common)
        turn = np.asarray(np.linalg.cholesky(_regular(near.spread)), dtype=np.float64)
        back, b = np.linalg.inv(turn), near.features @ turn
        common = back @ near.common
        off = b - b.mean(axis=0)
        spread_b = off.T @ off / len(b) + _floor(_rate(sums), d)
        z = near.means @ back.T - common
        return cls._of(sums, features, b, turn, common, z, spread_b)

    @classmethod
    def _of(
        cls, sums: UserSums, features: Floats | None, b: Any, turn: Floats, common: Floats,
        z: Floats, spread_b: Floats,
    ) -> _State:  # fmt: skip
        (n, d), m = z.shape, len(b)
        rate = _rate(sums)
        return cls(
            by_user=_Pairs.of(sums.users, sums.items, sums, n),
            by_item=_Pairs.of(sums.items, sums.users, sums, m) if features is None else None,
            given=features,
            turn=turn,
            rate=rate,
            softness=_SOFT * rate,
            b=np.asarray(b, dtype=np.float64),
            b_doubts=np.zeros((0, d, d)),
            z=z,
            doubts=np.tile(np.eye(d), (n, 1, 1)),
            common=np.asarray(common, dtype=np.float64),
            mean_b=b.mean(axis=0),
            spread_b=spread_b,
        )

    @property
    def population(self) -> Floats:
        """Mean and spread over users of the attraction of items, (2, m)."""
        return np.stack([self.b @ self.common, np.sqrt((self.b**2).sum(axis=1))])

    def step(self, soft: float) -> None:
        self.softness = soft * self.rate
        self._improve_users()
        if self.by_item is not None:
            self._improve_items(self.by_item)
        self._whiten()

    def _improve_users(self) -> None:
        prior = np.eye(self.z.shape[1])
        for _ in range(_PASSES):
            users = self.common + self.z, self.doubts
            moments, slopes = self.by_user.add(users, (self.b, self.b_doubts), self.softness)
            slopes -= self.z
            self.z, self.doubts = _moved(self.z, self.doubts, moments + prior, slopes)

    def _improve_items(self, pairs: _Pairs) -> None:
        prior = np.linalg.inv(self.spread_b)
        if not len(self.b_doubts):
            self.b_doubts = np.tile(_SURE * self.spread_b, (len(self.b), 1, 1))
        for _ in range(_PASSES):
            users = self.common + self.z, self.doubts
            moments, slopes = pairs.add((self.b, self.b_doubts), users, self.softness)
            slopes -= (self.b - self.mean_b) @ prior
            self.b, self.b_doubts = _moved(self.b, self.b_doubts, moments + prior, slopes)

    def _whiten(self) -> None:
        """Take what users have in common and how they differ from what is known of them (M-step),
        in units in which z is standard normal."""
        n, d = self.z.shape
        mean = self.z.mean(axis=0)
        away = self.z - mean
        root = np.linalg.cholesky(away.T @ away / n + self.doubts.mean(axis=0) + 1e-9 * np.eye(d))
        back = np.linalg.inv(root)
        self.common = back @ (self.common + mean)
        self.z = away @ back.T
        self.doubts = back @ self.doubts @ back.T
        self.b = self.b @ root
        self.turn = self.turn @ root
        if self.by_item is None:
            return
        self.b_doubts = root.T @ self.b_doubts @ root
        self.mean_b = self.b.mean(axis=0)
        off = self.b - self.mean_b
        own = off.T @ off / len(off) + self.b_doubts.mean(axis=0)
        self.spread_b = own + _floor(self.rate, d)

    def preferences(self, sums: UserSums, steps: int, converged: bool) -> Preferences:
        """Return what was found on the features that were given, or on features of length 1."""
        turn = self.turn
        features = self.given
        if features is None:
            size = np.sqrt((self.b**2).sum(axis=1).mean())
            features, turn = self.b / size, size * np.eye(len(self.common))
        return Preferences(
            features=np.ascontiguousarray(features),
            means=(self.common + self.z) @ turn.T,
            doubts=turn @ self.doubts @ turn.T,
            common=turn @ self.common,
            spread=turn @ turn.T,
            impressions=sums.impressions,
            clicks=sums.of_items(sums.clicks),
            looks=sums.of_items(sums.looks),
            softness=self.softness,
            steps=steps,
            converged=converged,
        )


def _moved(means: Floats, doubts: Floats, precision: Floats, slopes: Floats) -> Normal:
    """Go half of the way to a better normal approximation, in its natural parameters."""
    doubts = np.asarray(np.linalg.inv(0.5 * (precision + np.linalg.inv(doubts))))
    step = 0.5 * (doubts @ slopes[:, :, None])[:, :, 0]
    squares = (step * np.linalg.solve(doubts, step[:, :, None])[:, :, 0]).sum(axis=1)
    length = np.sqrt(np.maximum(squares, 1e-24))[:, None]
    return means + step * np.minimum(1.0, _LONGEST / length), doubts


def _regular(covariance: Floats) -> Floats:
    """Return a covariance that surely has a root, whatever the units."""
    d = covariance.shape[-1]
    return np.asarray(covariance * (1.0 + 1e-9 * np.eye(d)) + 1e-300 * np.eye(d))


def _rate(sums: UserSums) -> float:
    """Return clicks over looks."""
    return max(float(sums.clicks.sum() / max(sums.looks.sum(), 1.0)), 1e-6)


def _floor(rate: float, d: int) -> Floats:
    """Return the least spread of features."""
    return np.asarray(1e-6 * rate**2 * np.eye(d))


@cache
def kernels() -> Any:
    """Load compiled code when it is first needed; see `expectation`."""
    return import_module("faircascade.fitting.preference_kernels")
