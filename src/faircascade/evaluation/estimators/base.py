"""The contract of an estimator: what each logged slate adds to what is estimated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.data.log import Propensity
from faircascade.evaluation.estimators.slates import EvaluatedSlates
from faircascade.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Terms:
    """What slates add."""

    values: Floats
    """To the sum that is estimated, by position, (n, K)."""
    usable: Bools
    """Slates that count at all, (n,)."""
    weights: Floats | None = None
    """What estimators that normalise divide by, (n, K)."""


@dataclass(frozen=True)
class Missing:
    """Why an estimator has nothing to say."""

    reason: str


class SlateEstimator(ABC):
    """Adds up terms over impressions; the estimate is a function of the sums."""

    name: ClassVar[str]
    title: ClassVar[str]
    assumes: ClassVar[str]
    """What must hold for it to be right, in plain words."""
    kind: ClassVar[Propensity | None] = None
    """The propensities that its weights are made of; None if it has no weights."""
    model_based: ClassVar[bool] = False
    """True if it is wrong where a model of clicks is wrong, whatever the propensities."""

    @abstractmethod
    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        """Return what slates add, or why that is not known."""

    def value(self, sums: Sums) -> Floats:
        """Return the estimate per slate, for sums with any leading axes."""
        return np.asarray(sums.values.sum(axis=-1) / np.maximum(sums.slates, 1))


@dataclass(frozen=True, eq=False)
class Sums:
    """Terms added up: over everything, or by block of users (leading axes)."""

    values: Floats
    """By position, (..., K)."""
    weights: Floats
    """By position, (..., K)."""
    counts: Floats
    """Slates that had a known item at each position, (..., K)."""
    slates: Floats
    """Usable slates, (...)."""

    @classmethod
    def empty(cls, blocks: int, k: int) -> Sums:
        """Return sums of nothing, by block."""
        values, weights, counts = np.zeros((3, blocks, k))
        return cls(values, weights, counts, np.zeros(blocks))

    def add(self, blocks: Ints, known: Bools, terms: Terms) -> None:
        """Add terms of slates to their blocks, in place."""
        rows = np.flatnonzero(terms.usable)
        where = blocks[rows]
        add_by_block(self.values, where, terms.values[rows])
        if terms.weights is not None:
            add_by_block(self.weights, where, terms.weights[rows])
        add_by_block(self.counts, where, known[rows].astype(np.float64))
        self.slates[:] += np.bincount(where, minlength=len(self.slates))

    def total(self) -> Sums:
        """Return the sums over all blocks."""
        return Sums(*(part.sum(axis=0) for part in self._parts))

    def without_each(self) -> Sums:
        """Return the sums over all blocks but one, for each of them."""
        return Sums(*(part.sum(axis=0) - part for part in self._parts))

    @property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.values, self.weights, self.counts, self.slates


def add_by_block(sums: Floats, blocks: Ints, values: Floats) -> None:
    """Add rows of values (n, K) to the sums of their blocks (B, K), in place."""
    for position in range(values.shape[1]):
        column = np.bincount(blocks, weights=values[:, position], minlength=len(sums))
        sums[:, position] += column
