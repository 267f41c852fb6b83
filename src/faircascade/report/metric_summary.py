"""One metric of one policy in one environment: estimates, intervals and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faircascade.experiment.stats import (
    Contrast,
    Estimate,
    Interval,
    bootstrap_interval,
    estimate,
)
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics import higher_is_better
from faircascade.report.changes import Changes, count_tested


@dataclass(frozen=True)
class MetricSummary:
    """A mean over seeds with its intervals, and the change against the baseline."""

    environment: EnvironmentResults
    label: str
    metric: str
    estimate: Estimate
    bootstrap: Interval
    change: Contrast | None
    """None for the baseline, and where the policy or the baseline has not been run."""
    comparisons: int
    """How many were made together, which is what p is corrected for."""

    @property
    def higher_is_better(self) -> bool:
        return higher_is_better(self.metric)


def measured(study: StudyResults, found: Changes) -> Iterator[MetricSummary]:
    """Yield every metric of a study's tables, given their changes: by environment.

    Over the seeds that all policies of an environment share.
    """
    comparisons = count_tested(found)
    for place, environment in enumerate(study.matched):
        for metric in study.metrics:
            for label in environment.runs:
                values = environment.values(label, metric)
                yield MetricSummary(
                    environment,
                    label,
                    metric,
                    estimate(values),
                    bootstrap_interval(values),
                    found.get((place, label, metric)),
                    comparisons,
                )
