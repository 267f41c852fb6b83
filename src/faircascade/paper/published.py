"""The published numbers: two tables of the paper and six more of its authors' web page."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from faircascade.policies import EALinUCB, EARSLinUCB, FRMLinUCB, LinUCB, Policy

ROUNDS = 50_000
ALPHA = 0.25
METRICS = ("clicks", "equality_b", "equality_p", "equity_b", "equity_p")
DATA = {
    "ml-1m": "movielens",
    "synthetic": "movielens",
    "yahoo-r2": "yahoo-music",
    "synthetic-music": "yahoo-music",
}
"""Which published rows a data set is held against."""
GENUINE = ("ml-1m", "yahoo-r2")
"""Data sets that the paper used; others only resemble them."""

BASELINE = "LinUCB"


class PublishedRow(NamedTuple):
    """Which row of which table."""

    data: str
    dim: int
    k: int
    method: str
    weight: str


@cache
def published() -> Mapping[PublishedRow, Mapping[str, float]]:
    """Return every published row: metrics by row."""
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {
        PublishedRow(
            line["dataset"], int(line["d"]), int(line["k"]), line["method"], line["weight"]
        ): {metric: float(line[metric]) for metric in METRICS}
        for line in csv.DictReader(text.splitlines())
    }


_UNSAID: Mapping[type[Policy], tuple[str, ...]] = {
    LinUCB: (),
    EARSLinUCB: ("tolerance",),
    FRMLinUCB: ("variant", "sharpness", "eta", "ledger"),
    EALinUCB: ("weight",),
}
"""The policies of the tables, and their parameters that may be anything."""


def row_of(policy: Policy, data: str, dim: int, k: int) -> PublishedRow | None:
    """Return the published row that a policy is held against; None if there is none."""
    named = _method(policy)
    if named is None or data not in DATA:
        return None
    row = PublishedRow(DATA[data], dim, k, *named)
    return row if row in published() else None


def _method(policy: Policy) -> tuple[str, str] | None:
    """Return method and weight as the tables call them; None for what was not published.

    A policy is of the paper if nothing but its reading, its weight and the version of FRM differs
    from the defaults: the paper says no more.
    """
    free = _UNSAID.get(type(policy))
    if free is None or policy.alpha != ALPHA:  # type: ignore[attr-defined]
        return None
    said = {name: getattr(policy, name) for name in (*free, "alpha", "reading")}
    if policy != type(policy)(**said):
        return None
    if isinstance(policy, EALinUCB):
        return ("EALinUCB", policy.weight) if isinstance(policy.weight, str) else None
    return type(policy).__name__, ""
