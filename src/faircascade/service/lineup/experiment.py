"""An experiment of a service: which of its policies are compared, on whom, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from faircascade.service.experiments import Assignment, Monitor, block_of
from faircascade.service.experiments.hashing import bucket_of

_HASHES = 2**32


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Arms are names of policies; the control is served to everybody outside of it."""

    assignment: Assignment
    since: float = 0.0
    """When it began."""
    period: int = 0
    """The number of the lineup since which the same users get the same policies; whatever changes
    that begins counts anew. No two experiments share one, not even under one name."""
    period_since: float = 0.0
    level: float = 0.95
    relevant: float = 0.03
    first_look: int = 0

    def __post_init__(self) -> None:
        self.monitor({})  # refuses levels and shares that it could not look at

    @property
    def name(self) -> str:
        return self.assignment.name

    @property
    def control(self) -> str:
        return self.assignment.fallback

    @cached_property
    def key(self) -> str:
        """What its events are counted under."""
        return f"{self.name}/{self.period}"

    @property
    def plan(self) -> Mapping[str, Any]:
        """What was asked for when it began; who is in which arm is drawn anew each time."""
        asked = {**self.to_json(), "since": None, "period": None, "period_since": None}
        return {**asked, "assignment": {**asked["assignment"], "salt": None}}

    @property
    def running(self) -> bool:
        return not self.assignment.stopped

    def note(self, user: str, arm: str) -> dict[str, Any]:
        """Return what the events of a slate need to be counted."""
        salt = self.assignment.salt
        return {
            "in": self.key,
            "arm": arm,
            "block": block_of(user, salt),
            "user": bucket_of(user, salt, "user", _HASHES),
        }

    def monitor(self, origins: Mapping[str, float]) -> Monitor:
        """Return what looks at its counts; its sequences began with these origins."""
        shares = self.assignment.shares
        return Monitor(
            shares=shares,
            control=self.control,
            level=self.level,
            relevant=self.relevant,
            first_look=self.first_look,
            origins=dict(origins),
        )

    def begun_anew(self, number: int, now: float) -> Experiment:
        """Return it with counts that begin with the lineup of this number."""
        return replace(self, period=number, period_since=now)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "assignment": self.assignment.to_json(),
            "since": self.since,
            "period": self.period,
            "period_since": self.period_since,
            "level": self.level,
            "relevant": self.relevant,
            "first_look": self.first_look,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experiment:
        """Return what `to_json` was called on."""
        return cls(**{**data, "assignment": Assignment.from_json(data["assignment"])})
