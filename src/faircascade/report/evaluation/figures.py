"""Figures of an evaluation: intervals side by side, and how importance weights are spread."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.evaluation.overlap import Overlap
from faircascade.evaluation.results import Evaluation, PolicyEvaluation
from faircascade.report.numbers import share
from faircascade.report.pages import CaptionedFigure
from faircascade.report.style import DOTTED, INK, NEUTRAL, log_axis, wrapped_label

_BLUE, _ORANGE = "#0072b2", "#d55e00"
_NAMES = {
    "slate": "Whole slates",
    "cascade": "Items down to the last position",
    "item_position": "Items at their positions",
}
_BIN = 5
"""Fine bins that a bar stands for."""


def intervals_figure(found: Evaluation) -> CaptionedFigure:
    """Draw the interval of every estimator, a panel for each policy."""
    policies = found.policies
    rows = max(len(_drawn(policy)) for policy in policies)
    figure = Figure(figsize=(8.0, len(policies) * (0.27 * rows + 0.75)), layout="constrained")
    panels = figure.subplots(len(policies), 1, squeeze=False, sharex=True)[:, 0]
    for ax, policy in zip(panels, policies, strict=True):
        _interval_panel(ax, policy)
        ax.axvline(found.clicks, **DOTTED)
        ax.axvspan(found.clicks_low, found.clicks_high, color=NEUTRAL, alpha=0.12, linewidth=0)
    panels[-1].set_xlabel("Clicks per slate (dotted: the log itself, with its interval)")
    return CaptionedFigure(
        "intervals",
        "",
        "Estimates with 95% intervals. The verdict rests on the one in orange. Estimators that "
        "share an assumption should agree; one that is apart from the others has an assumption "
        "that does not hold, or too few impressions.",
        "Intervals of clicks per slate by estimator for "
        + ", ".join(policy.label for policy in policies),
        figure,
    )


def _drawn(policy: PolicyEvaluation) -> list[str]:
    return [one.name for one in policy.estimates if not math.isnan(one.value)]


def _interval_panel(ax: Axes, policy: PolicyEvaluation) -> None:
    names = _drawn(policy)
    for place, name in enumerate(names):
        one = policy[name]
        colour = _ORANGE if name == policy.main else _BLUE
        if not math.isnan(one.low):
            ax.plot([one.low, one.high], [place, place], color=colour, linewidth=2.2)
        ax.plot([one.value], [place], "o", color=colour, markersize=5)
    ax.set_yticks(range(len(names)), [policy[name].title for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_title(wrapped_label(policy.label, 60))
    ax.grid(axis="y", visible=False)


def weights_figure(policy: PolicyEvaluation, number: int) -> CaptionedFigure | None:
    """Draw the histogram of weights of each kind; None if there are no weights."""
    drawn = [overlap for overlap in policy.overlaps if overlap.counts.any()]
    if not drawn:
        return None
    figure = Figure(figsize=(2.9 * len(drawn) + 0.4, 2.5), layout="constrained")
    panels = figure.subplots(1, len(drawn), squeeze=False)[0]
    for ax, overlap in zip(panels, drawn, strict=True):
        _weights_panel(ax, overlap)
    panels[0].set_ylabel("Share of impressions")
    return CaptionedFigure(
        f"weights-{number}",
        "",
        f"{policy.label}: importance weights, how much more often the policy would show what was "
        "logged. Mass far to the right means that few impressions decide; those of weight 0 (in "
        "the titles) say nothing. The dotted line is weight 1, where both policies are the same.",
        f"Histogram of the importance weights of {policy.label}",
        figure,
    )


def _weights_panel(ax: Axes, overlap: Overlap) -> None:
    counts = overlap.counts.reshape(-1, _BIN).sum(axis=1)
    edges = overlap.edges[::_BIN]
    total = counts.sum() / max(1e-12, 1.0 - overlap.zero)
    there = np.flatnonzero(counts)
    first, last = int(there[0]), int(there[-1]) + 1
    low, high = min(edges[first], 0.5), max(edges[last], 2.0)
    ax.bar(
        edges[first:last],
        counts[first:last] / total,
        width=np.diff(edges[first : last + 1]),
        align="edge",
        color=_BLUE,
        linewidth=0,
    )
    log_axis(ax, "x", float(low), float(high))
    ax.axvline(1.0, **DOTTED)
    ax.set_title(f"{_NAMES[overlap.kind]}\n{share(overlap.zero)} have weight 0", color=INK)
    ax.set_xlabel("Weight")
    ax.tick_params(axis="x", labelrotation=45)
