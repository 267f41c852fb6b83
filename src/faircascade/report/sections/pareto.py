"""Clicks against fairness: one point for each policy, and the front of those that nobody beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.experiment.stats import Estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.answer import fairness_metrics
from faircascade.report.blocks import Block, Prose
from faircascade.report.formatting import left_out, listed, title
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.sections.labels import Point, label_points
from faircascade.report.sections.pareto_panel import (
    FEW,
    PolicyPoint,
    legend_words,
    numbers_of,
    on_front,
    pareto_panel,
    point_words,
    shorter_words,
    sizes,
    standings,
)
from faircascade.report.similar_metrics import left_out_words, without_twins
from faircascade.report.style import INK, LineStyle, legend

_KEPT = 0.9
"""Share of the most clicks that policies of the closer look have."""
FRONT = (
    "The dotted line is the Pareto front: every policy below and to the left of it has fewer "
    "clicks and is less fair than some policy on it, judged by means. "
)


def pareto(study: StudyResults) -> list[Block]:
    """Every metric of exposure against clicks, one panel each; one figure for each environment.

    Where some policies have far fewer clicks than others, a closer look at the others follows; if
    the page begins with the whole picture, it is all there is.
    """
    metrics = fairness_metrics(study.metrics)

    def draw(environment: EnvironmentResults, where: str, place: int) -> list[Block]:
        panels = {metric: standings(environment, metric) for metric in metrics}
        shown = {m: panels[m] for m in without_twins(environment, metrics)}
        close = {metric: _keep_clicks(panel) for metric, panel in shown.items()}
        first = metrics[0]
        closer = 3 <= len(close[first]) < len(shown[first])
        blocks: list[Block] = []
        if not closer or "answer" not in study.show:
            blocks.append(_plate(f"pareto-{place}", where, environment, shown))
        if closer:
            name = f"{where}: a closer look"
            blocks.append(_plate(f"pareto-{place}-close", name, environment, close))
        return [*blocks, Prose(_front_words(panels) + left_out_words(environment, metrics))]

    return by_environment(study, draw)


def _keep_clicks(panel: Sequence[PolicyPoint]) -> list[PolicyPoint]:
    """Return the policies that keep most of the clicks: nobody else can beat one of them."""
    most = max(s.clicks.mean for s in panel)
    return [s for s in panel if s.clicks.mean >= _KEPT * most]


def _plate(
    file: str,
    name: str,
    environment: EnvironmentResults,
    panels: Mapping[str, Sequence[PolicyPoint]],
) -> CaptionedFigure:
    labels = [s.label for s in next(iter(panels.values()))]
    close = len(labels) < len(environment.comparable)
    drawn = {label: look for label, look in styles_of(environment).items() if label in labels}
    numbers = numbers_of(environment, drawn)
    columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    rows = -(-len(panels) // columns)
    wide = 12.0 if len(labels) > 2 * FEW else (5.6, 8.0, 10.6)[columns - 1]
    figure = Figure(figsize=(wide, 0.7 + 3.1 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (metric, panel) in zip(axes, panels.items(), strict=False):
        pareto_panel(ax, metric, panel, drawn, environment.baseline)
    figure.supxlabel("Clicks (higher is better)", fontsize=9)
    words = legend_words(environment, numbers)
    legend(figure, drawn, dotted="Pareto front", words=words, points=True)
    if any(numbers.values()):
        figure.draw_without_rendering()  # numbers need to know where points come to lie
        for ax, (metric, panel) in zip(axes, panels.items(), strict=False):
            label_points(ax, _points(ax, environment, metric, panel, numbers, drawn))
    return CaptionedFigure(
        file,
        name,
        (f"Only the policies with at least {_KEPT:.0%} of the most clicks. " if close else "")
        + "Each point is a policy. Further right is more clicks, further up is fairer. "
        + FRONT
        + point_words(environment, numbers)
        + " Intervals are cut off at the edge of a panel, and axes need not start at zero."
        + shorter_words(environment)
        + ("" if close else left_out(environment, environment.runs)),
        f"{len(panels)} point charts of {listed(map(title, panels))} against clicks for "
        f"{listed(labels)}. The text below names the front, and the tables have the values.",
        figure,
    )


def _points(
    ax: Axes,
    environment: EnvironmentResults,
    metric: str,
    panel: Sequence[PolicyPoint],
    numbers: Mapping[str, str],
    drawn: Mapping[str, LineStyle],
) -> list[list[Point]]:
    """Return points with their numbers, those on the front first, and arms to keep clear of."""
    ahead = on_front(panel, metric)
    found = []
    for s in sorted(panel, key=lambda s: s.label not in ahead):
        x, y = s.clicks, s.fairness
        if math.isnan(x.mean + y.mean):
            continue
        dot, ring = sizes(panel)
        size = ring if s.label == environment.baseline else dot
        found.append([Point(x.mean, y.mean, numbers[s.label], drawn[s.label].colour, size)])
        if not math.isnan(x.low + y.low):
            across, along = _visible(x, ax.get_xlim()), _visible(y, ax.get_ylim())
            found.append([Point(end, y.mean, "", INK, 0.0) for end in across])
            found.append([Point(x.mean, end, "", INK, 0.0) for end in along])
    return found


def _visible(of: Estimate, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the part of an interval that an axis shows."""
    return max(of.low, min(limits)), min(of.high, max(limits))


def _front_words(panels: Mapping[str, Sequence[PolicyPoint]]) -> str:
    """Name who is on the front, by rising clicks; panels with the same front together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for metric, panel in panels.items():
        found.setdefault(tuple(on_front(panel, metric)), []).append(title(metric))
    said = " ".join(f"{listed(names)}: {listed(on) or 'nobody'}." for on, names in found.items())
    return f"On the Pareto front, from fewest clicks to most. {said}"
