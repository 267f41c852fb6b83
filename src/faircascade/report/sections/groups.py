"""Exposure of groups of items: how evenly it is shared among them, and who gets how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from faircascade.experiment.cell_result import GROUP, CellResult
from faircascade.experiment.stats import Test, contrasts, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics.exposure import FAIRNESS, Exposures, evenness
from faircascade.report.blocks import Block, Group, Head, Line, Prose, Row, Table, text
from faircascade.report.changes import change_line
from faircascade.report.formatting import estimate_lines, head, tags
from faircascade.report.numbers import share
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.types import Floats

_MOST = 12
"""Groups that are listed."""


class GroupSums(NamedTuple):
    """What the groups of one item column got in one run."""

    items: Mapping[str, int]
    merit: Mapping[str, float]
    exposures: Exposures
    """By group, in the order of `merit`."""

    @classmethod
    def of(cls, run: CellResult, column: str) -> GroupSums:
        """Add up the items of each group; an item `a|b` counts in both."""
        memberships = [str(label).split("|") for label in run.items[GROUP + column]]
        names = sorted({group for row in memberships for group in row})
        place = {group: g for g, group in enumerate(names)}
        rows = np.array([i for i, row in enumerate(memberships) for _ in row])
        into = np.array([place[group] for row in memberships for group in row])

        def add(values: Floats) -> Floats:
            return np.asarray(np.bincount(into, values[rows], len(names)), dtype=np.float64)

        counts, merit = add(np.ones(len(memberships))), add(run.items["merit"])
        exposure_b, exposure_p = (add(run.items[f"exposure_{notion}"]) for notion in "bp")
        return cls(
            dict(zip(names, map(int, counts), strict=True)),
            dict(zip(names, (merit / merit.sum()).tolist(), strict=True)),
            Exposures.of(exposure_b, exposure_p, merit),
        )

    @property
    def shares(self) -> dict[str, float]:
        """Each group's share of E_P."""
        exposure = self.exposures.exposure_p
        whole = float(exposure.sum()) or math.nan
        return dict(zip(self.merit, (exposure / whole).tolist(), strict=True))


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
            for column in group_columns(environment)
            for block in _tables(study, environment, column, name, test)
        ],
    )
    return [opening, *drawn]


def no_groups(study: StudyResults) -> str:
    """Say that the items have no groups, if so."""
    if any(map(group_columns, study.matched)) or not study.runs:
        return ""
    return "the items have no groups, or their runs did not keep them"


def group_columns(environment: EnvironmentResults) -> list[str]:
    """Return the group columns that all runs have."""
    runs = [run for found in environment.runs.values() for run in found]
    first = runs[0].groups if runs else ()
    return [column for column in first if all(column in run.groups for run in runs)]


def _tables(
    study: StudyResults, environment: EnvironmentResults, column: str, name: str, test: Test
) -> list[Block]:
    sums = {
        label: [GroupSums.of(run, column) for run in environment.runs[label]]
        for label in environment.finished
    }
    where = f", {name}" if len(study.environments) > 1 else ""
    return [
        _fairness(study, environment, sums, f"By {column}{where}", test),
        _shares(sums, f"Share of exposure (P) by {column}{where}"),
    ]


def _fairness(
    study: StudyResults,
    environment: EnvironmentResults,
    sums: Mapping[str, Sequence[GroupSums]],
    title: str,
    test: Test,
) -> Table:
    """Return the fairness metrics over groups, one row for each policy."""
    looks, values = styles_of(environment), {}
    for label, each in sums.items():
        for metric, notion in zip(FAIRNESS, Exposures._fields, strict=True):
            values[label, metric] = np.array(
                [evenness(getattr(of.exposures, notion)) for of in each]
            )
    pairs = {
        key: (own, values[environment.baseline, key[1]])
        for key, own in values.items()
        if key[0] != environment.baseline
        and environment.seeds(key[0]) == environment.seeds(environment.baseline)
    }
    found = contrasts(pairs, test=test)

    def cell(label: str, metric: str) -> tuple[Line, ...]:
        lines = estimate_lines(estimate(values[label, metric]))
        change = found.get((label, metric))
        return (
            *lines,
            *([change_line(change, metric, change.seeds, lead="change ")] if change else []),
        )

    rows = [
        Row(
            label,
            tuple(cell(label, metric) for metric in FAIRNESS),
            looks[label].colour,
            tags(environment, label, study.longest, seeds=True),
        )
        for label in sums
    ]
    return Table(title, tuple(map(head, FAIRNESS)), (Group(tuple(rows)),))


def _shares(sums: Mapping[str, Sequence[GroupSums]], title: str) -> Table:
    """Return the most exposed groups: their items, and their shares of merit and of exposure."""
    first = next(iter(sums.values()))
    merit = _mean([of.merit for of in first])
    shares = {label: _mean([of.shares for of in each]) for label, each in sums.items()}
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
