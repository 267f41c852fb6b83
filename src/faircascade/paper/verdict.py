"""How a number of ours stands to the published one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from faircascade.experiment.stats import Estimate
from faircascade.paper.published import BASELINE, GENUINE, ROUNDS, Row, published

Kind = Literal["matches", "same direction", "differs", "cannot be compared"]

CLOSE = 0.1
"""A number matches that is within this share of the published one, or whose interval covers it."""
STILL = 0.005
"""A change against LinUCB of less than this share is none."""

_NOT_DEFINED = "the paper does not define FRM for lists"
_CONTRADICTED = (
    "on MovieLens the published RBP rows have LinUCB's clicks in all four tables and its "
    "Equality (B) in three, so they come from the same lists, and yet another Equality (P): it was "
    "not computed as defined"
)
_MERIT = "how merit was computed is not said, and levels follow from it"


@dataclass(frozen=True)
class Verdict:
    """Which of four, and why."""

    kind: Kind
    reason: str


def judge(
    row: Row,
    metric: str,
    ours: Estimate,
    baseline: Estimate,
    *,
    data: str,
    rounds: int,
) -> Verdict:
    """Judge one metric of one row; `baseline` is our LinUCB over as many rounds."""
    theirs = published()[row][metric]
    before = published()[row._replace(method=BASELINE, weight="")][metric]
    moved = _direction(theirs, before), _direction(ours.mean, baseline.mean)
    hindrance = _hindrance(row, metric, data=data, rounds=rounds)
    if hindrance:
        if row.method != BASELINE:
            same = "the same" if moved[0] == moved[1] else "another"
            hindrance += f"; the change against LinUCB has {same} sign"
        return Verdict("cannot be compared", hindrance)
    away = abs(ours.mean - theirs) / theirs
    if away <= CLOSE:
        return Verdict("matches", f"within {CLOSE:.0%}")
    if ours.low <= theirs <= ours.high:
        return Verdict("matches", "within our 95% interval")
    if row.method != BASELINE and moved[0] == moved[1]:
        return Verdict("same direction", f"{_words(moved[1])} LinUCB, as published")
    if row.method == BASELINE:
        return Verdict("differs", f"more than {CLOSE:.0%} away")
    return Verdict("differs", f"{_words(moved[1])} LinUCB; published: {_words(moved[0])} LinUCB")


def _hindrance(row: Row, metric: str, *, data: str, rounds: int) -> str:
    """Return why a published number cannot be held against ours; nothing if it can."""
    if data not in GENUINE:
        return "the data is synthetic"
    if row.method == "FRMLinUCB":
        return _NOT_DEFINED
    if rounds != ROUNDS:
        return f"{rounds:,} rounds instead of {ROUNDS:,}"
    if metric in ("equity_b", "equity_p"):
        return _MERIT
    if metric == "equality_p" and row.method == "EALinUCB":
        return _CONTRADICTED
    return ""


def _direction(value: float, before: float) -> int:
    change = (value - before) / before
    return 0 if abs(change) < STILL else (1 if change > 0 else -1)


def _words(direction: int) -> str:
    return {1: "above", 0: "equal to", -1: "below"}[direction]
