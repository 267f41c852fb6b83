"""Words of an audit: metrics, periods, numbers with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

from faircascade.evaluation.audit import Audit, Estimate
from faircascade.evaluation.audit.catalogue import EQUAL, ESTIMATED
from faircascade.evaluation.audit.measures import group_metrics, log_metrics
from faircascade.evaluation.audit.tables import PeriodTable
from faircascade.metrics import Metric
from faircascade.report.blocks import Line
from faircascade.report.numbers import DASH, number

Shown = Callable[[float], str]
"""How a number is written."""

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))

READING = (
    "An impression is a slate that was shown: items in order. The exposure of an item is how often "
    "it was shown, each time weighed by 1 / log2(1 + position). Numbers come with a 95% interval: "
    "what they would be with other users of the same kind; where there is none, the notes say why. "
    "Intervals come from leaving out blocks of users. They may lie beside the number itself where "
    "chance makes the exposure of few impressions look less even than it is. They take users as "
    "independent of each other."
)


def metric_of(name: str) -> Metric:
    """Return a metric of a log by name."""
    return (log_metrics() | group_metrics())[name]


def title(name: str) -> str:
    """Return how a metric is called."""
    return "Clicks per impression" if name == "clicks" else metric_of(name).title


def meaning(name: str) -> str:
    """Return what a metric measures."""
    words = (type(metric_of(name)).__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(words.replace("`", "").split())


def direction(name: str) -> str:
    """Return which values of a metric are better."""
    return f"{'higher' if metric_of(name).higher_is_better else 'lower'} is better"


def estimate_lines(of: Estimate, shown: Shown = number) -> tuple[Line, ...]:
    """Return a number and its interval as lines of a cell."""
    around = interval(of, shown)
    return Line(shown(of.value), "strong"), *([Line(around, "soft")] if around else [])


def interval(of: Estimate, shown: Shown = number) -> str:
    """Return the interval; nothing if there is none."""
    return "" if math.isnan(of.low) else f"[{shown(of.low)}, {shown(of.high)}]"


def share(value: float) -> str:
    """Return a share in percent, small ones with more digits.

    >>> share(0.1234), share(0.00056), share(0.0), share(float("nan"))
    ('12.3%', '0.056%', '0%', '–')
    """
    if not math.isfinite(value):
        return DASH
    return f"{100 * value:.1f}%" if value >= 0.01 else f"{100 * value:.2g}%"


def ratio(value: float) -> str:
    """Return a ratio.

    >>> ratio(1.8442), ratio(0.0676)
    ('1.84', '0.07')
    """
    return f"{value:,.2f}" if math.isfinite(value) else DASH


def merit_words(audit: Audit) -> str:
    """Say where merit is from."""
    if audit.merit == ESTIMATED:
        return (
            "estimated from the log: clicks per appearance, corrected for position and smoothed; "
            "an item that was hardly shown counts as average"
        )
    return "the same for every item" if audit.merit == EQUAL else f"column ‘{audit.merit}’"


def period_name(table: PeriodTable) -> str:
    """Say what a period is."""
    if table.kind == "impressions":
        return f"{table.length:,.0f} impressions in the order of the log"
    if table.kind == "time":
        return f"a period of {table.length:,.10g} in the time of the log"
    size, unit = next(each for each in _UNITS if table.length % each[0] == 0)
    count = round(table.length / size)
    return f"one {unit}" if count == 1 else f"{count:,} {unit}s"


def period_start(table: PeriodTable, p: int) -> str:
    """Return when a period begins."""
    start = float(table.starts[p])
    if table.kind != "calendar":
        return f"{start:,.10g}"
    form = "%Y-%m-%d" if table.length % 86400 == 0 else "%Y-%m-%d %H:%M"
    form = form if table.length % 60 == 0 else f"{form}:%S"
    return datetime.fromtimestamp(start, UTC).strftime(form)
