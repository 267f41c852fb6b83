"""The metrics of all policies: every mean with its interval and its change."""

from __future__ import annotations

import math
from collections.abc import Sequence

from faircascade.engine.result import item_metrics
from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults, items_words
from faircascade.metrics import Over
from faircascade.report.blocks import Block, Group, Line, Prose, Row, Table, text
from faircascade.report.changes import Changes, change_lines, changes, tested_words
from faircascade.report.formatting import (
    NOT_RUN,
    environment_name,
    estimate_lines,
    head,
    tags,
)
from faircascade.report.numbers import number
from faircascade.report.policy_styles import styles_of

_NEARLY_ALL = 0.01
"""So many items may be ineligible before it makes a difference."""
YARDSTICKS = {
    "optimal": "Optimal slates are the best for each user in every round. ",
    "random": "Random slates are uniform draws, with what they come to in the long run. ",
}


def table(study: StudyResults, test: Test = "t") -> list[Block]:
    """The metrics of a study: mean over seeds, 95% interval, change against the baseline.

    Where items cannot be recommended, the metrics of items follow over the eligible ones.
    """
    blocks: list[Block] = [Prose(items_words(study.matched, study.over))]
    blocks += metric_table(study, study.metrics, test, yardsticks=True)
    return blocks + other_items(study, test)


def other_items(study: StudyResults, test: Test) -> list[Block]:
    """Return the table over the eligible items, or over all if the page is about the eligible.

    None where nearly all items are eligible.
    """
    metrics = [metric for metric in study.metrics if metric in item_metrics()]
    if not metrics or max(e.ineligible for e in study.matched) <= _NEARLY_ALL:
        return []
    over: Over = "catalogue" if study.over == "eligible" else "eligible"
    other = study.measured(over)
    title = items_words(other.matched, over).removesuffix(".")
    return metric_table(other, metrics, test, yardsticks=True, title=title)[:1]


def metric_table(
    study: StudyResults,
    metrics: Sequence[str],
    test: Test,
    *,
    yardsticks: bool = False,
    title: str = "",
) -> list[Block]:
    """Return a table of some metrics, by environment and policy, and what it says."""
    found = changes(study.matched, metrics, test)
    groups = tuple(
        Group(
            _rows(study, place, environment, metrics, found)
            + (_yardsticks(environment, metrics) if yardsticks else ()),
            environment_name(study, environment),
        )
        for place, environment in enumerate(study.matched)
    )
    counts = {len(runs) for environment in study.matched for runs in environment.runs.values()}
    several = "Means over seeds (n) with 95% intervals in brackets. "
    words = several if max(counts) > 1 else ""
    if yardsticks:
        there = {name for environment in study.matched for name in environment.yardsticks}
        words += "".join(said for name, said in YARDSTICKS.items() if name in there)
    return [
        Table(title, tuple(head(metric) for metric in metrics), groups),
        Prose(words + tested_words(found, study.matched, test, among="this table"), soft=True),
    ]


def _yardsticks(environment: EnvironmentResults, metrics: Sequence[str]) -> tuple[Row, ...]:
    """Return the rows of optimal and random slates."""
    return tuple(
        Row(
            f"{name} slates",
            tuple(text(number(of.get(metric, math.nan)), "soft") for metric in metrics),
            tags=("not run, but computed",),
        )
        for name, of in environment.yardsticks.items()
    )


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
