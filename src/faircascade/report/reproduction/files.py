"""The numbers behind the page, as tidy tables; none has a row an item or a user."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from faircascade.experiment.study import Study, World
from faircascade.report import series
from faircascade.report.pages import write_page
from faircascade.report.reproduction.compare import held

CURVES = (
    "clicks",
    "interval_clicks",
    "regret",
    "exploration",
    "equality_b",
    "equality_p",
    "equity_b",
    "equity_p",
    "fairness_regret",
)
"""What `curves.csv` has: what figures show."""
BY_ROUND = ("exploration", "equality", "bound")
"""Exhibits with such a figure; other studies are not in there."""

FILES = (
    ("results.csv", "Every metric of every finished run, as it stood at the end."),
    (
        "curves.csv",
        "The metrics of the figures by round: mean over all finished seeds, least (low) and "
        "greatest (high); a figure takes the seeds that its policies share.",
    ),
    (
        "comparison.csv",
        "Every published number with ours: mean over seeds, 95% interval (low, high), verdict.",
    ),
    ("figures", "Every figure as PNG and SVG."),
)
"""What lies beside the page, and what it holds."""

_WORLD = ("data", "d", "k", "align", "zero_rows", "world")


def write_tables(studies: Sequence[Study], folder: Path) -> None:
    """Write results.csv, curves.csv and comparison.csv."""
    _write(
        folder / "results.csv",
        ("spec", *_WORLD, "policy", "seed", "rounds", "metric", "value"),
        _results(studies),
    )
    _write(
        folder / "curves.csv",
        ("spec", "world", "policy", "round", "metric", "mean", "low", "high", "seeds"),
        _curves(studies),
    )
    _write(
        folder / "comparison.csv",
        (
            *(
                "spec",
                "our_data",
                "world",
                "policy",
                "data",
                "d",
                "k",
                "method",
                "weight",
                "metric",
            ),
            *("published", "ours", "low", "high", "seeds", "rounds", "difference", "percent"),
            *("verdict", "reason"),
        ),
        _comparison(studies),
    )


def _results(studies: Iterable[Study]) -> Iterator[tuple[Any, ...]]:
    """One row for each finished cell and metric."""
    for study, world, label in _policies(studies):
        for run in world.runs[label]:
            for metric, value in run.about["metrics"].items():
                known = (study.spec.name, *_options(study, world), label)
                yield (*known, run.seed, run.rounds, metric, value)


def _curves(studies: Iterable[Study]) -> Iterator[tuple[Any, ...]]:
    """One row for each policy, metric and checkpoint: mean, least and greatest over seeds."""
    drawn = [study for study in studies if set(study.spec.show) & set(BY_ROUND)]
    for study, world, label in _policies(drawn):
        runs = world.runs[label]
        for metric in CURVES if runs else ():
            line = series.curve(runs, metric)
            for at, *values in zip(*line, strict=True):
                shown = (float(f"{value:.5g}") for value in values)
                yield (study.spec.name, _given(world), label, int(at), metric, *shown, len(runs))


def _comparison(studies: Iterable[Study]) -> Iterator[tuple[Any, ...]]:
    """One row for each published number and each policy of ours that is held against it."""
    for study in studies:
        if "published" not in study.spec.show:
            continue
        for n in held(study):
            ours = (n.ours.mean, n.ours.low, n.ours.high, n.ours.seeds, n.rounds)
            study_of = (study.spec.name, study.spec.data["name"], _given(n.world), n.label)
            known = (*study_of, *n.row, n.metric, n.published)
            yield (*known, *ours, n.difference, n.percent, n.outcome, n.reason)


def _policies(studies: Iterable[Study]) -> Iterator[tuple[Study, World, str]]:
    for study in studies:
        for world in study.worlds:
            for label in world.runs:
                yield study, world, label


def _options(study: Study, world: World) -> tuple[Any, ...]:
    chosen = (world.options[name] for name in ("dim", "k", "align", "zero_rows"))
    return (study.spec.data["name"], *chosen, _given(world))


def _given(world: World) -> str:
    """Return the options that the spec gave, in one line."""
    return " ".join(f"{name}={value}" for name, value in world.environment.items())


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    table.writerows([_plain(value) for value in row] for row in rows)
    write_page(path, text.getvalue())


def _plain(value: Any) -> Any:
    """Return a value as it is written: nothing where there is none."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else value
