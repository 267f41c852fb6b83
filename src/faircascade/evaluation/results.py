"""What an evaluation found: estimates with intervals, exposure, overlap and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from faircascade.errors import ParameterError, one_of
from faircascade.evaluation.overlap import Overlap
from faircascade.evaluation.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class ClickEstimate:
    """Clicks per slate by one estimator."""

    name: str
    title: str
    assumes: str
    value: float
    """NaN if there is none."""
    low: float = math.nan
    high: float = math.nan
    error: float = math.nan
    """Standard error over blocks of users."""
    logged: float = math.nan
    """Clicks per slate of the log, on the impressions that could be used."""
    difference: float = math.nan
    """From these clicks of the log, over the same users."""
    difference_low: float = math.nan
    difference_high: float = math.nan
    impressions: int = 0
    """How many could be used."""
    why_not: str = ""
    """Why there is no estimate; empty if there is one."""


@dataclass(frozen=True, kw_only=True)
class EqualityEstimate:
    """How evenly items would be exposed: 1 - Gini, without the bias of noise."""

    metric: str
    """equality_b or equality_p."""
    title: str
    value: float
    low: float
    high: float
    logged: float
    """Of the log, over the same items."""
    difference: float
    """From that of the log, over the same users."""
    difference_low: float
    difference_high: float
    how: str
    """computed: from the policy's own slates; or estimated, with which weights."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Two estimators compared over the same blocks of users."""

    first: str
    second: str
    difference: float
    low: float
    high: float

    @property
    def agree(self) -> bool:
        """Whether the interval of the difference has 0 in it; True if there is none."""
        return not (self.low > 0 or self.high < 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class PolicyEvaluation:
    """One policy."""

    label: str
    how: str
    """In which state, or on what grounds."""
    verdict: Verdict
    main: str
    """Name of the estimator that the verdict rests on; empty if there is none."""
    estimates: tuple[ClickEstimate, ...]
    equality: tuple[EqualityEstimate, ...]
    overlaps: tuple[Overlap, ...]
    agreements: tuple[Agreement, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, estimator: str) -> ClickEstimate:
        names = [estimate.name for estimate in self.estimates]
        if estimator not in names:
            raise ParameterError("estimator", f"must be {one_of(names, estimator)}", estimator)
        return self.estimates[names.index(estimator)]

    @property
    def disagreeing(self) -> tuple[str, ...]:
        """Titles of the estimators that differ from the main one by more than chance."""
        return tuple(
            pair.second for pair in self.agreements if pair.first == self.main and not pair.agree
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """What a log says of other policies."""

    log: str
    impressions: int
    """Those that were evaluated."""
    users: int
    items: int
    k: int
    clicks: float
    """Clicks per slate of the log itself."""
    clicks_low: float
    clicks_high: float
    policies: tuple[PolicyEvaluation, ...]
    level: float
    precision: float
    notes: tuple[str, ...] = ()

    def __getitem__(self, label: str) -> PolicyEvaluation:
        labels = [policy.label for policy in self.policies]
        if label not in labels:
            raise ParameterError("policy", f"must be {one_of(labels, label)}", label)
        return self.policies[labels.index(label)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the histograms of weights as plain data; None for no number."""
        document = {
            **{n: getattr(self, n) for n in ("log", "impressions", "users", "items", "k")},
            **{n: getattr(self, n) for n in ("clicks", "clicks_low", "clicks_high")},
            **{n: getattr(self, n) for n in ("level", "precision")},
            "notes": list(self.notes),
            "policies": [_policy_document(policy) for policy in self.policies],
        }
        plain: dict[str, Any] = _plain(document)
        return plain

    def __str__(self) -> str:
        lines = [
            f"{self.log}: {self.impressions:,} impressions of {self.users:,} users, "
            f"{self.items:,} items, slates of {self.k}; {self.clicks:.4f} clicks per slate"
        ]
        for policy in self.policies:
            lines += ["", f"{policy.label} ({policy.how})", f"  {policy.verdict}"]
            rows = [row for row in estimate_rows(policy) if row[1] != "–"]
            lines += _text_table(["", "clicks per slate", "95% interval", "assumes"], rows)
            rows = [
                [found.title, f"{found.value:.4f}", between(found.low, found.high), found.how]
                for found in policy.equality
            ]
            lines += _text_table([], rows)
        return "\n".join(lines)

    __repr__ = __str__


def estimate_rows(policy: PolicyEvaluation) -> list[list[str]]:
    """Return title, estimate, interval and assumption of each estimator, as text."""
    return [
        [
            found.title + (" *" if found.name == policy.main else ""),
            "–" if math.isnan(found.value) else f"{found.value:.4f}",
            between(found.low, found.high),
            found.assumes if not found.why_not else found.why_not,
        ]
        for found in policy.estimates
    ]


def between(low: float, high: float) -> str:
    """Return an interval as text."""
    return "–" if math.isnan(low) else f"[{low:.4f}, {high:.4f}]"


def _text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    every = [heads, *rows] if heads else list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return [
        "  "
        + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]


def _policy_document(policy: PolicyEvaluation) -> dict[str, Any]:
    return {
        "policy": policy.label,
        "how": policy.how,
        "verdict": policy.verdict.answer,
        "words": policy.verdict.words,
        "main": policy.main,
        "estimates": [asdict(estimate) for estimate in policy.estimates],
        "equality": [asdict(estimate) for estimate in policy.equality],
        "overlap": [
            {
                name: getattr(overlap, name)
                for name in (
                    *("kind", "mass", "mass_low", "mass_high", "effective", "share"),
                    *("largest", "top_share", "zero"),
                )
            }
            for overlap in policy.overlaps
        ],
        "agreement": [asdict(pair) | {"agree": pair.agree} for pair in policy.agreements],
        "notes": list(policy.notes),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
