"""RQ1: how much is explored, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.report import series
from faircascade.report.pages import CaptionedFigure
from faircascade.report.study.blocks import Block, Section, none_finished
from faircascade.report.study.formatting import (
    environment_name,
    finished,
    left_out,
    listed,
    seeds_of,
    title,
)
from faircascade.report.study.sections.round_curves import log_panel, metric_panel
from faircascade.report.study.styles import styles_of
from faircascade.report.style import LineStyle, legend, log_axis

_PANELS = ("interval_clicks", "regret", "equality_b", "equality_p", "equity_b", "equity_p")


def exploration(study: Study) -> Section:
    """The mean bonus by round, and clicks, regret and fairness; one figure an environment."""
    blocks: list[Block] = []
    for place, environment in enumerate(study.matched, 1):
        name = environment_name(study, environment)
        drawn = styles_of(environment)
        labels = finished(environment)
        if labels:
            blocks.append(_plate(f"exploration-{place}", name, environment, labels, drawn))
        else:
            blocks.append(none_finished(name))
    return Section("Exploration", blocks)


def _plate(
    file: str,
    name: str,
    environment: EnvironmentResults,
    labels: Sequence[str],
    drawn: Mapping[str, LineStyle],
) -> CaptionedFigure:
    figure = Figure(figsize=(10.6, 4.7), layout="constrained")
    grid = figure.add_gridspec(2, 4, width_ratios=[1.9, 1, 1, 1])
    large = figure.add_subplot(grid[:, 0])
    seen = log_panel(large, environment, labels, "exploration", drawn)
    if seen:
        rounds, least, most = zip(*seen.values(), strict=True)
        log_axis(large, "x", 1, max(rounds))
        log_axis(large, "y", min(least), max(most))
    else:
        large.text(0.5, 0.5, "No policy explores by a bonus", ha="center")
    without = [label for label in labels if label not in seen]
    absent = f" Without a bonus: {listed(without)}." if without else ""
    large.set(title="Mean exploration bonus", xlabel="Round")
    for place, metric in enumerate(_PANELS):
        row, column = divmod(place, 3)
        ax = figure.add_subplot(grid[row, 1 + column])
        metric_panel(ax, environment, labels, metric, drawn)
        ax.set_title(title(metric))
        if row == 1:
            ax.set_xlabel("Round")
    legend(figure, {label: drawn[label] for label in labels})
    first, last = (_fall(environment, label) for label in (labels[0], labels[-1]))
    return CaptionedFigure(
        file,
        name,
        "Left: the bonus of what is shown, mean over users, both scales logarithmic. Right: the "
        "share of lists clicked since the last point, n-step regret, and the four notions of "
        f"fairness over everything shown so far.{absent}"
        + seeds_of(environment, labels)
        + left_out(environment, environment.runs),
        f"Seven line charts by round for {listed(labels)}: exploration, clicks, regret and four "
        f"fairness metrics. Exploration goes {first} for {labels[0]} and {last} for {labels[-1]}.",
        figure,
    )


def _fall(environment: EnvironmentResults, label: str) -> str:
    line = series.curve(environment.runs[label], "exploration")
    return f"from {line.mean[0]:.3g} to {line.mean[-1]:.3g}"
