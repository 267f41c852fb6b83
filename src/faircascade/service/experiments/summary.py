"""What an experiment says now: each arm, each treatment against the control, and a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
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
    "equality_b": Wording(more="shares exposure more equally", less="shares it less equally"),
    "equality_p": Wording(more="shares exposure more equally", less="shares it less equally"),
}
"""What arms are compared by."""


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

    def look(self, arms: Mapping[str, ArmCounts]) -> dict[str, Any]:
        """Return what the counts say, as plain data; numbers that are not known are None."""
        if set(arms) != set(self.shares):
            raise ParameterError("counts", f"must be of {', '.join(self.shares)}", list(arms))
        found = {name: _estimates(arms[name]) for name in self.shares}
        treatments = [name for name in self.shares if name != self.control]
        ratio = sample_ratio({name: arms[name].users for name in arms}, self.shares)
        return {
            "control": self.control,
            "level": self.level,
            "relevant": self.relevant,
            "arms": {name: self._arm(name, arms[name], found[name]) for name in self.shares},
            "comparisons": {
                name: {
                    measure: self._comparison(name, measure, arms, found) for measure in MEASURES
                }
                for name in treatments
            },
            "sample_ratio": {
                "users": dict(ratio.users),
                "planned": dict(ratio.shares),
                "p_value": ratio.p_value,
                "mismatch": ratio.mismatch,
                "text": "users are not divided as planned: find out why before you trust anything"
                if ratio.mismatch
                else "users are divided as planned, as far as can be told",
            },
        }

    def _arm(
        self, name: str, counts: ArmCounts, estimates: Mapping[str, Estimate]
    ) -> dict[str, Any]:
        slates, answers = int(counts.slates.sum()), int(counts.answers.sum())
        return {
            "users": counts.users,
            "slates": slates,
            "answers": answers,
            "answered_share": answers / slates if slates else None,
            "clicks": int(counts.clicks.sum()),
        } | {
            measure: _within(_ends(estimate, self._sequence(f"arm/{name}/{measure}", estimate)))
            for measure, estimate in estimates.items()
        }

    def _comparison(
        self,
        name: str,
        measure: str,
        arms: Mapping[str, ArmCounts],
        found: Mapping[str, Mapping[str, Estimate]],
    ) -> dict[str, Any]:
        ours, theirs = found[name][measure], found[self.control][measure]
        between = Estimate.minus if measure == "clicks_per_slate" else equality_difference
        difference = between(ours, theirs)
        level = 1.0 - (1.0 - self.level) / (len(self.shares) - 1)  # Bonferroni over treatments
        key = f"difference/{name}/{measure}"
        sequence = self._sequence(key, difference, level)
        said = verdict(
            difference,
            sequence,
            theirs.value,
            relevant=self.relevant,
            slates=int(arms[name].slates.sum() + arms[self.control].slates.sum()),
            wording=MEASURES[measure],
        )
        ends = _ends(difference, sequence)
        relative = {
            f"{end}_percent": 100 * value / theirs.value
            if value is not None and theirs.value > 0
            else None
            for end, value in ends.items()
        }
        return ends | relative | said.to_json()

    def _sequence(
        self, key: str, estimate: Estimate, level: float | None = None
    ) -> ConfidenceSequence:
        """Return a sequence after a look, and remember its origin."""
        sequence = ConfidenceSequence(level=level or self.level, origin=self.origins.get(key))
        sequence = sequence.look(estimate)
        if sequence.origin is not None:
            self.origins[key] = sequence.origin
        return sequence

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data; keep it after every look."""
        return {
            "version": VERSION,
            "shares": dict(self.shares),
            "control": self.control,
            "level": self.level,
            "relevant": self.relevant,
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
        "equality_b": equality(counts.appearances),
        "equality_p": equality(counts.weighed),
    }


def _ends(estimate: Estimate, sequence: ConfidenceSequence) -> dict[str, float | None]:
    interval = sequence.interval(estimate)
    return {
        "value": estimate.value if isfinite(estimate.value) else None,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
    }


def _within(ends: dict[str, float | None]) -> dict[str, float | None]:
    """Return the ends of what cannot be below 0."""
    return {end: None if value is None else max(value, 0.0) for end, value in ends.items()}
