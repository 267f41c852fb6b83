"""The audit of a click log: who got exposure, and who deserved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from faircascade.data.base import DataError, Progress
from faircascade.data.log import Log, as_log
from faircascade.data.log.log import LogSummary
from faircascade.data.log.log_columns import LogColumns
from faircascade.errors import ParameterError
from faircascade.evaluation.audit.assembly import (
    FEW_APPEARANCES,
    at_an_end,
    estimate_all,
    group_table,
    item_table,
    named,
    period_table,
    position_table,
)
from faircascade.evaluation.audit.catalogue import (
    ESTIMATED,
    MERIT_FLOOR,
    Catalogue,
    ItemColumns,
)
from faircascade.evaluation.audit.counts import LogCounts, count
from faircascade.evaluation.audit.headline import headline
from faircascade.evaluation.audit.intervals import (
    BLOCKS,
    FEWEST,
    Estimate,
    Estimates,
    balanced_halves,
)
from faircascade.evaluation.audit.measures import EXTREMES, Samples
from faircascade.evaluation.audit.tables import (
    GroupTable,
    ItemTable,
    PeriodTable,
    PositionTable,
    rows,
)
from faircascade.metrics.memberships import Memberships
from faircascade.parameters import checked_arguments

FEW_CLICKS = 50
"""Clicks per item below which intervals of what rests on estimated merit are too narrow."""
FEW_USERS = 100
"""Users below which intervals of metrics of groups are too short."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """What `fc.audit` found: numbers with 95% intervals over users."""

    name: str
    """Of the log."""
    log: LogSummary
    merit: str
    """Where merit is from: "estimated" from the clicks, "equal", or a column."""
    blocks: int
    """Blocks of users that intervals come from, and that have some."""
    metrics: dict[str, Estimate]
    items: ItemTable
    groups: dict[str, GroupTable]
    """By column of the table of items; the supplier is one of them."""
    positions: PositionTable
    periods: PeriodTable | None
    notes: tuple[str, ...]
    """What a reader must know."""

    @property
    def headline(self) -> str:
        """The outcome in plain words."""
        return headline(self)

    def to_dict(self, items: int = 10) -> dict[str, Any]:
        """Return everything as plain values, and so many of the items at both ends."""
        return {
            "name": self.name,
            "impressions": self.log.impressions,
            "users": self.log.users,
            "items": len(self.items),
            "k": self.log.k,
            "clicks": self.log.clicks,
            "dropped": dict(self.log.dropped),
            "merit": self.merit,
            "blocks": self.blocks,
            "headline": self.headline,
            "notes": list(self.notes),
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "over_exposed": [self.items.row(int(i)) for i in self.items.most_over(items)],
            "under_exposed": [self.items.row(int(i)) for i in self.items.most_under(items)],
            "groups": {
                column: {
                    "metrics": {name: found.to_dict() for name, found in table.metrics.items()},
                    "groups": list(rows(table)),
                }
                for column, table in self.groups.items()
            },
            "positions": list(rows(self.positions)),
            "periods": None if self.periods is None else list(rows(self.periods)),
        }

    def __str__(self) -> str:
        lines = [self.headline, *(f"Note: {note}" for note in self.notes)]
        width = max(map(len, self.metrics))
        for name, found in self.metrics.items():
            around = "" if np.isnan(found.low) else f"  [{found.low:.4g}, {found.high:.4g}]"
            lines.append(f"  {name:<{width}}  {found.value:>9.4g}{around}")
        return "\n".join(lines)


@checked_arguments
def audit(
    log: Any,
    *,
    items: Any = None,
    items_id: str | None = None,
    groups: Sequence[str] | str = (),
    supplier: str | None = None,
    group_sep: str | None = None,
    merit: str = ESTIMATED,
    popularity: str | None = None,
    periods: Annotated[int, Field(ge=0, le=200)] = 20,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> Audit:
    """Measure who got the exposure of a click log, in one pass over it.

    `log` is a `Log`, or what `Log` opens. `items` is a table of items (a file or a DataFrame) with
    the ids `items_id`, the columns `groups` (of which an item may have several, split at
    `group_sep`), `supplier`, `merit` and `popularity`; its items count even if they were never
    shown. `merit` is a column, "estimated" (clicks corrected for position) or "equal". Time is cut
    into at most `periods`; 0 leaves it out. Intervals come from leaving out blocks of users.

    >>> import pandas as pd
    >>> rows = {"user": list("uuvv"), "item": list("abac"), "position": [1, 2, 1, 2]}
    >>> found = audit(pd.DataFrame(rows | {"click": [0, 1, 0, 0]}), merit="equal")
    >>> round(found.metrics["equality_b"].value, 4), found.items.ids.tolist()
    (0.8333, ['a', 'b', 'c'])
    """
    columns = ItemColumns(
        items=items,
        items_id=items_id,
        groups=tuple(groups.split(",")) if isinstance(groups, str) else tuple(groups),
        supplier=supplier,
        group_sep=group_sep,
        merit=merit,
        popularity=popularity,
        encoding=encoding,
    )
    columns.check()
    if periods == 1:
        raise ParameterError("periods", "must be 0 or at least 2", periods)
    source = as_log(log)
    try:
        counts = count(source, blocks=BLOCKS, periods=periods, progress=progress)
    except DataError as error:
        raise DataError(f"{error}{_perhaps_counts(source.columns)}") from None
    catalogue = Catalogue.of(source, columns)
    samples = Samples(counts, catalogue, merit)
    members = {name: Memberships.of(labels.tolist()) for name, labels in catalogue.groups.items()}
    found = estimate_all(samples, counts.served, members)
    assert source.summary is not None
    return Audit(
        name=source.name,
        log=source.summary,
        merit=merit,
        blocks=len(counts.blocks),
        metrics=named(found, "metric/"),
        items=item_table(catalogue, samples.whole, found),
        groups={
            name: group_table(name, samples.whole, memberships, found)
            for name, memberships in members.items()
        },
        positions=position_table(samples.whole, found),
        periods=period_table(counts, found),
        notes=(
            *_notes(source, counts, catalogue, samples, merit),
            *_chance(samples, found, enough=len(counts.blocks) >= FEWEST),
        ),
    )


def _perhaps_counts(columns: LogColumns) -> str:
    """Return what to do if a log that cannot be read is a table of counts."""
    needed = (columns.impression, columns.position, columns.click)
    if columns.user is not None or None in needed:
        return ""
    return (
        f". If {columns.impression!r} and {columns.click!r} are numbers of impressions and clicks, "
        "there is nothing to audit without the impressions themselves; click models can be fitted "
        "to such counts (`faircascade fit --counts`)"
    )


def _notes(
    log: Log, counts: LogCounts, catalogue: Catalogue, samples: Samples, merit: str
) -> Iterator[str]:
    yield from log.notes
    yield from catalogue.notes
    assert log.summary is not None
    yield from log.left_out
    if samples.floored:
        items = "1 item" if samples.floored == 1 else f"{samples.floored:,} items"
        yield f"the merit of {items} was below {MERIT_FLOOR:g} of the mean and counts as this"
    if samples.without_interval:
        yield (
            "popularity is estimated from the clicks of the log: popularity_correlation and "
            "tail_share have no interval, and chance pulls them to what random ranks would give "
            "(0, and the share of the items in the tail); a column of popularity helps"
        )
    clicks = log.summary.clicks / len(catalogue.ids)
    if merit == ESTIMATED and clicks < FEW_CLICKS:
        yield (
            f"merit is estimated from {clicks:.1f} clicks per item: what depends on it is rough, "
            "and its intervals are too narrow"
        )
    halves = balanced_halves(counts.served > 0)
    if not halves[:, counts.blocks].any(axis=1).all():
        yield (
            f"there are {log.summary.users:,} users: too few for intervals of coverage, of "
            "popularity_correlation and of the metrics of groups"
        )
    elif catalogue.groups and log.summary.users < FEW_USERS and len(counts.blocks) >= FEWEST:
        yield (
            f"there are {log.summary.users:,} users: intervals of the metrics of groups are too "
            "short (with 60 users, 86% to 97% rather than 95% were right)"
        )
    if counts.periods is not None and counts.periods.exposure is None:
        yield "there are too many items to follow their exposure over time"
    if len(counts.blocks) < FEWEST:
        yield (
            f"there are no intervals: the users fall into {len(counts.blocks)} of "
            f"{len(counts.served)} blocks, and {FEWEST} are needed"
        )


def _chance(samples: Samples, found: Mapping[str, Estimates], *, enough: bool) -> Iterator[str]:
    """Say which numbers are mostly chance, if there are `enough` blocks of users to tell."""
    times = samples.appearances_per_item
    about = f"an item appears {times:.1f} times on average, so that exposure looks uneven by chance"
    advice = "more impressions, of more users, help"
    if stretched := at_an_end(found):
        names = ", ".join(stretched)
        yield f"{about}: the interval of {names} lies on one side of the value; {advice}"
    missing = [
        name
        for name, metric in named(found, "metric/").items()
        if np.isnan(metric.low) and name not in (*samples.without_interval, *EXTREMES)
    ]
    if enough and missing and times < FEW_APPEARANCES:
        names = ", ".join(missing)
        yield (
            f"{about} by more than intervals can tell: {names} have none below "
            f"{FEW_APPEARANCES} times; {advice}"
        )
