"""The metrics of all policies: every mean with its interval and its change."""

from __future__ import annotations

from collections.abc import Sequence

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.blocks import Block, Group, Line, Prose, Row, Table, text
from faircascade.report.changes import Changes, change_lines, changes, tested_words
from faircascade.report.formatting import (
    NOT_RUN,
    environment_name,
    estimate_lines,
    head,
    tags,
)
from faircascade.report.policy_styles import styles_of


def table(study: StudyResults, test: Test = "t") -> list[Block]:
    """The metrics of a study: mean over seeds, 95% interval, change against the baseline."""
    return metric_table(study, study.metrics, test)


def metric_table(study: StudyResults, metrics: Sequence[str], test: Test) -> list[Block]:
    """Return a table of some metrics, by environment and policy, and what it says."""
    found = changes(study.matched, metrics, test)
    groups = tuple(
        Group(
            _rows(study, place, environment, metrics, found), environment_name(study, environment)
        )
        for place, environment in enumerate(study.matched)
    )
    counts = {len(runs) for environment in study.matched for runs in environment.runs.values()}
    several = "Means over seeds (n) with 95% intervals in brackets. "
    words = several if max(counts) > 1 else ""
    return [
        Table("", tuple(head(metric) for metric in metrics), groups),
        Prose(words + tested_words(found, study.matched, test, among="this table"), soft=True),
    ]


def _rows(
    study: StudyResults,
    place: int,
    environment: EnvironmentResults,
    metrics: Sequence[str],
    found: Changes,
) -> tuple[Row, ...]:
    drawn = styles_of(environment)
    best = {metric: environment.best(metric) for metric in metrics}

    def cell(label: str, metric: str) -> tuple[Line, ...]:
        if not environment.runs[label]:
            return text(NOT_RUN, "soft")
        mean = estimate(environment.values(label, metric))
        lines = estimate_lines(mean, best=label in best[metric])
        return (*lines, *change_lines(found, place, environment, label, metric))

    return tuple(
        Row(
            label,
            tuple(cell(label, metric) for metric in metrics),
            drawn[label].colour,
            tags(environment, label, study.longest, seeds=True),
        )
        for label in environment.runs
    )
