"""Importance weighting: a logged click counts as often as the other policy makes it more likely.

Whole slates (IPS), items at their positions (IIPS, Li et al. 2018), items down to a position (RIPS,
McInerney et al. 2020), their self-normalised versions, and AIPS (Kiyohara et al. 2023), whose
weights follow each user's behaviour.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from faircascade.data.log import Propensity
from faircascade.evaluation.estimators.base import Missing, SlateEstimator, Sums, Terms
from faircascade.evaluation.estimators.slates import KINDS, EvaluatedSlates
from faircascade.types import Floats

CALLED: dict[Propensity, str] = {
    "slate": "whole slates",
    "cascade": "items down to a position",
    "item_position": "items at their positions",
}
"""What the probabilities of a kind are of."""


class Importance(SlateEstimator):
    """Weighs rewards by one kind of propensities."""

    kind: ClassVar[Propensity]

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        found = slates.weights(self.kind)
        if found is None:
            return no_chances(self.kind, slates)
        weights, usable = found
        return Terms(weights * slates.rewards, usable, weights)


class IPS(Importance):
    name = "ips"
    title = "IPS"
    kind = "slate"
    assumes = "nothing of users"


class RIPS(Importance):
    name = "rips"
    title = "RIPS"
    kind = "cascade"
    assumes = "a click depends on no item further down"


class IIPS(Importance):
    name = "iips"
    title = "IIPS"
    kind = "item_position"
    assumes = "a click depends on its item and position alone (pbm)"


class NormalisedByPosition(Importance):
    """Divides by the mean weight of each position: less variance for a bias that vanishes."""

    def value(self, sums: Sums) -> Floats:
        share = sums.counts / np.maximum(sums.slates, 1)[..., None]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(sums.weights > 0, sums.values / sums.weights, np.nan)
        return np.asarray(np.where(share > 0, share * means, 0.0).sum(axis=-1))


class SNRIPS(NormalisedByPosition):
    name = "snrips"
    title = "SNRIPS"
    kind = "cascade"
    assumes = "as RIPS; many impressions"


class SNIIPS(NormalisedByPosition):
    name = "sniips"
    title = "SNIIPS"
    kind = "item_position"
    assumes = "as IIPS; many impressions"


class SNIPS(Importance):
    """Divides by the mean weight of slates."""

    name = "snips"
    title = "SNIPS"
    kind = "slate"
    assumes = "as IPS; many impressions"

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        found = super().terms(slates)
        if isinstance(found, Missing):
            return found
        assert found.weights is not None
        once = np.zeros_like(found.weights)
        once[:, 0] = found.weights.max(axis=1)  # a slate has one weight, wherever it is known
        return Terms(found.values, found.usable, once)

    def value(self, sums: Sums) -> Floats:
        weights = sums.weights[..., 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weights > 0, sums.values.sum(axis=-1) / weights, np.nan)


class AIPS(SlateEstimator):
    """Weighs each user's rewards by the propensities that the user's behaviour asks for."""

    name = "aips"
    title = "AIPS"
    assumes = "the behaviour of each user is as said"

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        if slates.behaviour is None:
            return Missing("the behaviour of users is not said")
        weights = np.zeros(slates.known.shape)
        usable = np.zeros(len(weights), dtype=bool)
        for place, kind in enumerate(KINDS):
            rows = slates.behaviour == place
            if not rows.any():
                continue
            found = slates.weights(kind)
            if found is None:
                return no_chances(kind, slates)
            weights[rows], usable[rows] = found[0][rows], found[1][rows]
        return Terms(weights * slates.rewards, usable, weights)


def no_chances(kind: Propensity, slates: EvaluatedSlates) -> Missing:
    """Say which of the policies has no probabilities of a kind."""
    who = "the log has" if slates.logging.of(kind) is None else "the policy has"
    return Missing(f"{who} no probabilities of {CALLED[kind]}")
