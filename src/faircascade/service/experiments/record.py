"""What was seen of an experiment so far: where its sequences begin, and how they went on.

All services on a store keep one record of an experiment together. A sequence has its origin from
the first look of any of them, and keeps it whoever looks next and whatever is restarted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

VERSION = 1
FIRST_GAP = 10.0
"""Seconds between the looks that are kept; twice as many whenever there are too many looks."""
MOST_LOOKS = 60
"""Looks that are kept of the period that runs, and of each one before a third of them."""
MOST_PERIODS = 10

Look = Mapping[str, Any]
_LEFT_OUT = ("text", "slates_left")


@dataclass(frozen=True, kw_only=True)
class Period:
    """A time in which the same users had the same policies."""

    key: str
    """What its events are counted under."""
    since: float
    shares: Mapping[str, float]
    origins: Mapping[str, float]
    """Information at the first look of each sequence."""
    looks: tuple[Look, ...] = ()
    """Oldest first: the time, slates, and what was known of each difference."""
    gap: float = FIRST_GAP
    last: Look | None = None
    """What the last of them said, in full."""

    def looked(
        self, said: Look, origins: Mapping[str, float], now: float, *, last: bool = False
    ) -> Period:
        """Return it after a look, or as it is if there is nothing to keep."""
        due = not self.looks or now - self.looks[-1]["time"] >= self.gap
        if not due and not last and origins == self.origins:
            return self
        looks, gap = (*self.looks, brief(said, now)), self.gap
        if len(looks) > MOST_LOOKS:
            looks, gap = looks[::2], 2 * gap
        return replace(self, origins=dict(origins), looks=looks, gap=gap, last=said)

    def over(self) -> Period:
        """Return it with fewer looks, as there is another period now."""
        step = -(-3 * len(self.looks) // MOST_LOOKS) or 1
        return replace(self, looks=self.looks[::-1][::step][::-1])


@dataclass(frozen=True, kw_only=True)
class Record:
    """All periods of an experiment."""

    since: float
    """When the experiment began: another one of the same name has a record of its own."""
    periods: tuple[Period, ...] = ()
    """Oldest first; the last one is the one that runs, or ran when it ended."""

    def of(self, key: str, since: float, shares: Mapping[str, float]) -> Period:
        """Return the period that runs, new if nobody has looked at it."""
        if self.periods and self.periods[-1].key == key:
            return self.periods[-1]
        return Period(key=key, since=since, shares=dict(shares), origins={})

    def with_period(self, period: Period) -> Record:
        """Return it with another state of its last period, or with a new one."""
        others = [one for one in self.periods if one.key != period.key]
        kept = (*(one.over() for one in others), period)[-MOST_PERIODS:]
        return replace(self, periods=kept)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        periods = [
            {
                "key": one.key,
                "since": one.since,
                "shares": dict(one.shares),
                "origins": dict(one.origins),
                "looks": list(one.looks),
                "gap": one.gap,
                "last": one.last,
            }
            for one in self.periods
        ]
        return {"version": VERSION, "since": self.since, "periods": periods}

    @classmethod
    def from_json(cls, data: Any, since: float) -> Record:
        """Return what `to_json` was called on; an empty one if that is of another experiment."""
        if data is None or data["since"] != since:
            return cls(since=since)
        if data["version"] != VERSION:
            raise ValueError(f"record of version {data['version']}; this is {VERSION}")
        periods = [Period(**{**one, "looks": tuple(one["looks"])}) for one in data["periods"]]
        return cls(since=since, periods=tuple(periods))


def brief(said: Look, now: float) -> dict[str, Any]:
    """Return what is kept of a look."""
    comparisons = {
        arm: {
            measure: {name: value for name, value in found.items() if name not in _LEFT_OUT}
            for measure, found in measures.items()
        }
        for arm, measures in said["comparisons"].items()
    }
    slates = sum(arm["slates"] for arm in said["arms"].values())
    mismatch = said["sample_ratio"]["mismatch"]
    return {"time": now, "slates": slates, "mismatch": mismatch, "comparisons": comparisons}
