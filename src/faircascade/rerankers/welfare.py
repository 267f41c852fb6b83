"""Welfare of those who get exposure: concave functions, known by their gradients."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.registry import Component, register
from faircascade.types import Floats


class Welfare(Component):
    """A concave function of what everybody has, in units of their fair share."""

    kind: ClassVar[str] = "welfare"

    @abstractmethod
    def value(self, z: Floats, fair: Floats) -> float:
        """Return the welfare of those who have z times their fair shares, which add up to 1."""

    @abstractmethod
    def gradient(self, z: Floats, fair: Floats, slates: float) -> Floats:
        """Return the derivative by each one's share of all exposure, z * fair, after so many
        slates, (r,)."""


@register("alpha-fair")
@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaFair(Welfare):
    """Mean of u^(1 - alpha) / (1 - alpha), u = z + offset, weighted by fair shares; of ln u where
    alpha is 1, which is Nash welfare. A very large alpha counts the worst-off alone. Mo and
    Walrand (2000), and for exposure Do, Corbett-Davies, Atif and Usunier, "Two-sided Fairness in
    Rankings via Lorenz Dominance", NeurIPS 2021.
    """

    alpha: float = 1.0
    """Aversion to inequality, >= 0."""
    offset: float = 0.1
    """Added to every share, > 0, so that nobody's first exposure is worth infinitely much."""

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and np.isfinite(self.alpha)):
            raise ParameterError("alpha", "must be >= 0", self.alpha)
        if not (self.offset > 0 and np.isfinite(self.offset)):
            raise ParameterError("offset", "must be positive", self.offset)

    def value(self, z: Floats, fair: Floats) -> float:
        u = z + self.offset
        each = np.log(u) if self.alpha == 1 else u ** (1.0 - self.alpha) / (1.0 - self.alpha)
        return float((fair * each).sum())

    def gradient(self, z: Floats, fair: Floats, slates: float) -> Floats:
        return np.asarray((z + self.offset) ** -self.alpha)


@register("gini")
@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralisedGini(Welfare):
    """Mean of z weighted by rank, the worst-off first: Do and Usunier, "Optimizing Generalized Gini
    Indices for Fairness in Rankings", SIGIR 2022.

    Weights that fall by equal steps make it 1 - Gini; or only the worst-off count. It has kinks
    where two have the same, so that gradients are those of its Moreau envelope: with w the
    weights, the projection of -z / beta onto the permutahedron of w, beta = smoothing /
    sqrt(slates), found by isotonic regression.
    """

    worst: float = 1.0
    """Share of the worst-off who count, in (0, 1]. Below 1 they count equally; 1 is 1 - Gini."""
    smoothing: float = 1.0
    """Smoothing of the first slate, beta_0, > 0."""

    def __post_init__(self) -> None:
        if not 0 < self.worst <= 1:
            raise ParameterError("worst", "must be in (0, 1]", self.worst)
        if not (self.smoothing > 0 and np.isfinite(self.smoothing)):
            raise ParameterError("smoothing", "must be positive", self.smoothing)

    def weights(self, r: int) -> Floats:
        """Return how much the worst-off counts, the second, and so on; their mean is 1, (r,)."""
        ranks = np.arange(1, r + 1)
        if self.worst == 1.0:
            return np.asarray((2.0 * (r - ranks) + 1.0) / r)
        counted = self.worst * r
        return np.asarray(np.clip(counted - ranks + 1.0, 0.0, 1.0) / self.worst)

    def value(self, z: Floats, fair: Floats) -> float:
        return float((self.weights(len(z)) * np.sort(z)).mean())

    def gradient(self, z: Floats, fair: Floats, slates: float) -> Floats:
        beta = self.smoothing / np.sqrt(max(slates, 1.0))
        return on_permutahedron(-z / beta, self.weights(len(z))) / (len(z) * fair)


def on_permutahedron(y: Floats, w: Floats) -> Floats:
    """Return the point nearest to y among the means of permutations of w, which falls, (r,)."""
    from scipy.optimize import isotonic_regression  # slow to import, 40 MB, and few need it

    order = np.argsort(-y, kind="stable")
    falling = y[order]
    fitted = isotonic_regression(falling - w, increasing=False).x
    found = np.empty_like(y)
    found[order] = falling - fitted
    return found
