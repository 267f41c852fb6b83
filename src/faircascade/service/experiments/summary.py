"""What an experiment says now: each arm, each treatment against the control, and a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from faircascade.errors import ParameterError, check_choice
from faircascade.service.experiments.counts import ArmCounts
from faircascade.service.experiments.equality import equality, equality_difference
from faircascade.service.experiments.sample_ratio import sample_ratio
from faircascade.service.experiments.sequential import ConfidenceSequence, Estimate
from faircascade.service.experiments.verdict import Wording, verdict

VERSION = 1
MEASURES: Mapping[str, Wording] = {
    "clicks_per_slate": Wording(more="more clicks", less="fewer clicks"),
    "reward_per_slate": Wording(more="more reward", less="less reward"),
    "equality_b": Wording(more="shares exposure more equally", less="shares it less equally"),
    "equality_p": Wording(more="shares exposure more equally", less="shares it less equally"),
}
"""What arms are compared by."""
PER_SLATE = ("clicks_per_slate", "reward_per_slate")
"""Means over slates; a slate has from 0 to 1 of either at each position."""
LARGEST = {"equality_b": 1.0, "equality_p": 1.0}
"""What a measure can be at most, if there is a bound."""


@dataclass(kw_only=True)
class Monitor:
    """Looks at the counts of an experiment, as often as wanted.

    Every measure has intervals of its own, which hold at all looks together with probability
    `level`; with several treatments, those of all treatments together.
    """

    shares: Mapping[str, float]
    """Planned share of each arm. A change of shares needs a new monitor and new counts."""
    control: str
    """The arm that the others are compared with."""
    level: float = 0.95
    relevant: float = 0.03
    """Smallest difference that matters, as a share of the control's value."""
    first_look: int = 0
    """Slates of all arms before the first interval. Waiting for a third of what an experiment is
    thought to take makes all later intervals narrower."""
    origins: dict[str, float] = field(default_factory=dict)
    """Information at the first look of each sequence: what a later look needs of earlier ones."""

    def __post_init__(self) -> None:
        if len(self.shares) < 2:
            raise ParameterError("arms", "must be at least two", list(self.shares))
        check_choice("control", self.control, self.shares)
        if not 0 < self.level < 1:
            raise ParameterError("level", "must be between 0 and 1", self.level)
        if not 0 < self.relevant < 1:
            raise ParameterError("relevant", "must be between 0 and 1", self.relevant)
        if self.first_look < 0:
            raise ParameterError("first_look", "must be >= 0 slates", self.first_look)

    def look(self, arms: Mapping[str, ArmCounts], *, begin: bool = True) -> dict[str, Any]:
        """Return what the counts say, as plain data; numbers that are not known are None.

        The first look at which a sequence has enough blocks is its origin, unless it may not
        `begin`: then there are intervals only of those that have begun.
        """
        if set(arms) != set(self.shares):
            raise ParameterError("counts", f"must be of {', '.join(self.shares)}", list(arms))
        found = {name: _estimates(arms[name]) for name in self.shares}
        apart = {name: _differences(found[name], found[self.control]) for name in self.treatments}
        slates = {name: int(arms[name].slates.sum()) for name in self.shares}
        if begin and sum(slates.values()) >= self.first_look:
            self._begin("arm", found)
            self._begin("difference", apart)
        return {
            "control": self.control,
            "level": self.level,
            "relevant": self.relevant,
            "arms": {name: self._arm(name, arms[name], found[name]) for name in self.shares},
            "comparisons": {
                name: {
                    measure: self._comparison(
                        name,
                        measure,
                        difference,
                        found[self.control][measure].value,
                        slates[name] + slates[self.control],
                    )
                    for measure, difference in apart[name].items()
                }
                for name in self.treatments
            },
            "sample_ratio": self._sample_ratio(arms),
        }

    @property
    def treatments(self) -> list[str]:
        """The arms beside the control."""
        return [name for name in self.shares if name != self.control]

    def _begin(self, what: str, estimates: Mapping[str, Mapping[str, Estimate]]) -> None:
        """Remember the origins of the sequences that have enough blocks for the first time."""
        for name, measures in estimates.items():
            for measure, estimate in measures.items():
                key = f"{what}/{name}/{measure}"
                origin = ConfidenceSequence(origin=self.origins.get(key)).look(estimate).origin
                if origin is not None:
                    self.origins[key] = origin

    def _arm(
        self, name: str, counts: ArmCounts, estimates: Mapping[str, Estimate]
    ) -> dict[str, Any]:
        slates, answers = int(counts.slates.sum()), int(counts.answers.sum())
        said: dict[str, Any] = {
            "users": counts.users,
            "slates": slates,
            "answers": answers,
            "answered_share": answers / slates if slates else None,
            "clicks": int(counts.clicks.sum()),
        }
        for measure, estimate in estimates.items():
            origin = self.origins.get(f"arm/{name}/{measure}")
            ends = _ends(estimate, ConfidenceSequence(level=self.level, origin=origin))
            most = LARGEST.get(measure, inf)
            said[measure] = {
                end: None if x is None else min(max(x, 0.0), most) for end, x in ends.items()
            }
        return said

    def _comparison(
        self, name: str, measure: str, difference: Estimate, control: float, slates: int
    ) -> dict[str, Any]:
        sequence = ConfidenceSequence(
            level=1.0 - (1.0 - self.level) / len(self.treatments),  # Bonferroni
            origin=self.origins.get(f"difference/{name}/{measure}"),
        )
        said = verdict(
            difference,
            sequence,
            control,
            relevant=self.relevant,
            slates=slates,
            wording=MEASURES[measure],
        )
        ends = _ends(difference, sequence)
        percent = {
            f"{end}_percent": None if value is None or not control > 0 else 100 * value / control
            for end, value in ends.items()
        }
        return ends | percent | said.to_json()

    def _sample_ratio(self, arms: Mapping[str, ArmCounts]) -> dict[str, Any]:
        users = {name: arms[name] for name in self.shares}
        found = sample_ratio(
            {n: arm.users if arm.sampled is None else arm.sampled for n, arm in users.items()},
            self.shares,
        )
        wrong = "users are not divided as planned: find out why before you trust anything"
        right = "users are divided as planned, as far as can be told"
        return {
            "users": dict(found.users),
            "planned": dict(found.shares),
            "p_value": found.p_value,
            "mismatch": found.mismatch,
            "text": wrong if found.mismatch else right,
        }

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; keep it after every look."""
        return {
            "version": VERSION,
            "shares": dict(self.shares),
            "control": self.control,
            "level": self.level,
            "relevant": self.relevant,
            "first_look": self.first_look,
            "origins": dict(self.origins),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Monitor:
        """Return what `to_json` was called on."""
        version = data.get("version")
        if version != VERSION:
            raise ParameterError("version of the monitor", f"must be {VERSION}", version)
        values = {name: value for name, value in data.items() if name != "version"}
        try:
            return cls(**values | {"origins": dict(values["origins"])})
        except (KeyError, TypeError) as error:
            raise ParameterError(
                "monitor", f"must be as to_json gives it ({error})", data
            ) from None


def _estimates(counts: ArmCounts) -> dict[str, Estimate]:
    return {
        "clicks_per_slate": Estimate.ratio(counts.clicks, counts.slates),
        "reward_per_slate": Estimate.ratio(counts.worth, counts.slates),
        "equality_b": equality(counts.appearances),
        "equality_p": equality(counts.weighed),
    }


def _differences(
    ours: Mapping[str, Estimate], theirs: Mapping[str, Estimate]
) -> dict[str, Estimate]:
    return {
        measure: ours[measure].minus(theirs[measure])
        if measure in PER_SLATE
        else equality_difference(ours[measure], theirs[measure])
        for measure in MEASURES
    }


def _ends(estimate: Estimate, sequence: ConfidenceSequence) -> dict[str, float | None]:
    interval = sequence.interval(estimate)
    return {
        "value": estimate.value if isfinite(estimate.value) else None,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
    }
