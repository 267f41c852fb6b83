"""What the service says about exposure, in the form of its API."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal

import numpy as np

from faircascade.metrics.exposure import lorenz
from faircascade.service.exposure.counters import ExposureSnapshot, Moment, Timeline
from faircascade.service.exposure.counts import Counts
from faircascade.service.exposure.fairness import MEASURES, exposures, fairness
from faircascade.service.exposure.recipients import Recipients
from faircascade.service.exposure.shares import Shares, leading
from faircascade.types import Floats, Ints

Order = Literal["over", "under", "clicks"]
"""`over`: most exposure for its merit first. `under`: least first. `clicks`: most first."""

By = Literal["item", "group", "supplier"]

POINTS = 101
"""Most points of a Lorenz curve."""


def exposure(snapshot: ExposureSnapshot, recipients: Recipients, limit: int = 10) -> dict[str, Any]:
    """Return `Exposure` of the API, with as many items at either end, groups and suppliers."""
    counts = snapshot.counts
    shares = Shares.of_items(counts, recipients)
    return {
        "window": _window(snapshot),
        **_totals(counts.totals),
        "items": len(recipients),
        "fairness": _fairness(fairness(counts, recipients)),
        "lorenz": _lorenz(counts, recipients),
        "over_exposed": shares.rows(_beyond(shares, "over", limit)),
        "under_exposed": shares.rows(_beyond(shares, "under", limit)),
        "groups": _most_exposed(shares.of_groups(recipients.by_group), limit),
        "suppliers": _most_exposed(shares.of_groups(recipients.by_supplier), limit),
    }


def item_exposure(
    snapshot: ExposureSnapshot,
    recipients: Recipients,
    order: Order,
    offset: int = 0,
    limit: int = 100,
    *,
    by: By = "item",
) -> dict[str, Any]:
    """Return `ItemExposure` of the API: a page of all items, groups or suppliers in an order."""
    shares = Shares.of_items(snapshot.counts, recipients)
    if by != "item":
        shares = shares.of_groups(recipients.by_group if by == "group" else recipients.by_supplier)
    page = _ranked(shares, order, offset + limit)[offset:]
    return {"window": _window(snapshot), "total": len(shares.names), "items": shares.rows(page)}


def history(timeline: Timeline, recipients: Recipients) -> dict[str, Any]:
    """Return `History` of the API."""
    return {
        "window": _window(timeline),
        "step_seconds": timeline.seconds,
        "moments": [_moment(moment, recipients) for moment in timeline.moments],
    }


def iso(seconds: float) -> str:
    """Return a time since 1970 as text, in UTC.

    >>> iso(1.5)
    '1970-01-01T00:00:01.500Z'
    """
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _window(view: ExposureSnapshot | Timeline) -> dict[str, Any]:
    since = None if view.since is None else iso(view.since)
    return {"name": view.window, "since": since, "until": iso(view.until)}


def _totals(totals: Ints) -> dict[str, Any]:
    slates, answers, clicks, clicked, positions, unshown, no_clicks = totals.tolist()
    return {
        "recommendations": slates,
        "answers": answers,
        "clicks": clicks,
        "clicked": clicked,
        "click_rate": clicks / answers if answers else None,
        "no_clicks": no_clicks,
        "positions": positions,
        "positions_shown": max(positions - unshown, 0),
    }


def _moment(moment: Moment, recipients: Recipients) -> dict[str, Any]:
    known = moment.fairness
    values = fairness(known, recipients) if isinstance(known, Counts) else known
    return {
        "since": iso(moment.since),
        "until": iso(moment.until),
        **_totals(moment.totals),
        "fairness": _fairness(values),
    }


def _fairness(values: Floats) -> dict[str, float | None]:
    pairs = zip(MEASURES, values.tolist(), strict=True)
    return {notion: value if isfinite(value) else None for notion, value in pairs}


def _lorenz(counts: Counts, recipients: Recipients) -> dict[str, list[float] | None]:
    m = len(recipients)
    points = np.rint(np.linspace(0, m, min(m + 1, POINTS))).astype(np.int64)
    shared = exposures(counts, recipients)
    curves: dict[str, list[float] | None] = {"items": [0.0]}
    named = {n: e for n, e in shared._asdict().items() if n != "exposure_bm"}
    for name, exposure in named.items():
        with np.errstate(over="ignore", invalid="ignore"):  # merit may be next to nothing
            items, share = (values[points] for values in lorenz(exposure))
        curves["items"] = items.tolist()
        curves[name] = share.tolist() if np.isfinite(share).all() else None
    return curves


def _ranked(shares: Shares, order: Order, limit: int) -> Ints:
    """Return the first rows in an order, ties by name in the end."""
    _, units, clicks = shares.counts
    if order == "over":
        return leading(limit, -shares.ratio, -units, shares.rank)
    if order == "under":
        return leading(limit, shares.ratio, -shares.merit_share, shares.rank)
    return leading(limit, -clicks, -units, shares.rank)


def _beyond(shares: Shares, order: Literal["over", "under"], limit: int) -> Ints:
    """Return those that have more than in proportion to their merit, or less; most so first."""
    if not shares.exposure_share.any():
        return np.empty(0, dtype=np.int64)
    first = _ranked(shares, order, limit)
    ratio = shares.ratio[first]
    return first[ratio > 1.0 if order == "over" else ratio < 1.0]


def _most_exposed(shares: Shares, limit: int) -> list[dict[str, Any]]:
    return shares.rows(leading(limit, -shares.counts[1], shares.rank))
