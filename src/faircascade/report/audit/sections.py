"""Sections of an audit's page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faircascade.evaluation.audit import Audit, Estimate
from faircascade.evaluation.audit.tables import GroupTable, PeriodTable
from faircascade.report.audit.figures import exposure_figure, groups_figure, periods_figure
from faircascade.report.audit.words import (
    direction,
    estimate_lines,
    period_start,
    ratio,
    share,
    title,
)
from faircascade.report.blocks import (
    Block,
    Group,
    Head,
    Lead,
    Prose,
    Row,
    Section,
    Table,
    text,
)
from faircascade.report.numbers import number, signed
from faircascade.types import Ints

MOST_ITEMS = 10
"""Items at either end that the page lists."""
MOST_GROUPS = 15
"""Groups that the page lists: the largest by exposure or merit."""


def sections(audit: Audit) -> Iterator[Section]:
    """Yield the sections in their order."""
    yield Section("Outcome", [Lead(audit.headline), exposure_figure(audit)], "outcome")
    yield Section("All numbers", [_metrics("", audit.metrics)], "numbers")
    yield Section("Most over- and under-exposed items", list(_items(audit)), "items")
    for place, (column, table) in enumerate(audit.groups.items()):
        yield Section(f"By {column}", list(_groups(table, place)), f"groups-{place}")
    yield Section("By position", [_POSITIONS, _positions(audit)], "positions")
    if audit.periods is not None and len(audit.periods) > 1:
        yield Section("Over time", list(_periods(audit.periods)), "periods")


def _metrics(name: str, metrics: dict[str, Estimate]) -> Table:
    rows = [
        Row(
            title(metric),
            (estimate_lines(found), text(number(found.corrected), "soft")),
            tags=(direction(metric),),
        )
        for metric, found in metrics.items()
    ]
    heads = (Head("In the log"), Head("Corrected", meaning="Without the bias of few users"))
    return Table(name, heads, (Group(tuple(rows)),), corner="Metric")


def _items(audit: Audit) -> Iterator[Block]:
    yield Prose(
        "Items whose exposure is furthest above and below what their merit asks for, by how much "
        "exposure that is. Over merit: the share of exposure over the share of merit."
    )
    ends = (("Over-exposed", audit.items.most_over), ("Under-exposed", audit.items.most_under))
    for name, chosen in ends:
        yield _item_table(audit, name, chosen(MOST_ITEMS))


def _item_table(audit: Audit, name: str, chosen: Ints) -> Table:
    items = audit.items
    rows = [
        Row(
            str(items.ids[i]),
            (
                estimate_lines(items.ratio[i], ratio),
                estimate_lines(items.share[i], share),
                text(share(items.merit_share.value[i])),
                text(signed(items.excess[i], decimals=0)),
                text(f"{items.appearances[i]:,}"),
                text(f"{items.clicks[i]:,}"),
            ),
        )
        for i in chosen.tolist()
    ]
    heads = (
        *(Head("Over merit"), Head("Share of exposure"), Head("Share of merit")),
        *(Head("Excess exposure"), Head("Shown"), Head("Clicks")),
    )
    return Table(name, heads, (Group(tuple(rows)),), corner="Item")


def _groups(table: GroupTable, place: int) -> Iterator[Block]:
    rows = table.largest(MOST_GROUPS)
    most = f": the {len(rows)} largest of {len(table):,}" if len(rows) < len(table) else ""
    yield Prose(
        "What each group has, the exposure and the merit of its items added up. An item in several "
        "groups counts in each."
    )
    plain = re.sub(r"[^a-z0-9]+", "-", table.column.lower()).strip("-") or "column"
    yield groups_figure(table, rows, f"{place}-{plain}")
    yield Table(
        f"Shares by {table.column}{most}",
        (
            *(Head("Over merit"), Head("Share of exposure"), Head("Share of merit")),
            *(Head("Clicks per appearance"), Head("Items"), Head("Shown"), Head("Clicks")),
        ),
        (Group(tuple(_group_row(table, g) for g in rows)),),
        corner="Group",
    )
    yield _metrics(f"How evenly groups by {table.column} are shown", table.metrics)


def _group_row(table: GroupTable, g: int) -> Row:
    return Row(
        table.groups[g].strip() or "(none)",
        (
            estimate_lines(table.ratio[g], ratio),
            estimate_lines(table.share[g], share),
            text(share(table.merit_share.value[g])),
            estimate_lines(table.rate[g]),
            text(f"{table.sizes[g]:,}"),
            text(f"{table.appearances[g]:,}"),
            text(f"{table.clicks[g]:,}"),
        ),
    )


_POSITIONS = Prose(
    "Clicks fall with the position for two reasons: fewer users look that far, and better items "
    "stand further up. Relative to the first tells these apart: it compares the same items at "
    "different positions, as far as the log has them there."
)


def _positions(audit: Audit) -> Table:
    positions = audit.positions
    rows = [
        Row(
            str(at + 1),
            (
                text(f"{positions.appearances[at]:,}"),
                text(f"{positions.clicks[at]:,}"),
                estimate_lines(positions.rate[at]),
                estimate_lines(positions.examination[at]),
            ),
        )
        for at in range(len(positions))
    ]
    heads = (
        *(Head("Items shown"), Head("Clicks"), Head("Clicks per appearance")),
        Head("Relative to the first"),
    )
    return Table("", heads, (Group(tuple(rows)),), corner="Position")


def _periods(table: PeriodTable) -> Iterator[Block]:
    yield periods_figure(table)
    rows = [
        Row(
            period_start(table, p),
            (
                text(f"{table.impressions[p]:,}"),
                *(estimate_lines(each[p]) for each in table.metrics.values()),
            ),
        )
        for p in range(len(table))
    ]
    heads = (Head("Impressions"), *(Head(title(name)) for name in table.metrics))
    yield Table("All periods", heads, (Group(tuple(rows)),), corner="From", folded=True)
