"""Sums over a log for one policy, and the numbers that come of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from faircascade.data.log import Propensity
from faircascade.evaluation.equality import ExposureSums
from faircascade.evaluation.estimators import (
    ESTIMATORS,
    KINDS,
    EvaluatedSlates,
    Missing,
    SlateEstimator,
    Sums,
    Terms,
)
from faircascade.evaluation.estimators.importance import CALLED
from faircascade.evaluation.intervals import FEWEST, Jackknife, jackknife
from faircascade.evaluation.overlap import WeightSums
from faircascade.evaluation.results import Agreement, ClickEstimate, EqualityEstimate
from faircascade.metrics import title_of
from faircascade.types import Bools, Ints

BEHAVIOURS: dict[str, Propensity] = {
    "standard": "slate",
    "cascade": "cascade",
    "independent": "item_position",
}
"""What a click may depend on, and the propensities that this asks for."""
PLAIN: dict[Propensity, str] = {"slate": "ips", "cascade": "rips", "item_position": "iips"}
"""The estimator of each kind that does not normalise."""
NORMALISED: dict[Propensity, str] = {
    "slate": "snips",
    "cascade": "snrips",
    "item_position": "sniips",
}
"""The one that does."""


@dataclass(eq=False)
class PolicySums:
    """Everything that adds up over the impressions of a log, by block of users."""

    blocks: int
    k: int
    items: int
    chosen_behaviour: bool = False
    """True if the behaviour of users is to be estimated."""
    sums: dict[str, Sums] = field(default_factory=dict)
    alike: dict[str, Sums] = field(default_factory=dict)
    """Clicks of the log itself on the slates that each estimator can use."""
    known: set[Propensity] = field(default_factory=set)
    """Kinds of propensities that any impression of the log has."""
    missing: dict[str, str] = field(default_factory=dict)
    weights: dict[Propensity, WeightSums] = field(default_factory=dict)
    exposures: dict[Propensity, ExposureSums] = field(default_factory=dict)
    """Estimated with weights, where the policy cannot be run."""
    logged: ExposureSums = field(init=False)
    logged_sums: Sums = field(init=False)
    behaviour: str = ""
    """What was found out of users."""

    def __post_init__(self) -> None:
        self.logged = ExposureSums.empty(self.blocks, self.items)
        self.logged_sums = Sums.empty(self.blocks, self.k)

    def add(self, slates: EvaluatedSlates, blocks: Ints, rows: Ints, *, estimate: bool) -> None:
        """Add impressions; `rows` are their items in the catalogue, `estimate` their exposure."""
        known = slates.known
        self.logged.add(blocks, np.where(known, rows, -1), np.ones(known.shape))
        everything = Terms(slates.rewards, np.ones(len(known), dtype=bool))
        self.logged_sums.add(blocks, known, everything)
        for kind in KINDS:
            logging = slates.logging.of(kind)
            if logging is not None and np.isfinite(logging).any():
                self.known.add(kind)
            found = slates.weights(kind)
            if found is None:
                continue
            spread = self.weights.setdefault(kind, WeightSums(kind, self.blocks))
            spread.add(*found, known, blocks)
            if estimate:
                empty = ExposureSums.empty(self.blocks, self.items)
                sums = self.exposures.setdefault(kind, empty)
                sums.add(blocks, np.where(known, rows, -1), found[0])
        for name, estimator in ESTIMATORS.items():
            if name in self.missing:
                continue
            terms = estimator.terms(slates)
            if isinstance(terms, Missing):
                self.missing[name] = terms.reason
                continue
            sums_of = self.sums.setdefault(name, Sums.empty(self.blocks, self.k))
            sums_of.add(blocks, known, terms)
            alike = self.alike.setdefault(name, Sums.empty(self.blocks, self.k))
            alike.add(blocks, known, Terms(slates.rewards, terms.usable))

    @property
    def occupied(self) -> Bools:
        """Blocks that have impressions, (B,)."""
        return np.asarray(self.logged_sums.slates > 0)

    def jackknives(self) -> dict[str, Jackknife]:
        """Return the estimates that there are, by name of the estimator."""
        found: dict[str, Jackknife] = {}
        for name, sums in self.sums.items():
            if name in self.missing:
                continue
            if not sums.slates.any():
                kind = ESTIMATORS[name].kind
                self.missing[name] = (
                    f"the log has no probabilities of {CALLED[kind]}"
                    if kind is not None and kind not in self.known
                    else "no impression has what it needs"
                )
            elif not ESTIMATORS[name].model_based and not sums.weights.any():
                self.missing[name] = "the policy would have shown nothing of what was logged"
            else:
                found[name] = jackknife(ESTIMATORS[name], sums, self.occupied)
        if self.chosen_behaviour:
            self.missing.pop("aips", None)
            self._choose_behaviour(found)
        nowhere = [name for name, one in found.items() if math.isnan(one.value)]
        for name in nowhere:
            del found[name]
            self.missing[name] = (
                "at a position, the policy would have shown nothing of what was logged there"
            )
        return found

    def logged_clicks(self, estimator: str | None = None) -> Jackknife:
        """Return the clicks per slate of the log itself, on those slates that an estimator uses."""
        sums = self.logged_sums if estimator is None else self.alike[estimator]
        return jackknife(_Logged(), sums, self.occupied)

    def _choose_behaviour(self, found: dict[str, Jackknife]) -> None:
        """Take the behaviour with the least estimated error: variance plus squared bias.

        The bias is measured against the behaviour that assumes least, less what noise alone makes.
        Weights are normalised: without that, an estimate that is too low because large weights
        did not come up has a small error, and would be taken for it. Behaviours that hardly an
        impression speaks for have no error to go by.
        """
        there = [kind for kind in KINDS if NORMALISED[kind] in found]
        some = [kind for kind in there if self.weights[kind].effective >= FEWEST]
        names = [NORMALISED[kind] for kind in some or there[-1:]]
        if not names:
            self.missing["aips"] = "there are no weights"
            return
        widest = found[names[0]]

        def squared_error(name: str) -> float:
            gap = found[name].minus(widest)
            bias = max(0.0, gap.value**2 - _square(gap.error))
            return bias + _square(found[name].error)

        best = min(names, key=squared_error)
        found["aips"] = found[best]
        self.sums["aips"], self.alike["aips"] = self.sums[best], self.alike[best]
        kind = next(kind for kind, name in NORMALISED.items() if name == best)
        self.behaviour = next(b for b, wanted in BEHAVIOURS.items() if wanted == kind)


class _Logged(SlateEstimator):
    """Clicks per slate as they were."""

    def terms(self, slates: EvaluatedSlates) -> Missing:
        return Missing("there is nothing to estimate")


def click_estimate(
    name: str, sums: PolicySums, found: dict[str, Jackknife], level: float
) -> ClickEstimate:
    """Return one estimate, or why there is none."""
    estimator = ESTIMATORS[name]
    assumes = estimator.assumes
    if name == "aips" and sums.behaviour:
        assumes = f"the behaviour of users, estimated as {sums.behaviour}; many impressions"
    if name not in found:
        why_not = sums.missing.get(name, "no impression has what it needs")
        return ClickEstimate(
            name=name, title=estimator.title, assumes=assumes, value=math.nan, why_not=why_not
        )
    one, logged = found[name], sums.logged_clicks(name)
    low, high = one.interval(level)
    low = max(low, min(one.value, 0.0))  # there are no fewer clicks than none
    difference = one.minus(logged)
    below, above = difference.interval(level)
    return ClickEstimate(
        name=name,
        title=estimator.title,
        assumes=assumes,
        value=one.value,
        low=low,
        high=high,
        error=one.error,
        logged=logged.value,
        difference=difference.value,
        difference_low=below,
        difference_high=above,
        impressions=int(sums.sums[name].slates.sum()),
    )


def equality_estimates(
    exposure: ExposureSums, logged: ExposureSums, how: str, level: float
) -> tuple[EqualityEstimate, ...]:
    """Return Equality (B) and (P) of a policy, beside those of the log."""
    found = []
    pairs = zip(("equality_b", "equality_p"), exposure.equality(), logged.equality(), strict=True)
    for metric, own, theirs in pairs:
        low, high = own.interval(level)
        difference, below, above = own.difference(theirs, level)
        found.append(
            EqualityEstimate(
                metric=metric,
                title=title_of(metric),
                value=own.value,
                low=low,
                high=high,
                logged=theirs.value,
                difference=difference,
                difference_low=below,
                difference_high=above,
                how=how,
            )
        )
    return tuple(found)


def agreements(found: dict[str, Jackknife], level: float) -> tuple[Agreement, ...]:
    """Compare all pairs of estimates."""
    pairs = []
    for first, second in combinations(found, 2):
        difference = found[first].minus(found[second])
        low, high = difference.interval(level)
        pairs.append(
            Agreement(first=first, second=second, difference=difference.value, low=low, high=high)
        )
    return tuple(pairs)


def _square(error: float) -> float:
    return 0.0 if math.isnan(error) else error**2
