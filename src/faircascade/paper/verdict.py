"""How a number of ours stands to the published one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from faircascade.experiment.stats import Estimate
from faircascade.paper.published import BASELINE, GENUINE, ROUNDS, PublishedRow, published
from faircascade.policies import Policy

Kind = Literal["matches", "same direction", "differs", "cannot be compared"]

CLOSE = 0.1
"""A number matches that is within this share of the published one."""
STILL = 0.02
"""A change against LinUCB of less than this share is none."""

SETTING = {
    "users": 1000,
    "sampling": "active",
    "threshold": 4.0,
    "train_share": 0.5,
    "world": "paper",
    "popularity_power": None,
    "click_rate": None,
    "preferences": None,
}
"""How the paper's environments were made, as far as that is known to matter for clicks."""
LEVELS = {"align": "none", "zero_rows": "keep"}
"""What the authors' package has, and the levels of equality follow from."""

_NOT_DEFINED = "the paper does not define FRM for slates"
_CONTRADICTED = (
    "on MovieLens the published RBP rows have LinUCB's clicks in all four tables and its "
    "Equality (B) in three, so they come from the same slates, and yet another Equality (P): it "
    "was not computed as defined"
)
_NEAR, _FAR = f"within {CLOSE:.0%}", f"more than {CLOSE:.0%} away"
_MERIT = "how merit was computed is not said, and levels follow from it"


@dataclass(frozen=True)
class Verdict:
    """Which of four, and why."""

    kind: Kind
    reason: str


def judge(
    row: PublishedRow,
    metric: str,
    ours: Estimate,
    change: float,
    *,
    policy: Policy,
    data: str,
    options: Mapping[str, Any],
    rounds: int,
) -> Verdict:
    """Judge one metric of one row.

    `change` is ours against our LinUCB after as many rounds, as a share of that; `options` are
    those of the environment.
    """
    theirs = published()[row][metric]
    before = published()[row._replace(method=BASELINE, weight="")][metric]
    moved, published_move = _direction(change), _direction((theirs - before) / before)
    hindrance = _hindrance(row, metric, policy, data, options, rounds)
    if hindrance:
        if row.method != BASELINE:
            same = "the same" if moved == published_move else "another"
            hindrance += f"; the change against LinUCB has {same} sign"
        return Verdict("cannot be compared", hindrance)
    near = abs(ours.mean - theirs) <= CLOSE * theirs
    if row.method == BASELINE:
        return Verdict(*(("matches", _NEAR) if near else ("differs", _FAR)))
    if moved != published_move:
        words = f"{_words(moved)} LinUCB; published: {_words(published_move)} it"
        return Verdict("differs", words)
    as_published = f"{_words(moved)} LinUCB, as published"
    if near:
        return Verdict("matches", f"{_NEAR}, and {as_published}")
    return Verdict("same direction", f"{_FAR}, but {as_published}")


def _hindrance(
    row: PublishedRow,
    metric: str,
    policy: Policy,
    data: str,
    options: Mapping[str, Any],
    rounds: int,
) -> str:
    """Return why a published number cannot be held against ours; nothing if it can."""
    if data not in GENUINE:
        return "the data is synthetic"
    if row.method == "FRMLinUCB":
        return _NOT_DEFINED
    if rounds != ROUNDS:
        return f"{rounds:,} rounds instead of {ROUNDS:,}"
    known = {**SETTING, **(LEVELS if metric != "clicks" else {})}
    if options.get("threshold") is None:  # left to the data, whose scale is 1 to 5
        options = {**options, "threshold": SETTING["threshold"]}
    for name, usual in known.items():
        if options.get(name) != usual:
            return f"{name} is {options.get(name)} instead of {usual}"
    for name in ("ridge", "sigma"):
        if getattr(policy, name) != 1.0:
            return f"{name} is {getattr(policy, name):g} instead of 1"
    if metric in ("equity_b", "equity_p"):
        return _MERIT
    if metric == "equality_p" and row.method == "EALinUCB":
        return _CONTRADICTED
    return ""


def _direction(change: float) -> int:
    return 0 if abs(change) < STILL else (1 if change > 0 else -1)


def _words(direction: int) -> str:
    return {1: "above", 0: "equal to", -1: "below"}[direction]
