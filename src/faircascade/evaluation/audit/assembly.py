"""Tables of estimates, out of what was measured with and without each block of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from faircascade.evaluation.audit.catalogue import Catalogue
from faircascade.evaluation.audit.counts import LogCounts
from faircascade.evaluation.audit.intervals import (
    ANY,
    Bounds,
    Estimate,
    Estimates,
    Interval,
    balanced_halves,
    evenness,
    extreme,
    left_out,
    no_interval,
    smooth,
)
from faircascade.evaluation.audit.measures import (
    BOUNDS,
    UNEVEN,
    Sample,
    Samples,
    Values,
    log_metrics,
    measure,
    measure_extremes,
)
from faircascade.evaluation.audit.tables import GroupTable, ItemTable, PeriodTable, PositionTable
from faircascade.metrics.exposure import exposure_p
from faircascade.metrics.memberships import Memberships
from faircascade.metrics.top_items import TopItems
from faircascade.types import Bools, Floats, Ints

FEW_APPEARANCES = 3
"""Appearances per item below which no interval is given where chance is most of a number.

In simulations of 150 users with 3 of them, intervals had the value of very many users in at least
95% of the logs; with 1.1, those of entropy in 10%, of merit_js in none.
"""

_BOUNDS: Mapping[str, Bounds] = {
    **BOUNDS,
    **dict.fromkeys(("share", "merit_share"), (0.0, 1.0)),
    **dict.fromkeys(("ratio", "rate", "examination"), (0.0, np.inf)),
}


def estimate_all(
    samples: Samples, served: Ints, groups: Mapping[str, Memberships]
) -> dict[str, Estimates]:
    """Return everything that is measured, with intervals; `served` is by block of users."""
    smoothly = _measured(samples, left_out(served > 0), groups, measure, _interval)
    extremes = _measured(
        samples, balanced_halves(served > 0), groups, measure_extremes, lambda name: extreme
    )
    order = [f"metric/{name}" for name in log_metrics()]
    found = smoothly | extremes
    withheld = samples.without_interval
    if samples.appearances_per_item < FEW_APPEARANCES:
        withheld = (*withheld, *at_an_end(found))
    for name in withheld:
        found[f"metric/{name}"] = no_interval(found[f"metric/{name}"].value)
    return {name: found[name] for name in dict.fromkeys((*order, *found))}


def at_an_end(found: Mapping[str, Estimates]) -> list[str]:
    """Return the metrics of items whose value is an end of its interval: chance is most of them."""
    names = [name for name in found if name.startswith("metric/") and found[name].at_an_end[0]]
    return [name.removeprefix("metric/") for name in names]


def _measured(
    samples: Samples,
    parts: Bools,
    groups: Mapping[str, Memberships],
    measured: Callable[[Sample, Mapping[str, Memberships]], Values],
    interval: Callable[[str], Interval],
) -> dict[str, Estimates]:
    whole = measured(samples.whole, groups)
    others: dict[str, list[Floats]] = {name: [] for name in whole}
    for blocks in parts:
        for name, values in measured(samples.of(blocks), groups).items():
            others[name].append(values)
    items = samples.whole.record.appearances.shape[0]
    bounds = {**_BOUNDS, "top_items": (TopItems().few(items) / items, 1.0)}
    return {
        name: interval(name)(values, np.array(others[name]), bounds.get(_last(name), ANY))
        for name, values in whole.items()
    }


def _interval(name: str) -> Interval:
    """Return how a number that is no extreme gets its interval."""
    return evenness if _last(name) in UNEVEN else smooth


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def named(found: Mapping[str, Estimates], prefix: str) -> dict[str, Estimate]:
    """Return the single numbers whose names begin so."""
    return {
        name.removeprefix(prefix): each[0]
        for name, each in found.items()
        if name.startswith(prefix)
    }


def item_table(catalogue: Catalogue, whole: Sample, found: Mapping[str, Estimates]) -> ItemTable:
    """Return what each item got."""
    record = whole.record
    return ItemTable(
        ids=catalogue.ids,
        appearances=record.appearances.sum(axis=1),
        exposure=exposure_p(record),
        clicks=record.item_clicks.sum(axis=1),
        merit=record.merit,
        share=found["item/share"],
        merit_share=found["item/merit_share"],
        ratio=found["item/ratio"],
    )


def group_table(
    column: str, whole: Sample, memberships: Memberships, found: Mapping[str, Estimates]
) -> GroupTable:
    """Return what each group of a column got."""
    record = whole.record.added_up(memberships)
    prefix = f"group/{column}/"
    return GroupTable(
        column=column,
        groups=memberships.groups,
        sizes=memberships.sizes,
        appearances=record.appearances.sum(axis=1),
        clicks=record.item_clicks.sum(axis=1),
        share=found[f"{prefix}share"],
        merit_share=found[f"{prefix}merit_share"],
        ratio=found[f"{prefix}ratio"],
        rate=found[f"{prefix}rate"],
        metrics=named(found, f"{prefix}metric/"),
    )


def position_table(whole: Sample, found: Mapping[str, Estimates]) -> PositionTable:
    """Return what happened at each position."""
    return PositionTable(
        appearances=whole.record.appearances.sum(axis=0),
        clicks=whole.record.item_clicks.sum(axis=0),
        rate=found["position/rate"],
        examination=found["position/examination"],
    )


def period_table(counts: LogCounts, found: Mapping[str, Estimates]) -> PeriodTable | None:
    """Return what happened in each period; None if there was none."""
    periods = counts.periods
    if periods is None:
        return None
    prefix = "period/"
    return PeriodTable(
        starts=periods.starts,
        length=periods.length,
        kind=periods.kind,
        impressions=periods.served.sum(axis=1),
        metrics={n.removeprefix(prefix): e for n, e in found.items() if n.startswith(prefix)},
    )
