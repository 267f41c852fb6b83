"""The tables of a report: values as text, with the best marked and the change in percent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from faircascade.engine import Result
from faircascade.experiment import Comparison
from faircascade.experiment.comparison import higher_is_better
from faircascade.metrics.exposure import exposure_p
from faircascade.registry import lookup
from faircascade.types import Floats

DASH = "–"
"""What stands where there is no value."""
MOST_GROUPS = 12
GROUP_METRICS = ("equality_b", "equality_p", "equity_b", "equity_p")


@dataclass(frozen=True)
class Column:
    """A metric as the head of a column."""

    metric: str
    title: str
    meaning: str
    direction: str
    """"higher" or "lower" is better."""


@dataclass(frozen=True)
class MetricCell:
    """One metric of one policy."""

    value: str
    spread: str
    """Standard deviation over seeds; empty with one seed."""
    change: str
    """Against the baseline in percent; empty for the baseline."""
    verdict: str
    """"better", "worse" or empty."""
    best: bool


@dataclass(frozen=True)
class MetricRow:
    label: str
    baseline: bool
    cells: tuple[MetricCell, ...]


@dataclass(frozen=True)
class MetricTable:
    columns: tuple[Column, ...]
    rows: tuple[MetricRow, ...]


@dataclass(frozen=True)
class GroupRow:
    """Who got how much: one group under every policy."""

    group: str
    items: int
    merit: str
    shares: tuple[str, ...]


@dataclass(frozen=True)
class Groups:
    """Exposure by one column of the catalogue."""

    column: str
    count: int
    table: MetricTable
    listing: tuple[GroupRow, ...]
    """The most exposed groups, by the mean over policies."""

    @property
    def left_out(self) -> int:
        return self.count - len(self.listing)


@dataclass(frozen=True, eq=False)
class ByGroup(Comparison):
    """The same comparison with every metric taken over groups instead of items."""

    column: str = ""
    """The item column whose groups are taken."""

    def values(self, label: str, metric: str) -> Floats:
        return np.array([r.measure(metric, group=self.column) for r in self.results[label]])


def metric_table(comparison: Comparison, metrics: Iterable[str]) -> MetricTable:
    """Return one row a policy and one column a metric."""
    columns = tuple(column(metric) for metric in metrics)
    best = {c.metric: _best(comparison, c.metric) for c in columns}
    rows = [
        MetricRow(
            label,
            label == comparison.baseline,
            tuple(_cell(comparison, label, c.metric, label in best[c.metric]) for c in columns),
        )
        for label in comparison.labels
    ]
    return MetricTable(columns, tuple(rows))


def column(metric: str) -> Column:
    """Describe a metric in the words of its class."""
    cls = lookup("metric", metric)
    title = str(getattr(cls, "title", "")) or metric
    meaning = (cls.__doc__ or "").strip().partition("\n\n")[0]
    return Column(metric, title, meaning, "higher" if higher_is_better(metric) else "lower")


def group_tables(comparison: Comparison) -> list[Groups]:
    """Return the exposure of groups for every column that all environments have."""
    environments = [run.env.items.groups for runs in comparison.results.values() for run in runs]
    shared = [name for name in comparison.env.items.groups if all(name in w for w in environments)]
    return [_groups(comparison, name) for name in shared]


def number(value: float, like: float | None = None) -> str:
    """Return a number with about four digits, or with as many decimals as `like` gets.

    >>> [number(v) for v in (0.39641, 21.4174, 123.456, 45678.9, float("nan"))]
    ['0.3964', '21.42', '123.5', '45,679', '–']
    """
    if not math.isfinite(value):
        return DASH
    size = abs(value if like is None or not math.isfinite(like) else like)
    decimals = next((d for d, edge in ((4, 10), (2, 100), (1, 1000)) if size < edge), 0)
    return _minus(f"{value:,.{decimals}f}")


def percent(value: float) -> str:
    """Return a signed change in percent.

    >>> percent(-3.14159), percent(1234.5), percent(float("nan"))
    ('−3.1%', '+1,234%', '–')
    """
    if not math.isfinite(value):
        return DASH
    if abs(value) < 0.05:
        return "0.0%"
    return _minus(f"{value:+,.0f}%" if abs(value) >= 1000 else f"{value:+.1f}%")


def signed(value: float, like: float | None = None, *, decimals: int | None = None) -> str:
    """Return a number with its sign, as `number` writes it or with so many decimals.

    >>> signed(0.01234), signed(-2.5, like=123.0), signed(1.234, decimals=2), signed(-1e-9)
    ('+0.0123', '−2.5', '+1.23', '0.0000')
    """
    if decimals is None or not math.isfinite(value):
        shown = number(value, like)
    else:
        shown = _minus(f"{value:,.{decimals}f}")
    if not set(shown) & set("123456789"):  # none, or rounded to nothing
        return shown.removeprefix("−")
    return f"+{shown}" if value > 0 else shown


def p_value(value: float) -> str:
    """Return a p-value.

    >>> p_value(0.04321), p_value(0.00001), p_value(float("nan"))
    ('0.0432', '< 0.0001', '–')
    """
    if not math.isfinite(value):
        return DASH
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def share(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.1f}%" if math.isfinite(value) else DASH


def _best(comparison: Comparison, metric: str) -> tuple[str, ...]:
    """Return what to mark: nothing where there is nothing to choose from."""
    return comparison.best(metric) if len(comparison.labels) > 1 else ()


def _cell(comparison: Comparison, label: str, metric: str, best: bool) -> MetricCell:
    mean = comparison.mean(label, metric)
    values = comparison.values(label, metric)
    spread = f"± {number(float(values.std(ddof=1)), like=mean)}" if len(values) > 1 else ""
    if label == comparison.baseline:
        return MetricCell(number(mean), spread, "", "", best)
    change = comparison.change(label, metric)
    verdict = ""
    if math.isfinite(change) and percent(change) != "0.0%":
        verdict = "better" if (change > 0) == higher_is_better(metric) else "worse"
    return MetricCell(number(mean), spread, percent(change), verdict, best)


def _groups(comparison: Comparison, name: str) -> Groups:
    grouped = ByGroup(comparison.results, column=name)
    worth, counts = _merit_shares(comparison, name)
    shares = [_exposure_shares(runs, name) for runs in comparison.results.values()]
    total = {g: math.fsum(by.get(g, 0.0) for by in shares) for g in worth}
    chosen = sorted(worth, key=lambda g: (-total[g], g))[:MOST_GROUPS]
    listing = [
        GroupRow(
            g.strip() or "(none)",
            counts[g],
            share(worth[g]),
            tuple(share(by.get(g, 0.0)) for by in shares),
        )
        for g in chosen
    ]
    return Groups(name, len(worth), metric_table(grouped, GROUP_METRICS), tuple(listing))


def _exposure_shares(runs: Sequence[Result], name: str) -> dict[str, float]:
    """Return each group's share of E_P, mean over seeds."""
    total: dict[str, float] = {}
    for run in runs:
        groups, record = run.by_group(name)
        exposure = exposure_p(record)
        whole = exposure.sum()
        for group, value in zip(groups, exposure, strict=True):
            part = value / whole if whole > 0 else math.nan
            total[group] = total.get(group, 0.0) + part / len(runs)
    return total


def _merit_shares(comparison: Comparison, name: str) -> tuple[dict[str, float], dict[str, int]]:
    """Return each group's share of merit, mean over seeds, and its items in the first one."""
    runs = comparison.results[comparison.baseline]
    worth: dict[str, float] = {}
    counts: dict[str, int] = {}
    for run in runs:
        groups, record = run.by_group(name)
        for group, merit in zip(groups, record.merit, strict=True):
            worth[group] = worth.get(group, 0.0) + merit / record.merit.sum() / len(runs)
    for label in comparison.env.items.groups[name].tolist():
        for group in label.split("|"):
            counts[group] = counts.get(group, 0) + 1
    return worth, {group: counts.get(group, 0) for group in worth}


def _minus(text: str) -> str:
    return text.replace("-", "−")
