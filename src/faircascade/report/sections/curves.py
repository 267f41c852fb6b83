"""The metrics of a spec by round, one panel each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report import series
from faircascade.report.blocks import Block
from faircascade.report.formatting import direction, left_out, listed, seeds_of, title
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import metric_panel
from faircascade.report.policy_styles import pale_words, told_apart
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.similar_metrics import left_out_words, without_twins
from faircascade.report.style import DOTTED, PALE, legend


def curves(study: StudyResults) -> list[Block]:
    """The metrics of the tables by round: mean over seeds and a band, for each environment."""
    return by_environment(
        study,
        lambda environment, name, place: [
            _plate(f"curves-{place}", name, environment, study.metrics)
        ],
    )


def _plate(
    file: str, name: str, environment: EnvironmentResults, every: Sequence[str]
) -> CaptionedFigure:
    metrics = without_twins(environment, every)
    drawn, others = told_apart(environment, metrics, environment.finished)
    shown = list(drawn)
    ceiling = most_clicks(environment)
    columns = min(len(metrics), 2 if len(metrics) in (2, 4) else 3)
    rows = -(-len(metrics) // columns)
    figure = Figure(figsize=((5.6, 8.0, 10.6)[columns - 1], 0.7 + 2.5 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[len(metrics) :]:
        ax.remove()
    for ax, metric in zip(axes, metrics, strict=False):
        for label in others:
            line = series.curve(environment.runs[label], metric)
            ax.plot(line.rounds, line.mean, **PALE, zorder=1.5)
        metric_panel(ax, environment, shown, metric, drawn)
        if metric == "clicks" and ceiling is not None:
            ax.axhline(ceiling, **DOTTED)
        ax.set_title(f"{title(metric)}  ({direction(metric)})")
    figure.supxlabel("Round", fontsize=9)
    dotted = "Clicks of the optimal slates" if ceiling is not None and "clicks" in metrics else ""
    legend(figure, drawn, dotted=dotted, pale=f"{len(others)} others" if others else "")
    return CaptionedFigure(
        file,
        name,
        "Each metric over everything shown up to that round. Look for curves that have levelled "
        "off: one that still moves at the right edge would differ in a longer run."
        + pale_words(others)
        + left_out_words(environment, every)
        + seeds_of(environment, shown)
        + left_out(environment, environment.runs),
        f"{len(metrics)} line charts by round ({listed(map(title, metrics))}) for {listed(shown)}. "
        "The values at the last round are in the tables.",
        figure,
    )


def most_clicks(environment: EnvironmentResults) -> float | None:
    """Return the clicks per slate that no policy can be expected to beat, mean over seeds."""
    found = [run.about["most_clicks"] for run in environment.runs[environment.finished[0]]]
    known = [float(clicks) for clicks in found if clicks is not None]
    return float(np.mean(known)) if len(known) == len(found) else None
