"""One panel of clicks against fairness: a point for each policy, and the front of the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from faircascade.experiment.stats import Estimate, estimate
from faircascade.experiment.study_results import EnvironmentResults
from faircascade.metrics import higher_is_better
from faircascade.report.formatting import listed, seed_count, title
from faircascade.report.sections.pareto_front import Place, front
from faircascade.report.style import DOTTED, INK, LineStyle, legend_label

FEW = 6
"""So many policies are told apart by their markers; more are numbered."""
_LONGEST = 44

Limits = tuple[float, float]


@dataclass(frozen=True)
class PolicyPoint:
    """A policy in one panel."""

    label: str
    clicks: Estimate
    fairness: Estimate

    def place(self, metric: str) -> Place:
        """Return where it stands, more being better."""
        sign = 1 if higher_is_better(metric) else -1
        return Place(self.clicks.mean, sign * self.fairness.mean)


def standings(environment: EnvironmentResults, metric: str) -> list[PolicyPoint]:
    """Return where every policy stands that ran as long as any."""
    return [
        PolicyPoint(
            label,
            estimate(environment.values(label, "clicks")),
            estimate(environment.values(label, metric)),
        )
        for label in environment.comparable
    ]


def on_front(panel: Sequence[PolicyPoint], metric: str) -> list[str]:
    """Return the policies on the front over means, by rising clicks."""
    return front({s.label: s.place(metric) for s in panel})


def pareto_panel(
    ax: Axes,
    metric: str,
    panel: Sequence[PolicyPoint],
    drawn: Mapping[str, LineStyle],
    baseline: str,
    *,
    x: Limits | None = None,
    y: Limits | None = None,
) -> None:
    """Draw the points with their intervals, a ring around the baseline, and the front.

    Axes without limits are as long as the points need.
    """
    dot, around = sizes(panel)
    for s in panel:
        look = drawn[s.label]
        style: dict[str, Any] = {**look.point, "markersize": dot}
        arms: dict[str, Any] = {"xerr": _arms(s.clicks), "yerr": _arms(s.fairness)}
        at = s.clicks.mean, s.fairness.mean
        ax.errorbar(at[0], at[1], **arms, **style, zorder=look.order, elinewidth=0.9)
        if s.label == baseline:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": INK}
            ax.plot(*at, "o", markersize=around, zorder=2.4, **ring)
    up = higher_is_better(metric)
    ax.set(xlim=x or _limits([s.clicks for s in panel]))
    ax.set(ylim=y or _limits([s.fairness for s in panel]))
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


def _limits(found: Sequence[Estimate]) -> Limits:
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


def sizes(panel: Sequence[PolicyPoint]) -> tuple[float, float]:
    """Return the diameters of a point and of the baseline's ring."""
    return (6.0, 12.0) if len(panel) > 2 * FEW else (9.0, 15.0)


def numbers_of(environment: EnvironmentResults, drawn: Mapping[str, LineStyle]) -> dict[str, str]:
    """Return the number of each policy in the order of the tables; nothing if markers will do."""
    looks = {(look.colour, look.marker) for look in drawn.values()}
    if len(drawn) <= FEW and len(looks) == len(drawn):
        return dict.fromkeys(drawn, "")
    return {label: str(place) for place, label in enumerate(environment.runs, 1) if label in drawn}


def legend_words(environment: EnvironmentResults, numbers: Mapping[str, str]) -> dict[str, str]:
    """Return how the legend names each policy."""
    words = {}
    for label, number in numbers.items():
        name = legend_label(label, _LONGEST)
        name += " (baseline)" if label == environment.baseline else ""
        words[label] = f"{number}  {name}" if number else name
    return words


def point_words(environment: EnvironmentResults, numbers: Mapping[str, str]) -> str:
    """Say what numbers, rings and crosses are, and who is not drawn."""
    labels = list(numbers)
    told = "Numbers refer to the legend, which is in the order of the tables. "
    ring = f"The ring is {environment.baseline}, the baseline. "
    return (
        (told if any(numbers.values()) else "")
        + (ring if environment.baseline in labels else "")
        + _seeds([len(environment.runs[label]) for label in labels])
    )


def shorter_words(environment: EnvironmentResults) -> str:
    """Say who ran fewer rounds and is not drawn; nothing if nobody did."""
    short = [
        f"{label} ({environment.rounds(label):,})"
        for label in environment.finished
        if label not in environment.comparable
    ]
    return f" Not drawn, as they ran fewer rounds: {listed(short)}." if short else ""


def _seeds(counts: Sequence[int]) -> str:
    if max(counts) == 1:
        return "There is one seed, so there are no intervals."
    return f"Points are means over {seed_count(counts)}; crosses are 95% intervals (Student's t)."
