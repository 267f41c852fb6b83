"""What the service says about its requests and its store, in the form of its API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faircascade.service.exposure.summary import iso
from faircascade.service.exposure.windows import SPANS
from faircascade.service.http.traffic import TrafficMoment

KINDS = ("recommendations", "feedback", "other", "errors", "refused")


def traffic(window: str, moments: Sequence[TrafficMoment]) -> dict[str, Any]:
    """Return `Traffic` of the API."""
    since, until = iso(moments[0].since), iso(moments[-1].until)
    return {
        "window": {"name": window, "since": since, "until": until},
        "step_seconds": SPANS[window].seconds,
        "moments": [_moment(moment) for moment in moments],
    }


def _moment(moment: TrafficMoment) -> dict[str, Any]:
    half = moment.seconds(0.5)
    return {
        "since": iso(moment.since),
        "until": iso(moment.until),
        **dict(zip(KINDS, moment.counts.tolist(), strict=True)),
        "seconds": None if half is None else {"p50": half, "p99": moment.seconds(0.99)},
    }


def time_rows(
    moments: Sequence[Mapping[str, Any]], requests: Sequence[TrafficMoment]
) -> list[dict[str, Any]]:
    """Return a row for each step of exposure, with its requests, if it is known of both."""
    asked = {iso(moment.since): moment for moment in requests}
    rows = []
    for moment in moments:
        row = {name: value for name, value in moment.items() if name != "fairness"}
        row |= moment["fairness"]
        found = asked.get(moment["since"])
        counts = [None] * len(KINDS) if found is None else found.counts.tolist()
        row |= {f"requests_{kind}": n for kind, n in zip(KINDS, counts, strict=True)}
        row["seconds_p50"] = None if found is None else found.seconds(0.5)
        row["seconds_p99"] = None if found is None else found.seconds(0.99)
        rows.append(row)
    return rows
