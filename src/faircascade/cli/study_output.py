"""Studies as text and as plain data: one table for each environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from faircascade.cli.console import percent, print_table

if TYPE_CHECKING:
    from faircascade.experiment.stats import Contrast, Estimate, Test
    from faircascade.experiment.study import Study
    from faircascade.experiment.study_results import EnvironmentResults, StudyResults


def print_results(study: StudyResults, test: Test = "t") -> None:
    """Print means over seeds with the change against the baseline, by environment."""
    from faircascade.experiment.stats import contrasts, too_few
    from faircascade.experiment.study_results import group_metrics, pairs

    columns = dict.fromkeys(c for environment in study.matched for c in environment.group_columns)
    families = [study.metrics, *map(group_metrics, columns)]
    tested = [contrasts(pairs(study.matched, metrics), test=test) for metrics in families]
    changes = {key: change for family in tested for key, change in family.items()}
    _print_metrics(study, study.metrics, changes, test)
    grouped = tuple(m for metrics in families[1:] for m in metrics if m.endswith("_b"))
    if grouped:
        _print_metrics(study, grouped, changes, test, lead="Groups of items, added up. ")
    warning = too_few(tested[0], test)
    if warning:
        typer.echo(warning)


def _print_metrics(
    study: StudyResults,
    metrics: tuple[str, ...],
    changes: Mapping[tuple[int, str, str], Contrast],
    test: Test,
    lead: str = "",
) -> None:
    """Print a table of some metrics for each environment."""
    from faircascade.metrics import title_of

    for place, environment in enumerate(study.matched):
        if any(environment.runs.values()):
            own = {key[1:]: change for key, change in changes.items() if key[0] == place}
            print_table(
                ["Policy", *(title_of(metric) for metric in metrics)],
                _rows(environment, metrics, own),
                title=lead + _title(study, environment, test),
                numbers=True,
            )


def _rows(
    environment: EnvironmentResults,
    metrics: tuple[str, ...],
    changes: Mapping[tuple[str, str], Contrast],
) -> list[list[str]]:
    """One row per policy: mean and half of its interval, change and whether chance explains it."""
    from faircascade.experiment.stats import estimate

    longest = max(environment.rounds(label) for label in environment.runs)
    best = {metric: environment.best(metric) for metric in metrics}
    rows = []
    for label, runs in environment.runs.items():
        row = [label]
        if runs and environment.rounds(label) < longest:
            row = [f"{label}\n({environment.rounds(label):,} rounds)"]
        elif not runs:
            row = [f"{label}\n(not run yet)"]
        for metric in metrics:
            found = estimate(environment.values(label, metric))
            if not found.seeds:
                row.append("–")
                continue
            cell = f"{found.mean:.4g}{'★' if label in best[metric] else ' '}"
            if not math.isnan(found.high):
                cell += f"\n±{found.high - found.mean:.2g} "
            change = changes.get((label, metric))
            if change is not None:
                sure = "†" if change.corrected < 0.05 else " "
                cell += f"\n{percent(change.percent)}{sure}"
            row.append(cell)
        rows.append(row)
    for name, of in environment.yardsticks.items():
        if any(metric in of for metric in metrics):
            values = (f"{of[metric]:.4g} " if metric in of else "–" for metric in metrics)
            rows.append([f"({name} slates)", *values])
    return rows


def _title(study: StudyResults, environment: EnvironmentResults, test: Test) -> str:
    from faircascade.experiment.study_results import items_words

    seeds = len(next((runs for runs in environment.runs.values() if runs), ()))
    counted = "1 seed" if seeds == 1 else f"{seeds} seeds, ± half of the 95% interval"
    name = "paired t" if test == "t" else "Wilcoxon"
    sure = f"; † is significant ({name}, Holm, 5%)" if seeds > 1 else ""
    against = f"change against {environment.baseline}"
    items = items_words([environment], study.over)
    where = "" if study.title.endswith(environment.name) else f": {environment.name}"
    return f"{study.title}{where}, {counted}; {against}{sure}; ★ is best. {items}"


def study_document(study: Study, test: Test = "t") -> dict[str, Any]:
    """Return a study as one plain document: what the tables have."""
    from faircascade.experiment.stats import contrasts, estimate
    from faircascade.experiment.study_results import group_metrics, pairs

    columns = dict.fromkeys(c for environment in study.matched for c in environment.group_columns)
    families = {"": study.spec.metrics, **{column: group_metrics(column) for column in columns}}
    changes = {of: contrasts(pairs(study.matched, m), test=test) for of, m in families.items()}

    def numbers(place: int, label: str, of: str) -> dict[str, Any]:
        return {
            metric.rpartition(".")[2]: _numbers(
                estimate(study.matched[place].values(label, metric)),
                changes[of].get((place, label, metric)),
            )
            for metric in families[of]
        }

    rows = [
        {
            "data": environment.data,
            "environment": environment.given,
            "policy": label,
            "seeds": list(environment.seeds(label)),
            "rounds": environment.rounds(label),
            "metrics": numbers(place, label, ""),
            "groups": {column: numbers(place, label, column) for column in columns},
        }
        for place, environment in enumerate(study.matched)
        for label in environment.runs
        if environment.runs[label]
    ]
    return {
        "name": study.spec.name,
        "run": str(study.results.folder),
        "cells": len(study.cells),
        "missing": study.missing,
        "baseline": study.environments[0].baseline if study.environments else None,
        "over": study.over,
        "environments": [
            {
                "data": environment.data,
                "environment": environment.given,
                "items": [items for items, _ in environment.sizes],
                "eligible": [eligible for _, eligible in environment.sizes],
                "yardsticks": environment.yardsticks,
            }
            for environment in study.matched
        ],
        "table": rows,
    }


def _numbers(found: Estimate, change: Contrast | None) -> dict[str, float | None]:
    """Return a mean with its interval, and the change against the baseline if there is one."""
    numbers = {"mean": found.mean, "low": found.low, "high": found.high}
    if change is not None:
        numbers |= {"change": change.percent, "p": change.corrected}
    return {name: _plain(value) for name, value in numbers.items()}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
