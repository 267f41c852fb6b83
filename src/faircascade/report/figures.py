"""The figures of a report: one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from faircascade.engine import HEADLINE
from faircascade.experiment import Comparison
from faircascade.metrics.exposure import exposure_b, exposure_p
from faircascade.registry import lookup
from faircascade.report import series
from faircascade.report.pages import CaptionedFigure
from faircascade.report.panels import clicks_bar, curve_panel, item_panel, whole_numbers
from faircascade.report.style import DOTTED, legend, legend_label, line_styles, log_axis

_WIDE, _NARROW = 8.0, 6.4  # inches: several panels, one panel


def draw(comparison: Comparison) -> Iterable[CaptionedFigure]:
    """Yield the figures that make sense for this comparison."""
    for function in FIGURES.values():
        plate = function(comparison)
        if plate is not None:
            yield plate


def curves(comparison: Comparison) -> CaptionedFigure:
    """Clicks, regret and the fairness metrics against rounds."""
    drawn = line_styles(comparison.labels)
    figure = Figure(figsize=(_WIDE, 7.6), layout="constrained")
    optimum = series.optimal_value(comparison)
    for ax, metric in zip(figure.subplots(3, 2, sharex=True).flat, HEADLINE, strict=True):
        for label, runs in comparison.results.items():
            curve_panel(ax, series.curve(runs, metric), drawn[label], band=len(runs) > 1)
        if metric == "clicks":
            ax.axhline(optimum, **DOTTED)
        better = (
            "higher" if getattr(lookup("metric", metric), "higher_is_better", True) else "lower"
        )
        ax.set_title(f"{_title(metric)}  ({better} is better)")
        whole_numbers(ax.xaxis)
    figure.supxlabel("Round", fontsize=9)
    legend(figure, drawn, dotted="Optimal lists")
    several = " Bands span the seeds, lines are their means." if len(comparison.seeds) > 1 else ""
    return CaptionedFigure(
        "curves",
        "By round",
        "Each metric over everything shown up to that round. Look for curves that have levelled "
        "off: one that still moves at the right edge would differ in a longer run." + several,
        f"Six line charts by round, one a metric, for {_names(comparison)}. "
        f"The values at the last round are in the results table.",
        figure,
    )


def lorenz(comparison: Comparison) -> CaptionedFigure:
    """Lorenz curves of both notions of exposure."""
    drawn = line_styles(comparison.labels)
    figure = Figure(figsize=(_WIDE, 4.6), layout=ConstrainedLayoutEngine(wspace=0.06))
    notions = {"Exposure E_B: being listed": exposure_b, "Exposure E_P: by position": exposure_p}
    for ax, (title, notion) in zip(
        figure.subplots(1, 2, sharey=True), notions.items(), strict=True
    ):
        ax.plot([0, 1], [0, 1], **DOTTED)
        for label, runs in comparison.results.items():
            ax.plot(*series.mean_lorenz(runs, notion), **drawn[label].line)
        ax.set(title=title, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([0, 0.25, 0.5, 0.75, 1])
            axis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    figure.supxlabel("Share of items, least shown first", fontsize=9)
    figure.supylabel("Share of exposure", fontsize=9)
    legend(figure, drawn, dotted="Equal exposure")
    return CaptionedFigure(
        "lorenz",
        "How exposure is shared",
        "Lorenz curves: how much of all exposure the least shown share of the catalogue gets. "
        "The closer to the diagonal the fairer; Equality is twice the area under a curve.",
        f"Two Lorenz charts of exposure for {_names(comparison)}, with the diagonal of equality.",
        figure,
    )


def ranks(comparison: Comparison) -> CaptionedFigure:
    """Exposure of items, sorted by each policy's own."""
    drawn = line_styles(comparison.labels)
    figure = Figure(figsize=(_NARROW, 4.4), layout="constrained")
    ax = figure.subplots()
    least, most, entries = np.inf, 0.0, {}
    for label, runs in comparison.results.items():
        x, y, unseen = series.exposure_by_rank(runs)
        ax.plot(x, y, **drawn[label].line, marker="o" if len(x) == 1 else None)
        entries[label] = f"{drawn[label].label}: {100 * unseen:.1f}% never shown"
        if len(y):
            least, most = min(least, y.min()), max(most, y.max())
    equal = 1000.0 * comparison.env.k / len(comparison.env.items)
    ax.axhline(equal, **DOTTED)
    log_axis(ax, "y", min(least, equal), max(most, equal))
    whole_numbers(ax.xaxis)
    ax.set(xlabel="Item, most shown first (own order of each policy)")
    ax.set(ylabel="Appearances in 1,000 lists", xlim=(0, len(comparison.env.items) + 1))
    legend(figure, drawn, dotted="Equal exposure", words=entries)
    return CaptionedFigure(
        "ranks",
        "Exposure by rank",
        "How often the most shown item appears, the second, and so on; the scale is logarithmic. "
        "A flat, long line is fair; items that were never shown are not drawn, their share is in "
        "the legend.",
        "Line chart of appearances by item rank; " + "; ".join(entries.values()) + ".",
        figure,
    )


def items(comparison: Comparison) -> CaptionedFigure | None:
    """The paper's Figure 4: what changes for each item against the baseline."""
    others = comparison.labels[1:]
    if not others:
        return None
    most = 3 if len(others) != 4 and max(map(len, others)) <= 20 else 2
    columns = min(len(others), most)
    rows = -(-len(others) // columns)
    figure = Figure(figsize=(_WIDE, 0.6 + 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = list(axes.flat[: len(others)])
    for ax in axes.flat[len(others) :]:
        ax.remove()
    for ax, label in zip(panels, others, strict=True):
        shift = series.shift(comparison, label)
        points = item_panel(ax, shift)
        ax.set_title(legend_label(label))
        ax.xaxis.set_tick_params(labelbottom=True)
    baseline = legend_label(comparison.baseline)
    figure.supxlabel(f"Item, by exposure under {baseline}, most shown first", fontsize=9)
    figure.supylabel("Change in exposure E_P", fontsize=9)
    left_out = f" Not drawn: {shift.left_out:,} that no policy shows." if shift.left_out else ""
    clicks_bar(figure, points, panels, shrink=min(1, 1.5 / rows))
    return CaptionedFigure(
        "items",
        "What changes for each item",
        f"Each point is an item: its change in exposure against {comparison.baseline}, in percent "
        "of the mean of both (+200% is shown only here, −200% only by the baseline). Points below "
        "zero at the left and above zero at the right mean that exposure moves from the items "
        "most shown to those least shown; the colour says whether clicks follow. Right of the "
        f"dotted line are items that the baseline never shows.{left_out}",
        f"Scatter charts, one for each of {', '.join(others)}: percent change in exposure of every "
        f"item against {comparison.baseline}, coloured by the percent change in its clicks.",
        figure,
    )


def exploration(comparison: Comparison) -> CaptionedFigure:
    """The mean confidence bonus of recommended items by round."""
    drawn = line_styles(comparison.labels)
    figure = Figure(figsize=(_NARROW, 4.0), layout="constrained")
    ax = figure.subplots()
    seen = []
    without = []
    for label, runs in comparison.results.items():
        x, y = series.exploration(runs)
        if len(x) == 0:
            without.append(label)
            continue
        ax.plot(x, y, **drawn[label].line, marker="o" if len(x) == 1 else None)
        seen.append((x.max(), y.min(), y.max()))
    if seen:
        rounds, least, most = zip(*seen, strict=True)
        log_axis(ax, "x", 1, max(rounds))
        log_axis(ax, "y", min(least), max(most))
        ax.set(xlabel="Round", ylabel="Mean bonus")
        legend(figure, {label: drawn[label] for label in drawn if label not in without})
    else:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "No policy explores by a bonus", ha="center", transform=ax.transAxes)
    left_out = f" Without a bonus, and not drawn: {', '.join(without)}." if without else ""
    return CaptionedFigure(
        "exploration",
        "Exploration",
        "The mean confidence bonus of recommended items in each round, both scales logarithmic. "
        "A line that falls more slowly keeps trying items it knows little about." + left_out,
        f"Line chart of the mean exploration bonus by round for {_names(comparison)}.{left_out}",
        figure,
    )


def tradeoff(comparison: Comparison) -> CaptionedFigure:
    """Clicks against Equality (P): one point a policy."""
    drawn = line_styles(comparison.labels)
    figure = Figure(figsize=(_NARROW, 4.4), layout="constrained")
    ax = figure.subplots()
    several = len(comparison.seeds) > 1
    for label, look in drawn.items():
        x, y = (comparison.values(label, metric) for metric in ("equality_p", "clicks"))
        spread = {"xerr": x.std(ddof=1), "yerr": y.std(ddof=1)} if several else {}
        ax.errorbar(x.mean(), y.mean(), **spread, **look.point, zorder=look.order, elinewidth=1)
    ax.axhline(series.optimal_value(comparison), **DOTTED)
    ax.margins(0.15)
    ax.set(xlabel="Equality (P): fairer to the right", ylabel="Clicks: better upwards")
    legend(figure, drawn, dotted="Optimal lists", points=True)
    return CaptionedFigure(
        "tradeoff",
        "Clicks against fairness",
        "One point a policy"
        + (", with the standard deviation over seeds" if several else "")
        + ". "
        "Up and to the right is better in both; a policy with another above and to its right is "
        "not worth choosing. Mind the scales: axes need not start at zero.",
        f"Point chart of clicks against Equality (P) for {_names(comparison)}; "
        "the values are in the results table.",
        figure,
    )


FIGURES: Mapping[str, Callable[[Comparison], CaptionedFigure | None]] = {
    "tradeoff": tradeoff,
    "curves": curves,
    "lorenz": lorenz,
    "ranks": ranks,
    "items": items,
    "exploration": exploration,
}
"""By the name of their files, in the order of the page."""


def _title(metric: str) -> str:
    return str(getattr(lookup("metric", metric), "title", "")) or metric


def _names(comparison: Comparison) -> str:
    return ", ".join(comparison.labels)
