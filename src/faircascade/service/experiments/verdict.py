"""What a difference between two arms means, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from faircascade.service.experiments.sequential import ConfidenceSequence, Estimate, Interval

Answer = Literal["more", "less", "same", "open"]
"""`same`: no difference that matters. `open`: not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How to call a difference upwards and downwards."""

    more: str
    less: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is known of a difference at a look."""

    answer: Answer
    text: str
    slates_left: int | None = None
    """How many more slates would settle it, if the difference stays as it is; None if settled or
    not known."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"answer": self.answer, "text": self.text, "slates_left": self.slates_left}


def verdict(
    difference: Estimate,
    sequence: ConfidenceSequence,
    control: float,
    *,
    relevant: float,
    slates: int,
    wording: Wording,
) -> Verdict:
    """Say what is known of a difference from a control's value after `slates` of both arms.

    Differences up to `relevant`, as a share of the control's value, do not matter.
    """
    interval = sequence.interval(difference)
    if interval is None:
        return Verdict(answer="open", text="keep running: too few users to tell anything yet")
    if interval.low > 0 or interval.high < 0:
        up = interval.low > 0
        words = wording.more if up else wording.less
        return Verdict(
            answer="more" if up else "less",
            text=f"{words}: {_change(difference.value, interval, control)}",
        )
    if control <= 0:
        return Verdict(answer="open", text="keep running: the control has none to compare with")
    largest = max(-interval.low, interval.high) / control
    bound = f"no difference larger than {_percent(largest)} so far"
    if largest <= relevant:
        return Verdict(answer="same", text=bound)
    size = abs(difference.value)
    growth = sequence.growth(difference, max(size, relevant * control - size))
    if growth is None:
        return Verdict(answer="open", text=f"{bound}; keep running")
    left = _rounded((growth - 1.0) * slates)
    text = f"{bound}; keep running: about {left:,} more slates"
    return Verdict(answer="open", text=text, slates_left=left)


def _change(value: float, interval: Interval, control: float) -> str:
    if control <= 0:
        return f"{value:+.3g} ({interval.low:+.3g} to {interval.high:+.3g})"
    ends = (_percent(end / control, "+") for end in (value, interval.low, interval.high))
    return "{} ({} to {})".format(*ends)


def _percent(share: float, sign: str = "") -> str:
    """Return a share in percent, with two digits that mean something.

    >>> _percent(0.0312), _percent(0.236), _percent(1.27, "+")
    ('3.1%', '24%', '+127%')
    """
    digits = 1 if abs(share) < 0.0995 else 0
    return f"{100 * share:{sign}.{digits}f}%"


def _rounded(count: float) -> int:
    """Return a number of slates with two digits that mean something, at least 1.

    >>> _rounded(12_345.0), _rounded(0.2)
    (12000, 1)
    """
    return max(int(float(f"{count:.2g}")), 1)
