"""What the page is about, before anything else: what fairness costs, in words and in one figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.report.answer import answer as answer_words
from faircascade.report.answer import fairness_metrics
from faircascade.report.blocks import Block, Lead
from faircascade.report.formatting import left_out, listed, title
from faircascade.report.numbers import number
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.sections.labels import Point, label_points
from faircascade.report.sections.pareto import FRONT
from faircascade.report.sections.pareto_front import Place
from faircascade.report.sections.pareto_panel import (
    Limits,
    PolicyPoint,
    legend_words,
    numbers_of,
    pareto_panel,
    point_words,
    shorter_words,
    standings,
)
from faircascade.report.style import INK, legend

_MOST = 6
"""Environments that get a panel."""
_SHARES = ("equality_b", "equality_p", "equity_b", "equity_p", "coverage", "entropy", "tail_share")
"""Metrics between 0 and 1."""
_TOPS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Where axes may end, times a power of ten: few, so that those of different pages agree."""


def answer(study: StudyResults) -> list[Block]:
    """The answer in words for every environment, and a figure with a panel for each."""
    metric = fairness_metrics(study.metrics)[0]
    several = len(study.matched) > 1
    panels: dict[str, EnvironmentResults] = {}

    def say(environment: EnvironmentResults, where: str, _: int) -> list[Block]:
        panels[where] = environment
        words = answer_words(environment, metric)
        return [Lead(f"{where}: {words}" if several else words)]

    blocks = by_environment(study, say)
    if panels:
        first = dict(list(panels.items())[:_MOST])
        blocks.append(_plate(first, metric, left=len(panels) - len(first)))
    return blocks


def _plate(panels: Mapping[str, EnvironmentResults], metric: str, *, left: int) -> CaptionedFigure:
    """Return the figure: environments by name, and how many more there are."""
    points = {name: standings(environment, metric) for name, environment in panels.items()}
    sticks = {name: _places(environment, metric) for name, environment in panels.items()}
    looks = {
        s.label: styles_of(panels[name])[s.label] for name, panel in points.items() for s in panel
    }
    every = next(iter(panels.values()))
    numbers = dict.fromkeys(looks, "") if len(looks) <= 10 else numbers_of(every, looks)
    columns = min(len(panels), 2 if len(panels) == 4 else 3)
    rows = -(-len(panels) // columns)
    size = (4.5, 4.2) if columns == 1 else (0.5 + 3.6 * columns, 0.6 + 3.2 * rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    x, y = _limits(points.values(), sticks.values(), metric)
    for ax, (name, environment) in zip(axes.flat, panels.items(), strict=False):
        pareto_panel(ax, metric, points[name], looks, environment.baseline, x=x, y=y)
        ax.set_title(name if len(panels) > 1 else "")
    for ax in axes[-1]:
        ax.set_xlabel("Clicks (higher is better)")
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{title(metric)}, fairer upwards")
    legend(figure, looks, dotted="Pareto front", words=legend_words(every, numbers), points=True)
    figure.draw_without_rendering()  # words need to know where points come to lie
    for ax, name in zip(axes.flat, panels, strict=False):
        _draw_yardsticks(ax, points[name], sticks[name])
    return CaptionedFigure(
        "answer",
        "",
        "Each point is a policy. Further right is more clicks, further up is fairer. "
        + FRONT
        + _yardstick_words(sticks, metric)
        + point_words(every, numbers)
        + (f" {left} more environments are not drawn here." if left else "")
        + shorter_words(every)
        + left_out(every, every.runs),
        f"A point chart of {title(metric)} against clicks for {listed(looks)}. The tables have the "
        "values.",
        figure,
    )


def _limits(
    panels: Iterable[Sequence[PolicyPoint]], sticks: Iterable[Mapping[str, Place]], metric: str
) -> tuple[Limits, Limits | None]:
    """Return axes: clicks from 0 to a round number, shares from 0 to 1, others as they need."""
    clicks = [s.clicks.mean for panel in panels for s in panel]
    clicks += [at.x for places in sticks for at in places.values()]
    most = max((value for value in clicks if not math.isnan(value)), default=0.0)
    return (0.0, round_top(most)), (-0.04, 1.05) if metric in _SHARES else None


def round_top(value: float) -> float:
    """Return a round number a little above a value.

    >>> round_top(0.57), round_top(0.6), round_top(2.3), round_top(0.0)
    (0.7, 0.7, 2.5, 1.0)
    """
    if value <= 0:
        return 1.0
    ten = 10.0 ** math.ceil(math.log10(value))
    return next((top * ten for top in _TOPS if top * ten >= 1.08 * value), 1.5 * ten)


def _draw_yardsticks(ax: Axes, panel: Sequence[PolicyPoint], sticks: Mapping[str, Place]) -> None:
    """Draw what is no policy: hollow, with words that cover no point."""
    size = 9.0
    for at in sticks.values():
        hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": INK}
        ax.plot(at.x, at.y, "h", markersize=size, **hollow, zorder=2.6)
    taken = [[Point(s.clicks.mean, s.fairness.mean, "", INK, size)] for s in panel]
    named = [[Point(*at, name, INK, size)] for name, at in sticks.items()]
    label_points(ax, [*named, *taken])


def _places(environment: EnvironmentResults, metric: str) -> dict[str, Place]:
    """Return where the yardsticks stand that have both."""
    return {
        name: Place(of["clicks"], of[metric])
        for name, of in environment.yardsticks.items()
        if {"clicks", metric} <= of.keys()
    }


def _yardstick_words(sticks: Mapping[str, Mapping[str, Place]], metric: str) -> str:
    """Say what the hollow points are, and where they stand if there is one panel."""
    found = dict.fromkeys(name for places in sticks.values() for name in places)
    if not found:
        return ""
    if len(sticks) > 1:
        return f"Hollow points were not run, but computed: {' and '.join(found)} slates. "
    (places,) = sticks.values()
    said = listed(
        f"{name} slates (clicks {number(at.x)}, {title(metric)} {number(at.y)})"
        for name, at in places.items()
    )
    return f"Hollow points were not run, but computed: {said}. "
