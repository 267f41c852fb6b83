"""Panels that several figures share: curves by round, and what changes for each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faircascade.experiment.study_results import EnvironmentResults
from faircascade.report import series
from faircascade.report.series import Curve, ItemShift
from faircascade.report.style import DIVERGING, DOTTED, FAINT, LineStyle, percent_tick

_PERCENTS = [-200, -100, 0, 100, 200]


def curve_panel(ax: Axes, line: Curve, look: LineStyle, *, band: bool) -> None:
    """Draw the mean over seeds and, if there are several, a band that spans them."""
    only: dict[str, Any] = {"marker": "o", "markersize": 4} if len(line.rounds) == 1 else {}
    ax.plot(line.rounds, line.mean, **look.line, **only)
    if band:
        fill: dict[str, Any] = {"color": look.colour, "alpha": 0.15, "linewidth": 0}
        ax.fill_between(line.rounds, line.low, line.high, **fill)


def item_panel(ax: Axes, shift: ItemShift, *, size: float = 7) -> PathCollection:
    """Draw each item's change in exposure, coloured by its change in clicks."""
    ax.axhline(0, color=FAINT, linewidth=1)
    place = np.arange(1, len(shift.exposure) + 1)
    if shift.shown_by_baseline < len(place):
        edge = shift.shown_by_baseline + 0.5
        ax.axvline(edge, **DOTTED)
    points = ax.scatter(
        place,
        shift.exposure,
        c=shift.clicks,
        s=size,
        cmap=DIVERGING,
        vmin=-200,
        vmax=200,
        linewidths=0,
        rasterized=True,
        antialiaseds=False,
        zorder=2,
    )
    ax.set(ylim=(-215, 215), yticks=_PERCENTS)
    ax.yaxis.set_major_formatter(percent_tick)
    whole_numbers(ax.xaxis)
    return points


def clicks_bar(
    figure: Figure, points: PathCollection, panels: Sequence[Axes], *, shrink: float
) -> None:
    """Say beside the panels which colour means which change in clicks."""
    ticks: dict[str, Any] = {"ticks": _PERCENTS, "format": percent_tick}
    place: dict[str, Any] = {"shrink": shrink, "aspect": 25, "anchor": (0, 1)}
    bar = figure.colorbar(points, ax=panels, **ticks, **place)
    bar.set_label("Change in clicks on the item")


def whole_numbers(axis: Axis) -> None:
    """Label an axis with whole numbers: 10,000."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


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
        line = Curve(*(part[known] for part in line))
        curve_panel(ax, line, drawn[label], band=len(runs) > 1)
        seen[label] = float(line.rounds[-1]), float(line.low.min()), float(line.high.max())
    return seen
