"""Clicks against fairness: one point for each policy, and the front of those that nobody beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faircascade.experiment.stats import Estimate, estimate
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics import higher_is_better
from faircascade.metrics.exposure import FAIRNESS
from faircascade.report.blocks import Block, Prose
from faircascade.report.formatting import left_out, listed, seed_count, title
from faircascade.report.pages import CaptionedFigure
from faircascade.report.policy_styles import styles_of
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.sections.labels import Point, label_points
from faircascade.report.sections.pareto_front import Place, front
from faircascade.report.style import DOTTED, INK, LineStyle, legend, legend_label

SERVICE = ("clicks", "regret")
"""Metrics of how well users are served: all others are about exposure."""
_FEW = 6
"""So many policies are told apart by their markers; more are numbered."""
_KEPT = 0.9
"""Share of the most clicks that policies of the closer look have."""
_LONGEST = 44


@dataclass(frozen=True)
class PolicyPoint:
    """A policy in one panel."""

    label: str
    clicks: Estimate
    fairness: Estimate
    comparable: bool
    """False if it ran fewer rounds than others."""

    def place(self, metric: str) -> Place:
        """Return where it stands, more being better."""
        sign = 1 if higher_is_better(metric) else -1
        return Place(self.clicks.mean, sign * self.fairness.mean)


def pareto(study: StudyResults) -> list[Block]:
    """Every metric of exposure against clicks, one panel each; one figure for each environment."""
    metrics = fairness_metrics(study.metrics)

    def draw(environment: EnvironmentResults, where: str, place: int) -> list[Block]:
        panels = {metric: standings(environment, metric) for metric in metrics}
        blocks: list[Block] = [_plate(f"pareto-{place}", where, environment, panels)]
        close = {metric: _keep_clicks(panel) for metric, panel in panels.items()}
        if 3 <= len(close[metrics[0]]) < len(panels[metrics[0]]):
            blocks.append(
                _plate(f"pareto-{place}-close", f"{where}: a closer look", environment, close)
            )
        return [*blocks, Prose(_front_words(panels))]

    return by_environment(study, draw)


def fairness_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return those of some metrics that are about exposure, or the usual four."""
    return tuple(metric for metric in metrics if metric not in SERVICE) or FAIRNESS


def standings(environment: EnvironmentResults, metric: str) -> list[PolicyPoint]:
    """Return where every policy stands that has been run."""
    labels = environment.finished
    longest = max(map(environment.rounds, labels))
    return [
        PolicyPoint(
            label,
            estimate(environment.values(label, "clicks")),
            estimate(environment.values(label, metric)),
            environment.rounds(label) == longest,
        )
        for label in labels
    ]


def _keep_clicks(panel: Sequence[PolicyPoint]) -> list[PolicyPoint]:
    """Return the policies that keep most of the clicks: nobody else can beat one of them."""
    most = max(s.clicks.mean for s in panel)
    return [s for s in panel if s.clicks.mean >= _KEPT * most]


def on_front(panel: Sequence[PolicyPoint], metric: str) -> list[str]:
    """Return the policies on the front over means, by rising clicks."""
    return front({s.label: s.place(metric) for s in panel if s.comparable})


def _plate(
    file: str,
    name: str,
    environment: EnvironmentResults,
    panels: Mapping[str, Sequence[PolicyPoint]],
) -> CaptionedFigure:
    labels = [s.label for s in next(iter(panels.values()))]
    close = len(labels) < len(environment.finished)
    drawn = {label: look for label, look in styles_of(environment).items() if label in labels}
    numbers = {
        label: str(place) for place, label in enumerate(environment.runs, 1) if label in labels
    }
    if len(labels) <= _FEW and _distinct(drawn):
        numbers = dict.fromkeys(labels, "")
    columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    rows = -(-len(panels) // columns)
    wide = 12.0 if len(labels) > 2 * _FEW else (5.6, 8.0, 10.6)[columns - 1]
    figure = Figure(figsize=(wide, 0.7 + 3.1 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes[len(panels) :]:
        ax.remove()
    for ax, (metric, panel) in zip(axes, panels.items(), strict=False):
        _panel(ax, metric, panel, drawn, environment.baseline)
    figure.supxlabel("Clicks (higher is better)", fontsize=9)
    words = {label: _named(label, numbers[label], environment) for label in labels}
    legend(figure, drawn, dotted="Pareto front", words=words, points=True)
    if any(numbers.values()):
        figure.draw_without_rendering()  # numbers need to know where points come to lie
        for ax, (metric, panel) in zip(axes, panels.items(), strict=False):
            label_points(ax, _points(ax, environment, metric, panel, numbers, drawn))
    return CaptionedFigure(
        file,
        name,
        (f"Only the policies with at least {_KEPT:.0%} of the most clicks. " if close else "")
        + "Each point is a policy. Further right is more clicks, further up is fairer. The dotted "
        "line is the Pareto front: every policy below and to the left of it has fewer clicks and "
        "is less fair than some policy on it, judged by means. "
        + _reading(environment, labels, numbers)
        + _seeds(environment, labels)
        + _shorter(next(iter(panels.values())), environment)
        + ("" if close else left_out(environment, environment.runs)),
        f"{len(panels)} point charts of {listed(map(title, panels))} against clicks for "
        f"{listed(labels)}. The text below names the front, and the tables have the values.",
        figure,
    )


def _panel(
    ax: Axes,
    metric: str,
    panel: Sequence[PolicyPoint],
    drawn: Mapping[str, LineStyle],
    baseline: str,
) -> None:
    dot, around = _sizes(panel)
    for s in panel:
        look = drawn[s.label]
        style: dict[str, Any] = {**look.point, "markersize": dot}
        arms: dict[str, Any] = {"xerr": _arms(s.clicks), "yerr": _arms(s.fairness)}
        x, y = s.clicks.mean, s.fairness.mean
        ax.errorbar(x, y, **arms, **style, zorder=look.order, elinewidth=0.9)
        if s.label == baseline:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK}
            ax.plot(x, y, "o", markersize=around, zorder=2.4, **ring)
    up = higher_is_better(metric)
    ax.set(xlim=_limits([s.clicks for s in panel]), ylim=_limits([s.fairness for s in panel]))
    if not up:
        ax.yaxis.set_inverted(True)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    ax.set_title(title(metric) + ("" if up else "  (lower is better: axis inverted)"))
    _draw_front(ax, metric, panel)


def _draw_front(ax: Axes, metric: str, panel: Sequence[PolicyPoint]) -> None:
    """Draw the front as steps, from edge to edge: each policy reaches all below and left of it."""
    at = {s.label: (s.clicks.mean, s.fairness.mean) for s in panel}
    corners = [at[label] for label in on_front(panel, metric)]
    if not corners:
        return
    left, bottom = ax.get_xlim()[0], ax.get_ylim()[0]
    xs, ys = zip(*corners, strict=True)
    ax.plot((left, *xs, xs[-1]), (ys[0], *ys, bottom), drawstyle="steps-pre", **DOTTED, zorder=1.5)


def _arms(of: Estimate) -> list[list[float]] | None:
    """Return how far the interval goes to both sides; None where there is none."""
    if math.isnan(of.low):
        return None
    return [[of.mean - of.low], [of.high - of.mean]]


def _limits(found: Sequence[Estimate]) -> tuple[float, float]:
    """Return an axis for means and intervals; these may leave it where they dwarf the means."""
    means = [of.mean for of in found if not math.isnan(of.mean)]
    if not means:
        return 0.0, 1.0
    low, high = min(means), max(means)
    ends = [end for of in found for end in (of.low, of.high) if not math.isnan(end)]
    span = high - low or max((end - low for end in ends), default=0.0) or abs(high) or 1.0
    low = max(low - span, min([low, *ends]))
    high = min(high + span, max([high, *ends]))
    room = 0.07 * (high - low) or 0.1 * span
    return low - room, high + room


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
        dot, ring = _sizes(panel)
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


def _sizes(panel: Sequence[PolicyPoint]) -> tuple[float, float]:
    """Return the diameters of a point and of the baseline's ring."""
    return (6.0, 12.0) if len(panel) > 2 * _FEW else (9.0, 15.0)


def _distinct(drawn: Mapping[str, LineStyle]) -> bool:
    return len({(look.colour, look.marker) for look in drawn.values()}) == len(drawn)


def _named(label: str, number: str, environment: EnvironmentResults) -> str:
    name = legend_label(label, _LONGEST) + (" (baseline)" if label == environment.baseline else "")
    return f"{number}  {name}" if number else name


def _reading(
    environment: EnvironmentResults, labels: Sequence[str], numbers: Mapping[str, str]
) -> str:
    told = "Numbers refer to the legend, which is in the order of the tables. "
    ring = (
        f"The ring is {environment.baseline}, the baseline. "
        if environment.baseline in labels
        else ""
    )
    return (told if any(numbers.values()) else "") + ring


def _seeds(environment: EnvironmentResults, labels: Sequence[str]) -> str:
    counts = [len(environment.runs[label]) for label in labels]
    if max(counts) == 1:
        return "There is one seed, so there are no intervals. Axes need not start at zero."
    return (
        f"Points are means over {seed_count(counts)}; crosses are 95% intervals (Student's t), "
        "cut off at the edge of a panel. Axes need not start at zero."
    )


def _shorter(panel: Sequence[PolicyPoint], environment: EnvironmentResults) -> str:
    short = [f"{s.label} ({environment.rounds(s.label):,})" for s in panel if not s.comparable]
    return f" These ran fewer rounds and cannot be on the front: {listed(short)}." if short else ""


def _front_words(panels: Mapping[str, Sequence[PolicyPoint]]) -> str:
    """Name who is on the front, by rising clicks; panels with the same front together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for metric, panel in panels.items():
        found.setdefault(tuple(on_front(panel, metric)), []).append(title(metric))
    said = " ".join(f"{listed(names)}: {listed(on) or 'nobody'}." for on, names in found.items())
    return f"On the Pareto front, from fewest clicks to most. {said}"
