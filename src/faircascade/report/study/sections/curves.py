"""The metrics of a spec by round, one panel each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from faircascade.experiment.comparison import higher_is_better
from faircascade.experiment.study import EnvironmentResults, Study
from faircascade.report import series
from faircascade.report.pages import CaptionedFigure
from faircascade.report.study.blocks import NOTHING_SIMULATED, Block, Section, none_finished
from faircascade.report.study.formatting import (
    environment_name,
    finished,
    left_out,
    listed,
    seeds_of,
    title,
)
from faircascade.report.study.sections.round_curves import metric_panel
from faircascade.report.study.styles import styles_of
from faircascade.report.style import PALE, LineStyle, legend, legend_label, line_styles

_MOST = 10
"""More policies than this are not told apart by their lines."""


def curves(study: Study) -> Section:
    """The metrics of the tables by round: mean over seeds and a band; one figure an environment."""
    name = "By round"
    if not study.environments:
        return Section(name, [NOTHING_SIMULATED])
    blocks: list[Block] = []
    for place, environment in enumerate(study.matched, 1):
        where = environment_name(study, environment)
        if finished(environment):
            blocks.append(_plate(f"curves-{place}", where, environment, study.spec.metrics))
        else:
            blocks.append(none_finished(where))
    return Section(name, blocks)


def _plate(
    file: str, name: str, environment: EnvironmentResults, metrics: Sequence[str]
) -> CaptionedFigure:
    labels = finished(environment)
    shown = _told_apart(environment, labels, metrics)
    others = [label for label in labels if label not in shown]
    drawn = _styles(environment, shown)
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
        ax.set_title(
            f"{title(metric)}  ({'more' if higher_is_better(metric) else 'less'} is better)"
        )
    figure.supxlabel("Round", fontsize=9)
    legend(figure, drawn, pale=f"{len(others)} others" if others else "")
    return CaptionedFigure(
        file,
        name,
        "Each metric over everything shown up to that round. Look for curves that have levelled "
        "off: one that still moves at the right edge would differ in a longer run."
        + (_left_pale(shown, others) if others else "")
        + seeds_of(environment, shown)
        + left_out(environment, environment.runs),
        f"{len(metrics)} line charts by round ({listed(map(title, metrics))}) for {listed(shown)}. "
        "The values at the last round are in the tables.",
        figure,
    )


def _told_apart(
    environment: EnvironmentResults, labels: Sequence[str], metrics: Sequence[str]
) -> list[str]:
    """Return the policies to draw in colour: all, or the baseline and the best in each metric."""
    if len(labels) <= _MOST:
        return list(labels)
    chosen = {environment.baseline}
    for metric in metrics:
        sign = 1 if higher_is_better(metric) else -1
        means = {label: sign * float(environment.values(label, metric).mean()) for label in labels}
        known = {label: mean for label, mean in means.items() if not np.isnan(mean)}
        if known and len(chosen) < _MOST:
            chosen.add(max(known, key=known.__getitem__))
    return [label for label in labels if label in chosen]


def _styles(environment: EnvironmentResults, shown: Sequence[str]) -> dict[str, LineStyle]:
    """Return the styles of the page, or styles that tell a few policies apart."""
    page = styles_of(environment)
    if len(shown) == len(page):
        return page
    first = environment.baseline if environment.baseline in shown else shown[0]
    apart = line_styles([first, *(label for label in shown if label != first)])
    return {label: replace(look, label=legend_label(label, 44)) for label, look in apart.items()}


def _left_pale(shown: Sequence[str], others: Sequence[str]) -> str:
    return (
        f" In colour are the baseline and whoever is best in a metric at the end; the "
        f"{len(others)} others are pale, and curves.csv has every one."
    )
