"""Sequential models as aggregated counts can know them: how likely users go past a position.

Counts by position do not say what else was on a page. In the place of the other documents stands
what a context shows at a position on average, weighted by impressions, as if documents at different
positions were drawn independently of each other (a mean-field approximation). With m and q the
means of attraction and of its square at position k of a context, users who look at k look at k + 1
with probability

    cascade  1 - m                 dcm  1 - v_k m               sdbn  1 - s m
    dbn      c (1 - s m)           ccm  t1 (1 - m) + t2 (m - q) + t3 q

One satisfaction s stands for all documents: what a click on one of them does to those below is not
in the counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from faircascade.clicks import CCM, DBN, DCM, Cascade, ClickModel
from faircascade.types import Floats


class Passing(NamedTuple):
    """How likely users go past positions of contexts, (c, K), and its derivatives."""

    chance: Floats
    by_mean: Floats
    by_square: Floats
    by_parameter: Floats
    """(p, c, K)"""


class MeanField(ABC):
    """A sequential model with some parameters beside attraction, all of them probabilities."""

    name: ClassVar[str]

    @abstractmethod
    def start(self, k: int) -> Floats:
        """Return the parameters to begin with, (p,)."""

    @abstractmethod
    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        """Return how likely users go on, by the means of attraction and its square, (c, K)."""

    @abstractmethod
    def model(self, phi: Floats) -> ClickModel:
        """Return the click model."""


class CascadeField(MeanField):
    name = "cascade"

    def start(self, k: int) -> Floats:
        return np.zeros(0)

    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        none = np.zeros_like(mean)
        return Passing(1.0 - mean, none - 1.0, none, np.zeros((0, *mean.shape)))

    def model(self, phi: Floats) -> Cascade:
        return Cascade()


class DCMField(MeanField):
    name = "dcm"

    def start(self, k: int) -> Floats:
        return np.full(k, 0.5)

    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        by_parameter = -mean * np.eye(len(phi))[:, None, :]  # (K, c, K)
        by_mean = np.broadcast_to(-phi, mean.shape)
        return Passing(1.0 - phi * mean, by_mean, np.zeros_like(mean), by_parameter)

    def model(self, phi: Floats) -> DCM:
        return DCM(stop=tuple(phi.tolist()))


class SDBNField(MeanField):
    name = "sdbn"

    def start(self, k: int) -> Floats:
        return np.array([0.5])

    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        none = np.zeros_like(mean)
        return Passing(1.0 - phi[0] * mean, none - phi[0], none, -mean[None])

    def model(self, phi: Floats) -> DBN:
        return DBN(satisfaction=float(phi[0]), continuation=1.0)


class DBNField(MeanField):
    name = "dbn"

    def start(self, k: int) -> Floats:
        return np.array([0.5, 0.9])

    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        (s, c), none = phi, np.zeros_like(mean)
        kept = 1.0 - s * mean
        return Passing(c * kept, none - c * s, none, np.stack([-c * mean, kept]))

    def model(self, phi: Floats) -> DBN:
        return DBN(satisfaction=float(phi[0]), continuation=float(phi[1]))


class CCMField(MeanField):
    name = "ccm"

    def start(self, k: int) -> Floats:
        return np.array([0.9, 0.6, 0.4])

    def passing(self, phi: Floats, mean: Floats, square: Floats) -> Passing:
        (t1, t2, t3), none = phi, np.zeros_like(mean)
        parts = np.stack([1.0 - mean, mean - square, square])
        chance = t1 * parts[0] + t2 * parts[1] + t3 * parts[2]
        return Passing(chance, none + (t2 - t1), none + (t3 - t2), parts)

    def model(self, phi: Floats) -> CCM:
        return CCM(t1=float(phi[0]), t2=float(phi[1]), t3=float(phi[2]))


FIELDS: dict[str, MeanField] = {
    field.name: field for field in (CascadeField(), DCMField(), SDBNField(), DBNField(), CCMField())
}
