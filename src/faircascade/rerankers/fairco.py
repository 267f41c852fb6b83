"""fairco: the controller of Morik et al., which lifts what lags behind its merit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.registry import register
from faircascade.rerankers.ledger import UNIT, Ledger
from faircascade.rerankers.shifts import AccountShift, Shift, check_strength
from faircascade.strengths import StrengthRange
from faircascade.types import Items, Rows


@register("fairco", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class FairCo(AccountShift):
    """Adds strength * (largest E / merit of any group - E / merit of the item's group) to a score.
    Morik, Singh, Hong and Joachims, "Controlling Fairness and Bias in Dynamic Learning-to-Rank",
    SIGIR 2020.

    E is summed over slates, so that the gap in mean exposure is multiplied by time as in the
    article: the error of a proportional controller. Two things differ. Merit is given, where the
    article estimates it from clicks; it is divided by the largest, so that its scale does not
    matter. And users of a round are served at once, all by what was shown before it.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("strength", 1e-9, 1.0)

    strength: float = 0.01
    """How much the gap counts, lambda, >= 0; the authors' package has 0.01."""

    def __post_init__(self) -> None:
        check_strength("strength", self.strength)
        AccountShift.__post_init__(self)

    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        worth = ledger.worth(rows, items)  # (n or 1, r)
        gap = worth.max(axis=1, keepdims=True) - worth
        return Shift(self.strength * ledger.recipients(items).mean(gap * UNIT))
