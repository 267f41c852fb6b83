"""exposure-charge: a controller that pays back items whose exposure lags their merit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.propensities import Propensities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.rerankers.base import Reranker, Shown
from faircascade.rerankers.ledger import Ledger, Scope, check_scope
from faircascade.types import Floats, Rows


@register("exposure-charge", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureCharge(Reranker):
    """Takes eta * (E_P / merit) / (its mean over items) from every score.

    E_P is the exposure given so far. While there is none, nothing is taken.
    """

    needs_all_scores: ClassVar[bool] = True

    eta: float = 0.001
    """What an item loses that has had its fair share, >= 0."""
    ledger: Scope = "user"
    """Whose exposure counts: `user`, each user's own, or `global`, that of all users."""

    def __post_init__(self) -> None:
        if not (self.eta >= 0 and math.isfinite(self.eta)):
            raise ParameterError("eta", "must be >= 0", self.eta)
        check_scope(self.ledger)

    def kernel(self) -> Mapping[str, Any]:
        return {"accounts": True, "eta": float(self.eta)}

    @property
    def scope(self) -> Scope:
        return self.ledger

    @property
    def is_random(self) -> bool:
        return False

    def adjust(self, request: SlateRequest, scores: Scores, ledger: Ledger | None) -> Scores:
        assert ledger is not None
        items = request.pool.items
        worth = ledger.worth(request.rows, items)  # (n or 1, m)
        total = worth.sum(axis=1)
        rate = self.eta * (len(items) / np.maximum(total, 1))
        charge = np.broadcast_to(rate[:, None] * worth[:, request.pool.rows], scores.rough.shape)

        def exact(rows: Rows, columns: Rows) -> Floats:
            return np.asarray(scores.exact(rows, columns) - charge[rows, columns])

        return scores.replaced(scores.rough - charge, 1.0, exact)

    def propensities(self, shown: Shown) -> Propensities | None:
        scores = self.adjust(shown.request, shown.scores, shown.ledger)
        return shown.chances(scores)
