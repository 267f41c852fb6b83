"""How exposure is shared among the items of the catalogue: Lorenz curves and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from faircascade.experiment.cell_result import CellResult
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.metrics.exposure import lorenz
from faircascade.report.blocks import Block
from faircascade.report.formatting import left_out, listed
from faircascade.report.numbers import share
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import whole_numbers
from faircascade.report.policy_styles import pale_words, told_apart
from faircascade.report.sections.by_environment import by_environment
from faircascade.report.sections.pareto_panel import shorter_words
from faircascade.report.similar_metrics import left_out_words, without_twins
from faircascade.report.style import DOTTED, PALE, LineStyle, legend, log_axis
from faircascade.types import Floats, Ints

_POINTS = 400
"""No line needs more points than this."""
_NOTIONS = {
    "equality_b": ("Appearances (E_B)", "exposure_b"),
    "equality_p": ("Weighed by position (E_P)", "exposure_p"),
}
"""Title and column of what each metric is about."""


def exposure(study: StudyResults) -> list[Block]:
    """Lorenz curves of two notions of exposure, and appearances by rank, for each environment."""
    return by_environment(
        study,
        lambda environment, name, place: [_plate(f"exposure-{place}", name, environment)],
    )


def _plate(file: str, name: str, environment: EnvironmentResults) -> CaptionedFigure:
    drawn, others = told_apart(environment, tuple(_NOTIONS), environment.comparable)
    notions = without_twins(environment, tuple(_NOTIONS))
    figure = Figure(figsize=(3.0 + 3.8 * len(notions), 4.2), layout="constrained")
    *squares, last = figure.subplots(1, len(notions) + 1)
    for ax, metric in zip(squares, notions, strict=True):
        title, column = _NOTIONS[metric]
        ax.plot([0, 1], [0, 1], **DOTTED)
        for runs, look in _lines(environment, drawn, others):
            ax.plot(*mean_lorenz(runs, column), **look)
        ax.set(title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set(xlabel="Share of items, least shown first", ylabel="Share of exposure")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([0, 0.25, 0.5, 0.75, 1])
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    never = _ranks(last, environment, drawn, others)
    legend(figure, drawn, dotted="Equal exposure", pale=f"{len(others)} others" if others else "")
    unseen = listed(f"{label} {share(never[label])}" for label in drawn)
    where = "Left and middle" if len(notions) > 1 else "Left"
    return CaptionedFigure(
        file,
        name,
        f"{where}: Lorenz curves, the share of all exposure that goes to the least shown items. "
        "The closer to the diagonal the fairer; Equality is twice the area under a curve. Right: "
        "how often the most shown item appears, the second, and so on, on a logarithmic scale. A "
        "long, flat line is fair. Items that a policy never shows are not drawn there; their share "
        f"is: {unseen}."
        + pale_words(others)
        + left_out_words(environment, tuple(_NOTIONS))
        + shorter_words(environment)
        + left_out(environment, environment.runs),
        "Lorenz charts of exposure, with the diagonal of equality, and a chart of appearances by "
        f"rank, for {listed(drawn)}. Items never shown: {unseen}.",
        figure,
    )


def _lines(
    environment: EnvironmentResults, drawn: Mapping[str, LineStyle], others: Sequence[str]
) -> Iterator[tuple[Sequence[CellResult], dict[str, Any]]]:
    """Yield the runs of every policy with the look of its line."""
    for label in others:
        yield environment.runs[label], {**PALE, "zorder": 1.5}
    for label, look in drawn.items():
        yield environment.runs[label], look.line


def _ranks(
    ax: Axes,
    environment: EnvironmentResults,
    drawn: Mapping[str, LineStyle],
    others: Sequence[str],
) -> dict[str, float]:
    """Draw appearances by rank; return the share of items that each policy never shows."""
    k, never, seen = int(environment.options["k"]), {}, []
    for label, (runs, look) in zip(
        (*others, *drawn), _lines(environment, drawn, others), strict=True
    ):
        ranks, shown, never[label] = exposure_by_rank(runs, k)
        ax.plot(ranks, shown, **look, marker="o" if len(ranks) == 1 else None)
        seen += [shown.min(), shown.max()] if len(shown) else []
    size = max(len(run.items["item"]) for runs in environment.runs.values() for run in runs)
    equal = 1000.0 * k / size
    ax.axhline(equal, **DOTTED)
    log_axis(ax, "y", min([equal, *seen]), max([equal, *seen]))
    whole_numbers(ax.xaxis)
    ax.set(title="Appearances in 1,000 slates", xlim=(0, size + 1))
    ax.set_xlabel("Item, most shown first")
    return never


def mean_lorenz(runs: Sequence[CellResult], column: str) -> tuple[Floats, Floats]:
    """Return the mean Lorenz curve over seeds: its area gives the mean metric of the table."""
    curves = [lorenz(run.items[column]) for run in runs]
    items = max((x for x, _ in curves), key=len)
    mean = np.mean([np.interp(items, x, y) for x, y in curves], axis=0)
    chosen = _thin(len(items))
    return items[chosen], mean[chosen]


def exposure_by_rank(runs: Sequence[CellResult], k: int) -> tuple[Floats, Floats, float]:
    """Return ranks, appearances in 1,000 slates of the item at each rank, and the share not shown.

    Means over seeds; only ranks that were shown.
    """
    total, never = np.zeros(max(len(run.items["item"]) for run in runs)), 0.0
    for run in runs:
        appearances = np.sort(run.items["exposure_b"])[::-1]
        total[: len(appearances)] += 1000.0 * k * appearances / max(appearances.sum(), 1)
        never += float((appearances == 0).mean())
    chosen = _thin(int((total > 0).sum()))
    return (chosen + 1).astype(np.float64), total[chosen] / len(runs), never / len(runs)


def _thin(n: int) -> Ints:
    """Return places of n to draw: both ends, where curves are steep, and some between."""
    if n <= _POINTS:
        return np.arange(n)
    between = np.rint(np.linspace(0, n - 1, _POINTS // 2)).astype(np.int64)
    ends = np.arange(_POINTS // 4)
    return np.unique(np.concatenate([ends, between, n - 1 - ends]))
