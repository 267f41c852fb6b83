"""min-share: every item, or group, is shown at least a share of what an equal division gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.registry import register
from faircascade.rerankers.ledger import Ledger, Terms
from faircascade.rerankers.shifts import AccountShift, Shift
from faircascade.strengths import StrengthRange
from faircascade.types import Floats, Items, Rows

FIRST = 2.0**20
"""Score of an item that is owed something: above all scores that are learned."""


@register("min-share", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class MinShare(AccountShift):
    """Shows what is owed more than `tolerance` appearances first, that which is owed most at the
    top, and fills up by score. Patil, Ghalme, Nair and Narahari, "Achieving Fairness in the
    Stochastic Multi-Armed Bandit Problem", AAAI 2020 (JMLR 2021).

    With slates of one item it is theirs: owed is (its share) * (slates so far) - (times shown). For
    longer slates as many as have room come in, and appearances count the same at every position.
    Their shares may differ by arm; here each item that can be recommended gets the same. With one
    account for all, users who come in the same round are shown the same: a guarantee over all then
    holds up to a round's worth of slates.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("share", 1e-4, 0.99)

    share: float = 0.5
    """Guaranteed part of an equal division, in [0, 1): at least share * slates * K / items."""
    tolerance: float = 0.0
    """Appearances that an item may lag behind, alpha, >= 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise ParameterError("share", "must be at least 0 and below 1", self.share)
        if not self.tolerance >= 0:
            raise ParameterError("tolerance", "must be >= 0", self.tolerance)
        AccountShift.__post_init__(self)

    @property
    def terms(self) -> Terms:
        common = {"scope": self.ledger, "by": self.by, "half_life": self.half_life}
        return Terms(**common, discounted=False)  # type: ignore[arg-type]

    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        recipients = ledger.recipients(items)
        owed = self.owed(ledger, rows, items)
        late = np.asarray(recipients.mean(np.where(owed > self.tolerance, owed, 0.0)))  # (.., m)
        first = late > 0
        return Shift(
            added=np.where(first, FIRST * (1.0 + late / (1.0 + late)), 0.0),
            kept=np.where(first, 0.0, 1.0),
        )

    def owed(self, ledger: Ledger, rows: Rows, items: Items) -> Floats:
        """Return how many appearances each recipient lags behind its share, (n or 1, r)."""
        shown = ledger.exposure(rows, items)
        reachable = ledger.recipients(items).reachable
        due = self.share * shown.sum(axis=1, keepdims=True) / max(1, np.count_nonzero(reachable))
        return np.where(reachable, due - shown, 0.0)
