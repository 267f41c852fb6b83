"""Exposure of groups of items: how evenly it is shared among them, and who gets how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from faircascade.experiment.group_sums import GroupSums
from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults, group_metrics
from faircascade.report.blocks import Block, Group, Head, Line, Prose, Row, Table, text
from faircascade.report.changes import change_lines, changes
from faircascade.report.formatting import estimate_lines, head, tags
from faircascade.report.numbers import share
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment

_MOST = 12
"""Groups that are listed."""


def groups(study: StudyResults, test: Test = "t") -> list[Block]:
    """Two tables for each group column: fairness over groups, and the share of each group."""
    opening = Prose(
        "The same metrics with the exposure and the merit of each group added up: they show how "
        "evenly groups, rather than single items, are shown. An item in several groups counts in "
        "each."
    )
    drawn = by_environment(
        study,
        lambda environment, name, _: [
            block
            for column in environment.group_columns
            for block in _tables(study, environment, column, name, test)
        ],
    )
    return [opening, *drawn]


def no_groups(study: StudyResults) -> str:
    """Say that the items have no groups, if so."""
    if any(environment.group_columns for environment in study.matched) or not study.runs:
        return ""
    return "the items have no groups, or their runs did not keep them"


def _tables(
    study: StudyResults, environment: EnvironmentResults, column: str, name: str, test: Test
) -> list[Block]:
    sums = {
        label: [run.group_sums[column] for run in environment.runs[label]]
        for label in environment.finished
    }
    where = f", {name}" if len(study.environments) > 1 else ""
    tables = (
        _fairness(study, environment, column, f"By {column}{where}", test),
        _shares(sums, f"Share of exposure (P) by {column}{where}"),
    )
    return [replace(table, folded=environment is not study.matched[0]) for table in tables]


def _fairness(
    study: StudyResults, environment: EnvironmentResults, column: str, title: str, test: Test
) -> Table:
    """Return the fairness metrics over groups, one row for each policy."""
    looks, metrics = styles_of(environment), group_metrics(column)
    found, place = changes(study.matched, metrics, test), study.matched.index(environment)

    def cell(label: str, metric: str) -> tuple[Line, ...]:
        lines = estimate_lines(estimate(environment.values(label, metric)))
        if environment.rounds(label) < environment.longest:  # nobody knows how others stood then
            return tuple(lines)
        return (*lines, *change_lines(found, place, environment, label, metric))

    rows = [
        Row(
            label,
            tuple(cell(label, metric) for metric in metrics),
            looks[label].colour,
            tags(environment, label, study.longest, seeds=True),
        )
        for label in environment.finished
    ]
    return Table(
        title, tuple(head(metric.rpartition(".")[2]) for metric in metrics), (Group(tuple(rows)),)
    )


def _shares(sums: Mapping[str, Sequence[GroupSums]], title: str) -> Table:
    """Return the most exposed groups: their items, and their shares of merit and of exposure."""
    first = next(iter(sums.values()))
    merit = _mean([of.merit for of in first])
    shares = {label: _mean([of.shares() for of in each]) for label, each in sums.items()}
    total = {group: sum(by.get(group, 0.0) for by in shares.values()) for group in merit}
    chosen = sorted(merit, key=lambda group: (-total[group], group))[:_MOST]
    rows = [
        Row(
            group.strip() or "(none)",
            (
                text(f"{first[0].items.get(group, 0):,}"),
                text(share(merit[group])),
                *(text(share(by.get(group, 0.0))) for by in shares.values()),
            ),
        )
        for group in chosen
    ]
    left = len(merit) - len(chosen)
    most = f": the {len(chosen)} most exposed of {len(merit)} groups" if left else ""
    heads = (Head("Items"), Head("Merit"), *(Head(label) for label in shares))
    return Table(title + most, heads, (Group(tuple(rows)),), corner="Group")


def _mean(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean over seeds; a group that a seed lacks has nothing there."""
    names = dict.fromkeys(name for of in found for name in of)
    return {name: sum(of.get(name, 0.0) for of in found) / len(found) for name in names}
