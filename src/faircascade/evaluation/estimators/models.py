"""Estimators with a model of clicks: the direct method, Cascade-DR and click-based weights."""

from __future__ import annotations

import numpy as np

from faircascade.evaluation.estimators.base import Missing, SlateEstimator, Terms
from faircascade.evaluation.estimators.importance import no_chances
from faircascade.evaluation.estimators.slates import EvaluatedSlates

_NO_SLATES = "the policy cannot be run on the users of the log: only probabilities are given"


class DirectMethod(SlateEstimator):
    """What a model expects on the slates that the policy would have shown."""

    name = "dm"
    title = "DM"
    assumes = "the click rates of items by position are right for every user"
    model_based = True

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        predicted = slates.policy.predicted
        if predicted is None:
            return Missing(_NO_SLATES)
        return Terms(np.where(slates.known, predicted, 0.0), slates.some)


class CascadeDR(SlateEstimator):
    """RIPS of what a model does not explain, plus what it expects (Kiyohara et al. 2022).

    At each position w(1:k) (r - q) + w(1:k-1) E[q]: right for any q under the assumption of RIPS,
    and with less variance the better q is.
    """

    name = "cascade-dr"
    title = "Cascade-DR"
    kind = "cascade"
    assumes = "a click depends on no item further down"

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        found = slates.weights("cascade")
        if found is None:
            return no_chances("cascade", slates)
        following, values = slates.policy.next_values, slates.policy.logged_values
        if following is None or values is None:
            return Missing(_NO_SLATES)
        weights, usable = found
        assert slates.logging.cascade is not None
        above = np.ones_like(weights)
        above[:, 1:] = slates.logging.cascade[:, :-1]
        here = slates.known & usable[:, None]
        expected = np.divide(following, above, out=np.zeros_like(weights), where=here)
        return Terms(
            np.where(here, weights * (slates.rewards - values) + expected, 0.0), usable, weights
        )


class ClickBased(SlateEstimator):
    """Weighs logged clicks by how much more the policy would have its items looked at.

    Click-based inverse propensity scores (Tanaka et al. 2026) under a position-based model: the
    weight of an item is the examination it would get over that of its logged position. The log
    may come from a policy that draws nothing. What the policy would show and the log did not show
    is filled in with the model's clicks.
    """

    name = "click-model"
    title = "Click model"
    assumes = "a position-based model, and its examination probabilities"
    model_based = True

    def terms(self, slates: EvaluatedSlates) -> Terms | Missing:
        harvested, modelled = slates.policy.harvested, slates.policy.modelled
        if harvested is None or modelled is None:
            return Missing(_NO_SLATES)
        values = np.where(slates.known, harvested * slates.rewards, 0.0) + modelled
        return Terms(values, slates.some, harvested)
