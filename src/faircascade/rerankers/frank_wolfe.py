"""frank-wolfe: slates that climb the gradient of a concave welfare, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from faircascade.registry import as_component, register
from faircascade.rerankers.ledger import UNIT, Ledger
from faircascade.rerankers.shifts import AccountShift, Shift, check_strength
from faircascade.rerankers.welfare import AlphaFair, Welfare
from faircascade.strengths import StrengthRange
from faircascade.types import Items, Rows


@register("frank-wolfe", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class FrankWolfe(AccountShift):
    """Adds strength * (gradient of the welfare at the exposures so far) to every score: Usunier, Do
    and Dohmatob, "Fast Online Ranking with Fairness of Exposure", FAccT 2022; with the exploration
    `ucb` it is FW-LinUCBRank of Do, Dohmatob, Pirotta, Lazaric and Usunier, "Contextual Bandits
    with Concave Rewards, and an Application to Fair Ranking", ICLR 2023.

    A slate by falling sums is the best step of Frank-Wolfe for clicks + strength * exposure *
    welfare(z), with positions worth 1 / log2(1 + position), where z is what each item or group
    has had, divided by an equal share, or by its share of merit. Means over slates so far make the
    steps 1 / t. Users of a round take the same step.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("strength", 1e-9, 1.0)

    strength: float = 0.1
    """How much welfare counts against clicks, >= 0."""
    welfare: Welfare = field(default_factory=AlphaFair)
    """What is maximised: `alpha-fair` or `gini`; a name will do."""
    merit: bool = False
    """Whether a fair share is in proportion to merit; else all are equal."""

    def __post_init__(self) -> None:
        check_strength("strength", self.strength)
        object.__setattr__(self, "welfare", as_component("welfare", self.welfare))
        AccountShift.__post_init__(self)

    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        recipients = ledger.recipients(items)
        shown = ledger.exposure(rows, items)  # (n or 1, r)
        there = recipients.reachable
        fair = recipients.merit[there] if self.merit else np.ones(np.count_nonzero(there))
        fair = fair / fair.sum()
        length = float(ledger.terms.gained(k).sum()) * UNIT
        gradient = np.zeros(shown.shape)
        for row, exposure in enumerate(shown):
            total = float(exposure.sum())
            if total > 0.0:  # before that all are alike
                z = exposure[there] / (total * fair)
                gradient[row, there] = self.welfare.gradient(z, fair, total / length)
        return Shift(self.strength * recipients.summed(gradient))
