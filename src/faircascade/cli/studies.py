"""Studies as text and as plain data: one table for each world."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from faircascade.cli.console import percent, print_table

if TYPE_CHECKING:
    from faircascade.experiment.study import Study, World


def print_study(study: Study) -> None:
    """Print means over seeds with the change against the baseline, world by world."""
    from faircascade.experiment.comparison import title_of

    for world in study.matched:
        if any(world.runs.values()):
            print_table(
                ["Policy", *(title_of(metric) for metric in study.spec.metrics)],
                _rows(world, study.spec.metrics),
                title=_title(study, world),
                numbers=True,
            )


def _rows(world: World, metrics: tuple[str, ...]) -> list[list[str]]:
    """One row a policy: mean and half of its interval, change and whether chance explains it."""
    from faircascade.experiment.stats import contrasts, estimate

    others = [label for label in world.runs if label != world.baseline and world.runs[label]]
    changes = contrasts(
        {(label, metric): world.paired(label, metric) for label in others for metric in metrics}
    )
    rows = []
    for label, runs in world.runs.items():
        row = [label if len(runs) else f"{label} (not run yet)"]
        for metric in metrics:
            found = estimate(world.values(label, metric))
            if not found.seeds:
                row.append("–")
                continue
            cell = f"{found.mean:.4g} "
            if not math.isnan(found.high):
                cell += f"\n±{found.high - found.mean:.2g} "
            if (label, metric) in changes:
                change = changes[label, metric]
                sure = "*" if change.corrected < 0.05 else " "
                cell += f"\n{percent(change.percent)}{sure}"
            row.append(cell)
        rows.append(row)
    return rows


def _title(study: Study, world: World) -> str:
    seeds = len(next((runs for runs in world.runs.values() if runs), ()))
    options = ", ".join(f"{name} = {value}" for name, value in world.environment.items())
    counted = "1 seed" if seeds == 1 else f"{seeds} seeds, ± half of the 95% interval"
    sure = "; * is beyond chance (paired t, Holm, 5%)" if seeds > 1 else ""
    return (
        f"{study.spec.title}: {world.data['name']}{f' ({options})' if options else ''}, {counted}; "
        f"change against {world.baseline}{sure}"
    )


def study_document(study: Study) -> dict[str, Any]:
    """Return a study as one plain document."""
    from faircascade.experiment.stats import estimate

    rows = [
        {
            "data": world.data,
            "environment": world.environment,
            "policy": label,
            "seeds": list(world.seeds(label)),
            "rounds": world.rounds(label),
            "metrics": {
                metric: _plain(estimate(world.values(label, metric)).mean)
                for metric in study.spec.metrics
            },
        }
        for world in study.worlds
        for label in world.runs
        if world.runs[label]
    ]
    return {
        "name": study.spec.name,
        "run": str(study.results.folder),
        "cells": len(study.cells),
        "missing": study.missing,
        "baseline": study.worlds[0].baseline if study.worlds else None,
        "table": rows,
    }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
