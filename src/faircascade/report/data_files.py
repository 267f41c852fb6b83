"""The numbers behind the page, as tidy tables; none has a row an item or a user."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.experiment.stats import Test, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report import series
from faircascade.report.metric_summary import MetricSummary, measured
from faircascade.report.pages import write_page

CURVES_OF = (
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
"""What `curves.csv` has in any case: what figures show."""
BY_ROUND = {"exploration", "equality", "bound", "curves"}
"""Sections with such a figure; other studies are not in there."""


@dataclass(frozen=True)
class DataFile:
    """A table that lies beside the page."""

    name: str
    about: str
    """What it holds."""
    columns: tuple[str, ...]
    rows: Callable[[Sequence[StudyResults]], Iterable[Sequence[Any]]]

    def write(self, studies: Sequence[StudyResults], folder: Path) -> None:
        """Write the rows of some studies into a folder."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(self.columns)
        table.writerows([_plain(value) for value in row] for row in self.rows(studies))
        write_page(folder / self.name, text.getvalue())


def given(study: StudyResults, environment: EnvironmentResults) -> str:
    """Return the options that were given, in one line, with the data where that is a choice."""
    several = any(other.data != environment.data for other in study.environments)
    data = {f"data.{name}": value for name, value in environment.data.items()} if several else {}
    told = [*sorted(data.items()), *sorted(environment.given.items())]
    return " ".join(f"{name}={value}" for name, value in told)


def _results(studies: Sequence[StudyResults]) -> Iterator[tuple[Any, ...]]:
    """One row for each finished cell and metric."""
    for study, environment, label in _policies(study.measured("catalogue") for study in studies):
        for run in environment.runs[label]:
            for metric, value in run.about["metrics"].items():
                known = (study.name, *_options(study, environment), label)
                yield (*known, run.seed, run.rounds, metric, value)


def _curves(studies: Sequence[StudyResults]) -> Iterator[tuple[Any, ...]]:
    """One row for each policy, metric and checkpoint: mean, least and greatest over seeds."""
    drawn = [study for study in studies if BY_ROUND & set(study.show)]
    for study, environment, label in _policies(drawn):
        runs = environment.runs[label]
        for metric in dict.fromkeys((*CURVES_OF, *study.metrics)) if runs else ():
            line = series.curve(runs, metric)
            for at, *values in zip(*line, strict=True):
                shown = (float(f"{value:.5g}") for value in values)
                known = (study.name, given(study, environment), label, int(at), metric)
                yield (*known, *shown, len(runs), study.over)


RESULTS = DataFile(
    "results.csv",
    "Every metric of every finished run, as it stood at the end; where items cannot be "
    "recommended, also over the eligible ones (eligible.METRIC).",
    (
        *("spec", "data", "d", "k", "align", "zero_rows", "environment"),
        *("policy", "seed", "rounds", "metric", "value"),
    ),
    _results,
)
CURVES = DataFile(
    "curves.csv",
    "The metrics of the figures by round: mean over all finished seeds, least (low) and "
    "greatest (high); a figure takes the seeds that its policies share.",
    ("spec", "environment", "policy", "round", "metric", "mean", "low", "high", "seeds", "over"),
    _curves,
)


def _groups(studies: Sequence[StudyResults]) -> Iterator[tuple[Any, ...]]:
    """One row for each policy and group: items, and shares of merit, exposure and clicks."""
    for study, environment, label in _policies(studies):
        runs = environment.runs[label]
        for column in environment.group_columns if runs else ():
            sums = [run.group_sums[column] for run in runs]
            known = (study.name, given(study, environment), label, column)
            for group in dict.fromkeys(name for of in sums for name in of.items):
                exposure = estimate(np.array([of.shares().get(group, 0.0) for of in sums]))
                means = (
                    _mean([of.items for of in sums], group),
                    _mean([of.merit for of in sums], group),
                    _mean([of.shares("exposure_b") for of in sums], group),
                    _mean([of.clicks for of in sums], group),
                )
                ends = (exposure.mean, exposure.low, exposure.high)
                yield (*known, group, study.over, len(runs), *means, *ends)


def _mean(found: Sequence[Mapping[str, float]], group: str) -> float:
    return math.fsum(of.get(group, 0.0) for of in found) / len(found)


GROUPS = DataFile(
    "groups.csv",
    "Every group of items (genre, supplier) under every policy: how many items, and its share of "
    "merit, appearances, clicks and exposure by position, with a 95% interval; means over seeds.",
    (
        *("spec", "environment", "policy", "column", "group", "over", "seeds", "items"),
        *("merit", "exposure_b", "clicks", "exposure_p", "exposure_p_low", "exposure_p_high"),
    ),
    _groups,
)


def statistics_file(test: Test) -> DataFile:
    """Return the table of all that the report says about means and changes, by some test."""

    def rows(studies: Sequence[StudyResults]) -> Iterator[tuple[Any, ...]]:
        for study in studies:
            for m in measured(study, test):
                known = (study.name, m.environment.data["name"], given(study, m.environment))
                what = (m.label, m.metric, study.over)
                yield (*known, *what, *_of_mean(m), *_of_change(m, test))

    return DataFile(
        "statistics.csv",
        "Every metric of the tables for every policy, and fairness over groups of items "
        "(group.COLUMN.METRIC): mean over the seeds that all policies share, intervals, change "
        "against the baseline, p, effect size, wins; over all items or the eligible ones.",
        (
            *("spec", "data", "environment", "policy", "metric", "over"),
            *("seeds", "mean", "low", "high"),
            *("bootstrap_low", "bootstrap_high", "bootstrap_why_not", "baseline", "pairs"),
            *("difference", "difference_low", "difference_high", "percent"),
            *("test", "p", "holm_p", "comparisons", "cohen_dz", "hedges_gz"),
            *("wins", "ties", "losses"),
        ),
        rows,
    )


def _of_mean(m: MetricSummary) -> tuple[Any, ...]:
    of, bootstrap = m.estimate, m.bootstrap
    interval = (bootstrap.low, bootstrap.high, bootstrap.why_not)
    return (of.seeds, of.mean, of.low, of.high, *interval)


def _of_change(m: MetricSummary, test: Test) -> tuple[Any, ...]:
    baseline = m.environment.baseline
    if m.change is None:
        return (baseline, *[None] * 14)
    c = m.change
    return (
        *(baseline, c.seeds, c.difference, c.low, c.high, c.percent),
        *(test, c.p, c.corrected, m.comparisons, c.cohen_dz, c.hedges_gz),
        *c.wins(higher_is_better=m.higher_is_better),
    )


def _policies(
    studies: Iterable[StudyResults],
) -> Iterator[tuple[StudyResults, EnvironmentResults, str]]:
    for study in studies:
        for environment in study.environments:
            for label in environment.runs:
                yield study, environment, label


def _options(study: StudyResults, environment: EnvironmentResults) -> tuple[Any, ...]:
    chosen = (environment.options.get(name) for name in ("dim", "k", "align", "zero_rows"))
    return (environment.data["name"], *chosen, given(study, environment))


def _plain(value: Any) -> Any:
    """Return a value as it is written: nothing where there is none."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else value
