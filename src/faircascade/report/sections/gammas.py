"""RQ3: what penalties do to clicks and to fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.experiment.comparison_inputs import distinct_labels
from faircascade.experiment.stats import estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics.exposure import FAIRNESS
from faircascade.policies import Policy
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Notice,
    Prose,
    Row,
    Table,
    text,
)
from faircascade.report.formatting import (
    NOT_RUN,
    head,
    left_out,
    listed,
    seed_count,
    tags,
    title,
)
from faircascade.report.numbers import number
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import policy_styles
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.sections.labels import Point, label_points
from faircascade.report.style import CROSS, NEUTRAL, LineStyle, legend
from faircascade.types import Floats

_DOT, _RING = 4.5, 11.0  # points
_KEPT = 0.9
"""Share of the most clicks that points of the closer look have."""


@dataclass(frozen=True)
class PenaltySeries:
    """Policies that differ in gamma alone, by gamma."""

    label: str
    policy: Policy
    """With gamma = 0."""
    steps: Mapping[float, str]
    """The label of each, by gamma, rising."""


def gammas(study: StudyResults) -> list[Block]:
    """Each fairness metric against clicks, a line for each weight, by environment."""

    def draw(environment: EnvironmentResults, name: str, place: int) -> list[Block]:
        ladders, plain = _sorted_out(environment)
        steps = [label for ladder in ladders for label in ladder.steps.values()]
        if not any(environment.runs[label] for label in steps):
            return [Notice("Not run yet", f"No policy with penalties for {name}.")]
        blocks: list[Block] = [_plate(f"gammas-{place}", name, environment, ladders, plain)]
        if _worth_a_closer_look(environment, ladders):
            file = f"gammas-{place}-close"
            blocks.append(_plate(file, name, environment, ladders, plain, close=True))
        return [*blocks, _table(study, name, environment, ladders, plain)]

    blocks = by_environment(study, draw)
    return [*blocks, Prose("Means over seeds; results.csv has every run.", soft=True)]


def _sorted_out(environment: EnvironmentResults) -> tuple[list[PenaltySeries], list[str]]:
    """Return policies by gamma, and the labels of those that have none."""
    found: dict[Policy, dict[float, str]] = {}
    plain = []
    for label, policy in environment.policies.items():
        if hasattr(policy, "gamma"):
            kind = replace(policy, gamma=0.0)  # type: ignore[type-var]
            found.setdefault(kind, {})[float(policy.gamma)] = label
        else:
            plain.append(label)
    names = distinct_labels(list(found))
    ladders = [
        PenaltySeries(name, kind, dict(sorted(steps.items())))
        for name, (kind, steps) in zip(names, found.items(), strict=True)
    ]
    return ladders, plain


def _plate(
    file: str,
    name: str,
    environment: EnvironmentResults,
    ladders: Sequence[PenaltySeries],
    plain: Sequence[str],
    *,
    close: bool = False,
) -> CaptionedFigure:
    drawn = _styles(environment, ladders)
    figure = Figure(figsize=(8.0, 6.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for ax, metric in zip(axes.flat, FAIRNESS, strict=True):
        _panel(ax, metric, environment, ladders, plain, drawn)
        if close:
            _zoom(ax, metric, environment, ladders)
    figure.supxlabel("Clicks", fontsize=9)
    crosses = [label for label in plain if environment.runs[label]]
    legend(figure, {ladder.label: drawn[ladder.label] for ladder in ladders}, cross=listed(crosses))
    figure.draw_without_rendering()  # labels need to know where points come to lie
    for ax, metric in zip(axes.flat, FAIRNESS, strict=True):
        label_points(ax, _labelled(metric, environment, ladders, drawn))
    every = [label for ladder in ladders for label in ladder.steps.values()]
    counts = seed_count(len(environment.runs[label]) for label in every if environment.runs[label])
    kept = f"Only points with at least {_KEPT:.0%} of the most clicks. " if close else ""
    return CaptionedFigure(
        file,
        f"{name}: a closer look" if close else name,
        f"{kept}Each point is one gamma, and lines join them in order. Rings mark gamma = 0, and "
        "numbers the others, where there is room. Further up is fairer, further right is more "
        f"clicks; crosses are policies without a penalty ({listed(crosses) or 'none'}). Points are "
        f"means over {counts}; thin lines run from the least to the greatest."
        + left_out(environment, [*plain, *every]),
        f"Four charts of a fairness metric against clicks for {listed(x.label for x in ladders)}, "
        "one point for each gamma. The values are in the table below.",
        figure,
    )


def _worth_a_closer_look(environment: EnvironmentResults, ladders: Sequence[PenaltySeries]) -> bool:
    """Return whether some penalties cost so much that the others lie on top of each other."""
    clicks = [
        float(x.mean()) for ladder in ladders for x in _points(environment, ladder, "clicks")[1]
    ]
    near = sum(value >= _KEPT * max(clicks) for value in clicks)
    return 3 <= near < len(clicks)


def _zoom(
    ax: Axes, metric: str, environment: EnvironmentResults, ladders: Sequence[PenaltySeries]
) -> None:
    """Set the limits to the points that keep most of the clicks."""
    found = [
        (x.mean(), y.mean())
        for ladder in ladders
        for x, y in zip(*_points(environment, ladder, metric)[1:], strict=True)
    ]
    most = max(x for x, _ in found)
    xs, ys = zip(*((x, y) for x, y in found if x >= _KEPT * most), strict=True)
    for values, limit in ((xs, ax.set_xlim), (ys, ax.set_ylim)):
        room = 0.12 * (max(values) - min(values)) or 0.01
        limit(min(values) - room, max(values) + room)


def _panel(
    ax: Axes,
    metric: str,
    environment: EnvironmentResults,
    ladders: Sequence[PenaltySeries],
    plain: Sequence[str],
    drawn: Mapping[str, LineStyle],
) -> None:
    for label in plain:
        if environment.runs[label]:
            at = (
                environment.values(label, "clicks").mean(),
                environment.values(label, metric).mean(),
            )
            ax.plot(*at, **CROSS, zorder=2.5)
    for ladder in ladders:
        look = drawn[ladder.label]
        steps, x, y = _points(environment, ladder, metric)
        if not steps:
            continue
        (x_mean, x_around), (y_mean, y_around) = _around(x), _around(y)
        ax.errorbar(
            x_mean,
            y_mean,
            xerr=x_around,
            yerr=y_around,
            **look.line | {"linewidth": 1.2},
            marker=look.marker,
            markersize=_DOT,
            elinewidth=0.6,
        )
        if steps[0] == 0:
            ring: dict[str, Any] = {
                "markersize": _RING,
                "markerfacecolor": "none",
                "markeredgewidth": 1.2,
            }
            ax.plot(x_mean[0], y_mean[0], "o", color=look.colour, zorder=look.order, **ring)
    ax.set_title(title(metric))
    ax.margins(0.1)


def _labelled(
    metric: str,
    environment: EnvironmentResults,
    ladders: Sequence[PenaltySeries],
    drawn: Mapping[str, LineStyle],
) -> list[list[Point]]:
    """Return the points of each ladder with their gammas as words."""
    return [
        [
            Point(
                float(x.mean()),
                float(y.mean()),
                f"{gamma:g}" if gamma else "",
                drawn[ladder.label].colour,
                _DOT if gamma else _RING,
            )
            for gamma, x, y in zip(*_points(environment, ladder, metric), strict=True)
        ]
        for ladder in ladders
    ]


def _points(
    environment: EnvironmentResults, ladder: PenaltySeries, metric: str
) -> tuple[list[float], list[Floats], list[Floats]]:
    """Return the gammas that are finished, and clicks and a metric of each by seed."""
    steps = [gamma for gamma, label in ladder.steps.items() if environment.runs[label]]
    labels = [ladder.steps[gamma] for gamma in steps]
    return (
        steps,
        [environment.values(label, "clicks") for label in labels],
        [environment.values(label, metric) for label in labels],
    )


def _around(values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return means, and how far the least and the greatest are from them."""
    mean = np.array([v.mean() for v in values])
    low, high = np.array([v.min() for v in values]), np.array([v.max() for v in values])
    return mean, np.maximum([mean - low, high - mean], 0.0)


def _styles(
    environment: EnvironmentResults, ladders: Sequence[PenaltySeries]
) -> dict[str, LineStyle]:
    """Return the look of each ladder; the baseline keeps its grey."""
    labels = [environment.baseline, *(ladder.label for ladder in ladders)]
    policies = [environment.policies[environment.baseline], *(ladder.policy for ladder in ladders)]
    return policy_styles(labels, policies)


def _table(
    study: StudyResults,
    name: str,
    environment: EnvironmentResults,
    ladders: Sequence[PenaltySeries],
    plain: Sequence[str],
) -> Table:
    drawn = _styles(environment, ladders)
    columns = ("clicks", *FAIRNESS)

    def row(label: str, shown: str, colour: str) -> Row:
        cells = tuple(
            text(number(estimate(environment.values(label, metric)).mean))
            if environment.runs[label]
            else text(NOT_RUN, "soft")
            for metric in columns
        )
        seeds = text(str(len(environment.runs[label])), "soft")
        return Row(shown, (*cells, seeds), colour, tags(environment, label, study.longest))

    groups = [Group(tuple(row(label, label, NEUTRAL) for label in plain))] if plain else []
    groups += [
        Group(
            tuple(
                row(label, f"gamma = {gamma:g}", drawn[ladder.label].colour)
                for gamma, label in ladder.steps.items()
            ),
            ladder.label,
        )
        for ladder in ladders
    ]
    heads = (*(head(metric) for metric in columns), Head("Seeds"))
    return Table(f"{name}, by gamma", heads, tuple(groups))
