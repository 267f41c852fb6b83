"""Figures by round that several sections draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from faircascade.experiment.study_results import EnvironmentResults
from faircascade.report import series
from faircascade.report.panels import curve_panel, whole_numbers
from faircascade.report.style import LineStyle


def metric_panel(
    ax: Axes,
    environment: EnvironmentResults,
    labels: Sequence[str],
    metric: str,
    drawn: Mapping[str, LineStyle],
) -> None:
    """Draw one metric of some policies by round."""
    for label in labels:
        runs = environment.runs[label]
        curve_panel(ax, series.curve(runs, metric), drawn[label], band=len(runs) > 1)
    ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    whole_numbers(ax.xaxis)


def log_panel(
    ax: Axes,
    environment: EnvironmentResults,
    labels: Sequence[str],
    metric: str,
    drawn: Mapping[str, LineStyle],
) -> dict[str, tuple[float, float, float]]:
    """Draw what is above 0, for log scales; return last round, least and greatest of what is."""
    seen = {}
    for label in labels:
        runs = environment.runs[label]
        line = series.curve(runs, metric)
        known = (line.mean > 0) & (line.low > 0)
        if not known.any():
            continue
        line = series.Curve(*(part[known] for part in line))
        curve_panel(ax, line, drawn[label], band=len(runs) > 1)
        seen[label] = float(line.rounds[-1]), float(line.low.min()), float(line.high.max())
    return seen
