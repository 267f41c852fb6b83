"""What an evaluation comes to, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from faircascade.evaluation.overlap import Overlap

Answer = Literal["enough", "not enough", "cannot"]
LEAST_EFFECTIVE = 200
"""Effective impressions below which an interval is not trusted."""
LEAST_MASS = 0.9
"""Share of what a policy would show that the log must be able to show."""
MOST_MASS = 1.1
"""Mean weight above which, beyond chance, probabilities are wrong: right ones make it 1 at most."""
MOST_TOP_SHARE = 0.35
"""Share of weight in the heaviest 1% of impressions above which an interval is not trusted."""


@dataclass(frozen=True)
class Verdict:
    """Whether there is enough evidence, and for what."""

    answer: Answer
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a verdict is made of."""

    title: str
    """Of the estimator."""
    value: float
    low: float
    high: float
    logged: float
    """Clicks per slate of the log, on the same impressions."""
    difference_low: float
    difference_high: float
    precision: float
    """Half-width of the interval against the log, as a share of its clicks, that is enough."""
    overlap: Overlap | None
    """None for estimators without weights."""
    model_based: bool
    weighted: bool
    """Whether there are weights, of this estimator or of others."""
    random_log: bool
    """Whether the policy that made the log drew its slates, as far as the log says."""


def decide(found: Evidence) -> Verdict:
    """Return the verdict on one policy."""
    if found.model_based:
        return Verdict("cannot", _only_a_model(found))
    impossible = _no_overlap(found)
    if impossible is not None:
        return impossible
    if not found.logged:
        return Verdict("not enough", "Not enough: nothing in the log was clicked.")
    scarce = _too_few(found.overlap)
    if scarce is not None:
        return scarce
    if math.isnan(found.low):
        words = (
            "Not enough: too few users for an interval (20 will do), or too few slates that are as "
            "long as the longest."
        )
        return Verdict("not enough", words)
    half = (found.difference_high - found.difference_low) / 2
    share = half / found.logged
    if share > found.precision:
        return Verdict("not enough", _not_enough(found, (share / found.precision) ** 2))
    return Verdict("enough", f"Enough evidence: {_against_log(found)}.")


def _no_overlap(found: Evidence) -> Verdict | None:
    """Return the verdict if weights say that no log of this kind will do."""
    overlap = found.overlap
    if overlap is None:
        return None
    seen = f"{100 * min(overlap.mass, 1.0):.0f}%"
    if overlap.mass_high < LEAST_MASS or overlap.mass == 0:
        if not found.random_log:
            return Verdict("cannot", NO_RANDOMNESS)
        words = (
            f"This log cannot answer: only about {seen} of what the policy would show came up in "
            "the log. What is missing was never shown, or so rarely that this log is far too "
            "small; log a little randomisation."
        )
        return Verdict("cannot", words)
    if overlap.mass_low > MOST_MASS:
        return Verdict("cannot", _wrong_chances(overlap))
    return None


def _too_few(overlap: Overlap | None) -> Verdict | None:
    """Return the verdict if too few impressions decide."""
    if overlap is None:
        return None
    if overlap.effective < LEAST_EFFECTIVE:
        times = LEAST_EFFECTIVE / max(overlap.effective, 0.5)
        one = f"{overlap.effective:.0f}"
        words = (
            f"Not enough: the log says as much as {one} impression{'s' * (one != '1')} of the "
            f"policy itself. {_times(times)} are needed for {LEAST_EFFECTIVE}, the least for an "
            "interval."
        )
        return Verdict("not enough", words)
    if overlap.top_share > MOST_TOP_SHARE:
        words = (
            f"Not enough: 1% of the impressions have {100 * overlap.top_share:.0f}% of the "
            "weight, so that the interval cannot be trusted."
        )
        return Verdict("not enough", words)
    return None


NO_OVERLAP = (
    "This log cannot answer: nothing of what the policy would show came up in the log, or no "
    "estimator has the probabilities that it needs; log a little randomisation."
)
NO_RANDOMNESS = (
    "This log cannot answer: the logging policy never shows what the new one would (a "
    "deterministic log, no overlap); log a little randomisation."
)


NO_PROPENSITIES = (
    "This log cannot answer: it has no propensities, the probabilities with which its policy "
    "showed what it did. Log them, and a little randomisation."
)


def _wrong_chances(overlap: Overlap) -> str:
    mass, low, high = (100 * e for e in (overlap.mass, overlap.mass_low, overlap.mass_high))
    return (
        f"This log cannot answer: the mean weight is {mass:.0f}% [{low:.0f}%, {high:.0f}%], and "
        "right probabilities cannot make it more than 100%. Those of the log are too small, or "
        "those of the policy too large."
    )


def _only_a_model(found: Evidence) -> str:
    why = (
        f"This log cannot answer with {found.title} alone, which is a model of clicks; ask for an "
        "estimator with weights, too."
        if found.weighted
        else "This log cannot answer without a model of clicks, as it has no propensities that fit "
        "the policy."
    )
    around = "" if math.isnan(found.low) else f" [{found.low:.4g}, {found.high:.4g}]"
    return (
        f"{why} If the model is right ({found.title}), the policy has {found.value:.4g} "
        f"clicks per slate{around}, the log {found.logged:.4g}; the "
        "interval leaves out the error of the model."
    )


def _against_log(found: Evidence) -> str:
    low, high = (100 * end / found.logged for end in (found.difference_low, found.difference_high))
    clicks = f"{found.value:.4g} clicks per slate [{found.low:.4g}, {found.high:.4g}]"
    change = f"{low:+.1f}% to {high:+.1f}%".replace("-", "−")
    if low > 0:
        return f"{clicks}, better than the log's {found.logged:.4g} ({change})"
    if high < 0:
        return f"{clicks}, worse than the log's {found.logged:.4g} ({change})"
    most = max(abs(low), abs(high))
    return f"{clicks}, no difference from the log's {found.logged:.4g} larger than {most:.1f}%"


def _not_enough(found: Evidence, times: float) -> str:
    words = (
        f"Not enough: {_times(times).lower()} are needed for an interval of "
        f"±{100 * found.precision:g}% of the log's clicks."
    )
    if found.difference_low > 0:
        return f"{words} What there is points to more clicks than the log has."
    if found.difference_high < 0:
        return f"{words} What there is points to fewer clicks than the log has."
    return words


def _times(times: float) -> str:
    shown = f"{math.ceil(10 * times) / 10:.1f}" if times < 10 else f"{math.ceil(times):,}"
    return f"About {shown} times as many impressions"
