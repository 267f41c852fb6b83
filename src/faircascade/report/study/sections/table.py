"""One row a policy and environment: every number with its interval and its change."""

from __future__ import annotations

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.report.study.blocks import (
    NOTHING_SIMULATED,
    Block,
    Group,
    Line,
    Prose,
    Row,
    Section,
    Table,
    text,
)
from faircascade.report.study.changes import Changes, change_lines, changes, tested_words
from faircascade.report.study.formatting import (
    NOT_RUN,
    environment_name,
    estimate_lines,
    head,
    tags,
)
from faircascade.report.study.styles import styles_of


def table(study: Study, test: Test = "t") -> Section:
    """The metrics of all policies: mean over seeds, 95% interval, change against the baseline."""
    if not study.environments:
        return Section("Results", [NOTHING_SIMULATED])
    metrics = study.spec.metrics
    found = changes(study.matched, metrics, test)
    groups = tuple(
        Group(_rows(study, place, environment, found), environment_name(study, environment))
        for place, environment in enumerate(study.matched)
    )
    words, among = "Means over seeds (n) with 95% intervals in brackets. ", "this table"
    blocks: list[Block] = [
        Table("", tuple(head(metric) for metric in metrics), groups),
        Prose(words + tested_words(found, study.matched, test, among=among), soft=True),
    ]
    return Section("Results", blocks)


def _rows(
    study: Study, place: int, environment: EnvironmentResults, found: Changes
) -> tuple[Row, ...]:
    drawn = styles_of(environment)
    return tuple(
        Row(
            label,
            tuple(_cell(found, place, environment, label, metric) for metric in study.spec.metrics),
            drawn[label].colour,
            tags(environment, label, study.spec.rounds),
        )
        for label in environment.runs
    )


def _cell(
    found: Changes, place: int, environment: EnvironmentResults, label: str, metric: str
) -> tuple[Line, ...]:
    if not environment.runs[label]:
        return text(NOT_RUN, "soft")
    lines = estimate_lines(estimate(environment.values(label, metric)))
    return (*lines, *change_lines(found, place, environment, label, metric))
