"""One metric of one policy in one environment: estimates, intervals and tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from faircascade.experiment.stats import (
    Contrast,
    Estimate,
    Interval,
    Test,
    bootstrap_interval,
    count_tested,
    estimate,
)
from faircascade.experiment.study_results import EnvironmentResults, StudyResults, group_metrics
from faircascade.metrics import higher_is_better
from faircascade.report.changes import changes


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


def measured(study: StudyResults, test: Test) -> list[MetricSummary]:
    """Return every metric of a study's tables, by environment; then those over groups of items.

    Over the seeds that all policies of an environment share. What is taken over the groups of one
    column is corrected for by itself.
    """
    columns = dict.fromkeys(c for environment in study.matched for c in environment.group_columns)
    grouped = [m for column in columns for m in _family(study, group_metrics(column), test)]
    grouped.sort(key=lambda m: study.matched.index(m.environment))
    return [*_family(study, study.metrics, test), *grouped]


def _family(study: StudyResults, metrics: Sequence[str], test: Test) -> Iterator[MetricSummary]:
    """Yield some metrics that are tested together."""
    found = changes(study.matched, metrics, test)
    comparisons = count_tested(found)
    for place, environment in enumerate(study.matched):
        for metric in metrics:
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
