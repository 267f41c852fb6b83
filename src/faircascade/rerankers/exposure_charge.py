"""exposure-charge: a controller that pays back items whose exposure lags their merit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.registry import register
from faircascade.rerankers.base import Reranker
from faircascade.rerankers.ledger import Ledger, Scope, check_scope
from faircascade.rerankers.shifts import Shift, ShiftingReranker
from faircascade.strengths import StrengthRange
from faircascade.types import Items, Rows


@register("exposure-charge", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureCharge(ShiftingReranker):
    """Takes eta * (E_P / merit) / (its mean over items) from every score.

    E_P is the exposure given so far. While there is none, nothing is taken.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("eta", 1e-8, 1.0)

    eta: float = 0.001
    """What an item loses that has had its fair share, >= 0."""
    ledger: Scope = "user"
    """Whose exposure counts: `user`, each user's own, or `global`, that of all users."""

    def __post_init__(self) -> None:
        if not (self.eta >= 0 and math.isfinite(self.eta)):
            raise ParameterError("eta", "must be >= 0", self.eta)
        check_scope(self.ledger)

    def runs_in(self, engine: str) -> bool:
        return Reranker.runs_in(self, engine)

    def kernel(self) -> Mapping[str, Any]:
        if self.scope == "global":
            return {"shifts": True}
        return {"accounts": True, "eta": float(self.eta)}

    @property
    def scope(self) -> Scope:
        return self.ledger

    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        worth = ledger.worth(rows, items)  # (n or 1, m)
        total = worth.sum(axis=1)
        rate = self.eta * (len(items) / np.maximum(total, 1))
        return Shift(-(rate[:, None] * worth))
