"""From sums over a log to what is said of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faircascade.data.log import Propensity
from faircascade.evaluation.estimators import ESTIMATORS, KINDS
from faircascade.evaluation.estimators.importance import CALLED
from faircascade.evaluation.overlap import Overlap
from faircascade.evaluation.policy_views import PolicyRun
from faircascade.evaluation.results import ClickEstimate, EqualityEstimate, PolicyEvaluation
from faircascade.evaluation.sums import (
    BEHAVIOURS,
    PLAIN,
    PolicySums,
    agreements,
    click_estimate,
    equality_estimates,
)
from faircascade.evaluation.verdict import (
    NO_OVERLAP,
    NO_PROPENSITIES,
    NO_RANDOMNESS,
    Evidence,
    Verdict,
    decide,
)

PREFERRED: dict[Propensity, tuple[str, ...]] = {
    "cascade": ("snrips", "cascade-dr", "rips"),
    "item_position": ("sniips", "iips"),
    "slate": ("snips", "ips"),
}
"""Estimators that a verdict may rest on, by the propensities that there are, the best first.

Those that normalise come first: the intervals of the others are too short where large weights are
rare, by the study in `benchmarks/evaluation_coverage.py`.
"""


def summarise(
    run: PolicyRun,
    sums: PolicySums,
    *,
    random_log: bool,
    estimators: Sequence[str],
    precision: float,
    level: float,
) -> PolicyEvaluation:
    """Return estimates, exposure, overlap and verdict of a policy."""
    found = sums.jackknives()
    estimates = tuple(click_estimate(name, sums, found, level) for name in estimators)
    overlaps = {
        kind: overlap
        for kind, spread in sums.weights.items()
        if (overlap := spread.overlap(level)) is not None
    }
    main = _main(estimates, estimators, overlaps)
    shown = {name: found[name] for name in estimators if name in found}
    return PolicyEvaluation(
        label=run.label,
        how=run.how,
        verdict=_verdict(main, sums, overlaps, precision, random_log),
        main="" if main is None else main.name,
        estimates=estimates,
        equality=_equality(run, sums, main, level),
        overlaps=tuple(overlaps[kind] for kind in KINDS if kind in overlaps),
        agreements=agreements(shown, level),
        notes=_notes(run, sums, main),
    )


def _main(
    estimates: Sequence[ClickEstimate],
    asked: Sequence[str],
    overlaps: Mapping[Propensity, Overlap],
) -> ClickEstimate | None:
    """Return the estimate that a verdict rests on: one with weights, if there are any."""
    there = {estimate.name: estimate for estimate in estimates if not estimate.why_not}
    if tuple(asked) != tuple(ESTIMATORS):
        return next((there[name] for name in asked if name in there), None)
    order = next(
        (names for kind, names in PREFERRED.items() if kind in overlaps), ("click-model", "dm")
    )
    return next((there[name] for name in order if name in there), None)


def _kind(estimate: ClickEstimate, sums: PolicySums | None = None) -> Propensity | None:
    if estimate.name == "aips" and sums is not None and sums.behaviour:
        return BEHAVIOURS[sums.behaviour]
    return ESTIMATORS[estimate.name].kind


def _verdict(
    main: ClickEstimate | None,
    sums: PolicySums,
    overlaps: Mapping[Propensity, Overlap],
    precision: float,
    random_log: bool,
) -> Verdict:
    if main is None:
        words = NO_PROPENSITIES if not sums.known else NO_OVERLAP if random_log else NO_RANDOMNESS
        return Verdict("cannot", words)
    kind = _kind(main)
    return decide(
        Evidence(
            title=main.title,
            value=main.value,
            low=main.low,
            high=main.high,
            logged=main.logged,
            difference_low=main.difference_low,
            difference_high=main.difference_high,
            precision=precision,
            overlap=None if kind is None else overlaps.get(kind),
            model_based=ESTIMATORS[main.name].model_based,
            weighted=bool(overlaps),
            random_log=random_log,
        )
    )


def _equality(
    run: PolicyRun, sums: PolicySums, main: ClickEstimate | None, level: float
) -> tuple[EqualityEstimate, ...]:
    """Return Equality from the policy's own slates, or else with the weights of the main one."""
    exposure = run.exposure()
    if exposure is not None:
        how = "computed from its own slates"
        return equality_estimates(exposure, sums.logged, how, level)
    kind = None if main is None else _kind(main, sums)
    if kind is None or kind not in sums.exposures:
        return ()
    how = f"estimated with the weights of {ESTIMATORS[PLAIN[kind]].title}"
    return equality_estimates(sums.exposures[kind], sums.logged, how, level)


def _notes(run: PolicyRun, sums: PolicySums, main: ClickEstimate | None) -> tuple[str, ...]:
    notes = []
    if run.catalogue.not_of_policy:
        notes.append(
            f"{run.catalogue.not_of_policy:,} logged items are none of the policy's: it never "
            "shows them"
        )
    total = int(sums.logged_sums.slates.sum())
    if main is not None and main.impressions < total:
        kind = ESTIMATORS[main.name].kind
        of = "" if kind is None else f" of {CALLED[kind]}"
        notes.append(
            f"{total - main.impressions:,} of {total:,} impressions have no probability{of} and "
            f"are left out; the log has {main.logged:.4g} clicks per slate on the others"
        )
    return tuple(notes)
