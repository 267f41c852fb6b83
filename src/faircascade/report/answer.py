"""What fairness costs, in a sentence or two: chosen by a rule, whatever the results are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from faircascade.experiment.stats import Contrast, Estimate, contrasts, estimate
from faircascade.experiment.study_results import EnvironmentResults
from faircascade.metrics import higher_is_better
from faircascade.metrics.exposure import FAIRNESS
from faircascade.report.formatting import seed_count, title
from faircascade.report.numbers import number, percent

SERVICE = ("clicks", "clicked", "regret")
"""Metrics of how well users are served: all others are about exposure."""
KEPT = 95
"""Percent of the baseline's clicks that a policy keeps to count as cheap."""


def fairness_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return those of some metrics that are about exposure, or the usual four."""
    return tuple(metric for metric in metrics if metric not in SERVICE) or FAIRNESS


@dataclass(frozen=True)
class Cost:
    """What a policy gives up and gains against the baseline."""

    label: str
    clicks: Contrast
    fairness: Contrast
    sign: int
    """-1 if less of the metric is fairer."""

    @property
    def gain(self) -> float:
        return self.sign * self.fairness.difference

    @property
    def fairer(self) -> bool:
        """True if it is fairer by more than luck; with one seed, if it is fairer."""
        low, high = self.fairness.low, self.fairness.high
        if math.isnan(low):
            return self.gain > 0
        return min(self.sign * low, self.sign * high) > 0

    @property
    def cheap(self) -> bool:
        return self.clicks.percent >= KEPT - 100


def answer(environment: EnvironmentResults, metric: str) -> str:
    """Say what the fairest policy that keeps 95% of the clicks costs, and the fairest of all.

    Policies that do not learn are passed over, unless there are no others.
    """
    baseline, labels = environment.baseline, environment.comparable
    others = [label for label in labels if label != baseline]
    learners = [label for label in others if environment.policies[label].learns]
    if baseline not in labels or not others:
        return f"There is nothing to compare with {baseline} yet."
    costs = _costs(environment, learners or others, metric)
    fairer = [cost for cost in costs if cost.fairer]
    if not fairer:
        return f"{_nobody(environment, costs, metric)} {_seeds(environment, labels)}"
    fairest = max(fairer, key=lambda cost: cost.gain)
    cheap = [cost for cost in fairer if cost.cheap]
    if cheap:
        chosen = max(cheap, key=lambda cost: cost.gain)
        words = f"{chosen.label} {_words(chosen, environment, metric)}"
    else:
        chosen = max(fairer, key=lambda cost: cost.clicks.percent)
        words = f"No policy that is fairer than {baseline} keeps {KEPT}% of its clicks. "
        words += f"{chosen.label} {_words(chosen, environment, metric)}"
    if fairest is not chosen:
        words += f" The fairest, {fairest.label}, {_words(fairest, environment, metric)}"
    return f"{words} {_seeds(environment, labels)}"


def _costs(environment: EnvironmentResults, labels: Sequence[str], metric: str) -> list[Cost]:
    pairs = {
        (label, m): environment.paired(label, m) for label in labels for m in ("clicks", metric)
    }
    found = contrasts({key: pair for key, pair in pairs.items() if len(pair[0])})
    sign = 1 if higher_is_better(metric) else -1
    return [
        Cost(label, found[label, "clicks"], found[label, metric], sign)
        for label in labels
        if (label, metric) in found and not math.isnan(found[label, metric].difference)
    ]


def _nobody(environment: EnvironmentResults, costs: Sequence[Cost], metric: str) -> str:
    """Say that no policy is fairer, and who comes closest."""
    baseline = environment.baseline
    has = f"{title(metric)} {number(_mean(environment, baseline, metric).mean)}"
    words = f"No policy that learns shares exposure more evenly than {baseline} ({has})"
    if not costs:
        return f"{words}."
    close = max(costs, key=lambda cost: cost.gain)
    change = f"{percent(close.fairness.percent)}{_interval(close.fairness)}"
    luck = ", which may be luck" if close.gain > 0 else ""
    return f"{words}: the best of them, {close.label}, has a change of {change}{luck}."


def _words(cost: Cost, environment: EnvironmentResults, metric: str) -> str:
    before, after = (
        number(_mean(environment, label, metric).mean)
        for label in (environment.baseline, cost.label)
    )
    by = f"{abs(cost.fairness.percent):.1f}%{_interval(cost.fairness, turned=cost.sign < 0)}"
    if metric.startswith("equality"):
        gained = f"shares exposure {by} more evenly ({title(metric)} from {before} to {after})"
    else:
        gained = f"improves {title(metric)} by {by} (from {before} to {after})"
    return f"{_clicks(cost.clicks, environment.baseline)} and {gained}."


def _clicks(change: Contrast, baseline: str) -> str:
    """Say what becomes of the clicks."""
    if not math.isfinite(change.percent):
        return f"has a clicks change of {change.difference:+.4f} against {baseline}"
    if change.low <= 0 <= change.high:
        shown = f"{percent(change.percent)}{_interval(change)}"
        return f"changes the clicks of {baseline} by {shown}, which may be luck,"
    if abs(change.percent) < 0.05:
        return f"keeps the clicks of {baseline}"
    by = f"{abs(change.percent):.1f}%"
    if change.percent < 0:
        return f"gives up {by}{_interval(change, turned=True)} of the clicks of {baseline}"
    return f"gets {by}{_interval(change)} more clicks than {baseline}"


def _interval(change: Contrast, *, turned: bool = False) -> str:
    """Return the interval of a change in percent, or of its opposite."""
    ends = [-end if turned else end for end in change.percents]
    if not all(map(math.isfinite, ends)):
        return ""
    low, high = (f"{end:.1f}".replace("-", "−") for end in sorted(ends))
    return f" [{low}, {high}]"


def _mean(environment: EnvironmentResults, label: str, metric: str) -> Estimate:
    return estimate(environment.values(label, metric))


def _seeds(environment: EnvironmentResults, labels: Sequence[str]) -> str:
    counts = [len(environment.runs[label]) for label in labels]
    if max(counts) == 1:
        return "There is one seed, so chance cannot be told from effect."
    return f"Means over {seed_count(counts)}, with 95% intervals."
