"""Searches as text and as plain data: the best trials, and what became of the bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from faircascade.cli.console import counted, print_table, remark

if TYPE_CHECKING:
    from faircascade.experiment.tuning.bounds import BoundCheck
    from faircascade.experiment.tuning.loop import Tuned
    from faircascade.experiment.tuning.trial import Trial

SHOWN = 5
"""Trials of the table; the policy as written comes on top."""


def print_trials(tuned: Tuned) -> None:
    """Print the best trials, and the policy as written."""
    from faircascade.metrics import title_of

    search = tuned.search
    rows = list(tuned.ranking[:SHOWN])
    rows += [trial for trial in tuned.ranking[SHOWN:] if trial.number == 1]
    names = list(search.candidates.ranges)
    if rows:
        print_table(
            ["Trial", *names, title_of(search.metric), *map(str, search.bounds)],
            [_row(tuned, trial, names) for trial in rows],
            title=f"The best of {counted(len(tuned.trials), 'trial')}; means over seeds "
            f"{', '.join(map(str, search.seeds))}",
            numbers=True,
        )
    if tuned.failures:
        first = tuned.failures[0]
        failed = counted(len(tuned.failures), "trial")
        remark(f"{failed} could not be run; trial {first.number}: {first.failure}")


def _row(tuned: Tuned, trial: Trial, names: Sequence[str]) -> list[str]:
    row = [f"{trial.number}{' (as written)' if trial.number == 1 else ''}"]
    row += [_shown(trial.values.get(name, "–")) for name in names]
    row.append(f"{trial.means[tuned.search.metric]:.4g}")
    for measured, excess in zip(_measured(tuned, trial), trial.excesses, strict=True):
        row.append(f"{measured} {'yes' if excess <= 0 else 'NO'}")
    return row


def print_outcome(best: Trial, label: str, baseline: str, found: Sequence[BoundCheck]) -> None:
    """Say what was found, and whether the bounds hold where nothing was tuned."""
    if best.number == 1:
        typer.echo(f"No trial was better than the policy as written ({listed(best.values)}).")
    else:
        typer.echo(f"Tuned: {label}, trial {best.number}: {listed(best.values)}")
    for verdict in found:
        against = f" against {baseline}" if verdict.bound.relative else ""
        typer.echo(f"On the seeds of the comparison, {verdict}{against}.")
    if any(not verdict.holds for verdict in found):
        typer.echo(
            "A bound that held on the seeds of the search need not hold on others: ask for more "
            "seeds in [tune], or for a tighter bound."
        )


def nothing_found(tuned: Tuned) -> str:
    """Say why a search has no best trial, and which came nearest."""
    if not tuned.ranking:
        return f"No trial could be run: {tuned.failures[0].failure}"
    bounds, nearest = tuned.search.bounds, tuned.ranking[0]
    reached = ", ".join(
        f"{bound.metric} {measured}"
        for bound, measured in zip(bounds, _measured(tuned, nearest), strict=True)
    )
    return (
        f"No trial keeps to {' and '.join(map(str, bounds))}, so there is nothing to compare. The "
        f"nearest is trial {nearest.number} ({listed(nearest.values)}): {reached}. Try more "
        "trials, other ranges or a looser bound."
    )


def _measured(tuned: Tuned, trial: Trial) -> list[str]:
    """Return what is held against each bound."""
    return [
        bound.shown(bound.measure(trial.means[bound.metric], tuned.baseline[bound.metric]))
        for bound in tuned.search.bounds
    ]


def tuned_document(tuned: Tuned) -> dict[str, Any]:
    """Return a search as one plain document."""
    search = tuned.search
    return {
        "name": search.spec.name,
        "maximize" if search.maximize else "minimize": search.metric,
        "subject_to": [str(bound) for bound in search.bounds],
        "seeds": list(search.seeds),
        "rounds": search.rounds,
        "complete": tuned.complete,
        "baseline": dict(tuned.baseline),
        "trials": [
            {
                "number": trial.number,
                "parameters": dict(trial.values),
                "metrics": dict(trial.means),
                "feasible": trial.is_feasible,
                "failure": trial.failure,
                "cells": list(trial.cells),
            }
            for trial in tuned.trials
        ],
        "best": None if tuned.best is None else tuned.best.number,
        "nearest": tuned.ranking[0].number if tuned.ranking else None,
    }


def listed(values: Mapping[str, Any]) -> str:
    """Return values of parameters as people read them."""
    return ", ".join(f"{name} = {_shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
