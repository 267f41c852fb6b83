"""Figures of an audit: the Lorenz curve, items against merit, groups, and what changes in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faircascade.evaluation.audit import Audit
from faircascade.evaluation.audit.catalogue import EQUAL
from faircascade.evaluation.audit.tables import GroupTable, PeriodTable
from faircascade.metrics.exposure import lorenz
from faircascade.metrics.top_items import TopItems
from faircascade.report.audit.words import period_name, share, title
from faircascade.report.pages import CaptionedFigure
from faircascade.report.style import DOTTED, HALO, legend_label, log_axis
from faircascade.types import Floats, Ints

BLUE, ORANGE = "#0072b2", "#d55e00"
_POINTS = 500
"""No curve needs more points than this."""
_DOTS = 20_000
"""Items that are drawn as points; of more, some are."""


def exposure_figure(audit: Audit) -> CaptionedFigure:
    """Draw how unevenly exposure is shared, and which items have more than they deserve."""
    panels = 1 if audit.merit == EQUAL else 2
    figure = Figure(figsize=(1.0 + 4.2 * panels, 4.2), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _lorenz(axes[0], audit)
    caption = (
        "Left: the share of all exposure (weighed by position) that goes to the least shown items. "
        "The closer to the diagonal, the more even; Equality (P) is twice the area under the curve."
    )
    if panels == 1:
        caption = caption.removeprefix("Left: t").join(("T", ""))
        return CaptionedFigure("exposure", "", caption, "Lorenz curve of exposure.", figure)
    never = _against_merit(axes[1], audit)
    caption += (
        " Right: every point is an item. Items above the line have a larger share of exposure than "
        "of merit, those below a smaller one; both axes are logarithmic, relative to an equal "
        f"share.{never}"
    )
    alt = "Lorenz curve of exposure, and a chart of exposure against merit, a point for each item."
    return CaptionedFigure("exposure", "", caption, alt, figure)


def _lorenz(ax: Axes, audit: Audit) -> None:
    ax.plot([0, 1], [0, 1], **DOTTED)
    items, exposure = lorenz(audit.items.exposure)
    chosen = _thin(len(items))
    ax.plot(items[chosen], exposure[chosen], color=BLUE, linewidth=2)
    ax.fill_between(items[chosen], exposure[chosen], items[chosen], color=BLUE, alpha=0.08)
    few = TopItems().few(len(audit.items))
    end, rest = float(items[-1 - few]), float(exposure[-1 - few])
    ax.plot([end], [rest], "o", color=BLUE)
    who = "the most shown item" if few == 1 else f"the {few:,} most shown"
    words = f"{share(1 - rest)} of exposure goes\nto {who} of {len(audit.items):,}"
    ax.annotate(
        words, (end, rest), (0.04, 0.92), va="top", fontsize=8.5, path_effects=HALO, color=BLUE
    )
    ax.set(title="How exposure is shared", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel="Share of items, least shown first", ylabel="Share of exposure")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([0, 0.25, 0.5, 0.75, 1])
        axis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")


def _against_merit(ax: Axes, audit: Audit) -> str:
    """Draw the points; return what is said of items that cannot be drawn."""
    m = len(audit.items)
    exposure, merit = audit.items.share.value * m, audit.items.merit_share.value * m
    shown = np.flatnonzero(exposure > 0)
    drawn = shown[:: max(1, -(-len(shown) // _DOTS))]
    x, y = merit[drawn], exposure[drawn]
    colours = np.where(y > x, ORANGE, BLUE)
    size = 14 if len(drawn) < 500 else 5 if len(drawn) < 5000 else 2
    ax.scatter(x, y, s=size, c=colours, linewidths=0, alpha=0.7, rasterized=True)
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    log_axis(ax, "x", float(x.min()), max(float(x.max()), 1.2 * float(x.min())))
    log_axis(ax, "y", float(y.min()), max(float(y.max()), 1.2 * float(y.min())))
    ax.plot([low / 10, high * 10], [low / 10, high * 10], **DOTTED, scalex=False, scaley=False)
    ax.set(title="Exposure against merit", xlabel="Merit, 1 is the mean")
    ax.set_ylabel("Exposure, 1 is the mean")
    left = m - len(shown)
    return f" {left:,} items that were never shown are not drawn." if left else ""


def groups_figure(table: GroupTable, rows: list[int], name: str) -> CaptionedFigure:
    """Draw the exposure of groups relative to what they deserve, with intervals."""
    figure = Figure(figsize=(4.6, 1.0 + 0.28 * len(rows)), layout="constrained")
    ax = figure.subplots()
    ratio, places = table.ratio, np.arange(len(rows))[::-1]
    ax.axvline(1, **DOTTED)
    values = ratio.value[rows]
    low, high = ratio.low[rows], ratio.high[rows]
    if np.isfinite(low).all():
        ax.hlines(places, low, high, color="#666666", linewidth=1.6)
    ax.scatter(values, places, s=36, c=np.where(values > 1, ORANGE, BLUE), zorder=3)
    labels = [legend_label(table.groups[row].strip() or "(none)", 28) for row in rows]
    ax.set_yticks(places, labels)
    ax.set(ylim=(-0.7, len(rows) - 0.3), xlabel="Share of exposure over share of merit")
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    return CaptionedFigure(
        f"groups-{name}",
        "",
        "At 1 a group has the share of exposure that its merit asks for; at 2 it has twice that. "
        "Lines are 95% intervals over users.",
        f"Share of exposure over share of merit for {len(rows)} groups, with intervals.",
        figure,
    )


def periods_figure(table: PeriodTable) -> CaptionedFigure:
    """Draw what changes over time, with bands of 95% intervals."""
    names = list(table.metrics)
    columns = min(2, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(4.4 * columns, 0.4 + 2.3 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True)
    middle = table.starts + table.length / 2
    x: Any = middle
    if table.kind == "calendar":
        x = [datetime.fromtimestamp(float(each), UTC) for each in middle]
    for ax, name in zip(axes.flat, names, strict=False):
        found = table.metrics[name]
        if np.isfinite(found.low).any():
            ax.fill_between(x, found.low, found.high, color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(x, found.value, color=BLUE, marker="o", markersize=3.5, linewidth=1.6)
        ax.set(title=title(name))
        ax.yaxis.set_major_locator(MaxNLocator(5))
    for ax in list(axes.flat)[len(names) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        _time_axis(ax, table)
    return CaptionedFigure(
        "periods",
        "",
        f"Each point is {period_name(table)}; bands are 95% intervals over users. A band beside "
        "its line shows how much of the unevenness is chance: a short period has few impressions.",
        f"Line charts of {', '.join(map(title, names))} by period.",
        figure,
    )


def _time_axis(ax: Axes, table: PeriodTable) -> None:
    if table.kind == "calendar":
        untyped: Any = dates
        locator = untyped.AutoDateLocator(minticks=3, maxticks=6)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
        ax.set_xlabel("Time (UTC)")
        return
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    ax.set_xlabel("Time" if table.kind == "time" else "Impression")


def _thin(n: int) -> Ints:
    """Return places of n to draw: the upper end, where the curve is steep, and some between."""
    if n <= _POINTS:
        return np.arange(n)
    between = np.rint(np.linspace(0, n - 1, _POINTS // 2)).astype(np.int64)
    steps: Floats = np.geomspace(1, n, _POINTS // 2)
    return np.unique(np.concatenate([between, n - np.rint(steps).astype(np.int64)]))
