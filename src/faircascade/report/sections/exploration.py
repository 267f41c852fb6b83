"""RQ1: how much is explored, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report import series
from faircascade.report.blocks import Block
from faircascade.report.formatting import (
    left_out,
    listed,
    seeds_of,
    title,
)
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import log_panel, metric_panel
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.style import legend, log_axis

_PANELS = ("interval_clicks", "regret", "equality_b", "equality_p", "equity_b", "equity_p")


def exploration(study: StudyResults) -> list[Block]:
    """The mean bonus by round; beside it other metrics, unless the page has these anyway."""
    beside = () if "curves" in study.show else _PANELS
    return by_environment(
        study,
        lambda environment, name, place: [
            _plate(f"exploration-{place}", name, environment, beside)
        ],
    )


def no_bonus(study: StudyResults) -> str:
    """Say that no policy explores by a bonus, if so."""
    runs = study.runs.values()
    found = any((run.curves["exploration"] > 0).any() for run in runs)
    return "" if found or not runs else "no policy explores by a bonus"


def _plate(
    file: str, name: str, environment: EnvironmentResults, beside: Sequence[str]
) -> CaptionedFigure:
    labels, drawn = environment.finished, styles_of(environment)
    figure = Figure(figsize=(10.6, 4.7) if beside else (6.4, 4.0), layout="constrained")
    grid = figure.add_gridspec(
        2, 4 if beside else 1, width_ratios=[1.9, 1, 1, 1] if beside else [1]
    )
    large = figure.add_subplot(grid[:, 0])
    seen = log_panel(large, environment, labels, "exploration", drawn)
    if seen:
        rounds, least, most = zip(*seen.values(), strict=True)
        log_axis(large, "x", 1, max(rounds))
        log_axis(large, "y", min(least), max(most))
    else:
        large.text(0.5, 0.5, "No policy explores by a bonus", ha="center")
    without = [label for label in labels if label not in seen]
    absent = f" Policies without a bonus: {listed(without)}." if without else ""
    large.set(title="Mean exploration bonus", xlabel="Round")
    for place, metric in enumerate(beside):
        row, column = divmod(place, 3)
        ax = figure.add_subplot(grid[row, 1 + column])
        metric_panel(ax, environment, labels, metric, drawn)
        ax.set_title(title(metric))
        if row == 1:
            ax.set_xlabel("Round")
    legend(figure, {label: drawn[label] for label in (labels if beside else seen)})
    panels = (
        " Right: clicks per slate since the checkpoint before, n-step regret, and the four "
        "fairness metrics over everything shown so far."
        if beside
        else ""
    )
    first, last = (_fall(environment, label) for label in (labels[0], labels[-1]))
    return CaptionedFigure(
        file,
        name,
        f"{'Left: the' if beside else 'The'} mean exploration bonus of the recommended items, on "
        "logarithmic scales. A line that falls more slowly belongs to a policy that keeps trying "
        f"items it knows little about.{panels}{absent}"
        + seeds_of(environment, labels)
        + left_out(environment, environment.runs),
        f"Line charts by round for {listed(labels)}: "
        f"{listed(['exploration', *map(title, beside)])}. "
        f"Exploration goes {first} for {labels[0]} and {last} for {labels[-1]}.",
        figure,
    )


def _fall(environment: EnvironmentResults, label: str) -> str:
    line = series.curve(environment.runs[label], "exploration")
    return f"from {line.mean[0]:.3g} to {line.mean[-1]:.3g}"
