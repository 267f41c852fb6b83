"""discount: the exploration bonus of an item shrinks with the exposure that it has had."""

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
from faircascade.rerankers.ledger import Ledger, Scope
from faircascade.types import Floats, Rows


@register("discount", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Discount(Reranker):
    """Takes alpha * (E_P / (t + 1)) * width from every score: Mansoury et al., "Unbiased Cascade
    Bandits", 2021.

    With `ucb` of the same alpha the bonus is alpha * (1 - E_P / (t + 1)) * width. E_P counts
    1 / log2(1 + position) for an appearance before this user, so no bonus becomes negative. (The
    authors' package divides by the natural logarithm, with which it can.)
    """

    asks: ClassVar[frozenset[str]] = frozenset({"width"})
    needs_all_scores: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True

    alpha: float = 0.25
    """The width of the bonus that is discounted, >= 0: that of the exploration."""

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and math.isfinite(self.alpha)):
            raise ParameterError("alpha", "must be >= 0", self.alpha)

    def kernel(self) -> Mapping[str, Any]:
        return {"accounts": True, "discount": float(self.alpha)}

    @property
    def scope(self) -> Scope:
        return "user"

    @property
    def is_random(self) -> bool:
        return False

    def adjust(self, request: SlateRequest, scores: Scores, ledger: Ledger | None) -> Scores:
        assert ledger is not None
        width = request.beliefs.width()
        exposure = ledger.exposure(request.rows, request.pool.items)[:, request.pool.rows]
        rounds = np.broadcast_to(np.asarray(request.round), len(scores.rough))[:, None] + 1.0
        taken = self.alpha * exposure / rounds  # (n, p)

        def exact(rows: Rows, columns: Rows) -> Floats:
            lost = taken[rows, columns] * width.exact(rows, columns)
            return np.asarray(scores.exact(rows, columns) - lost)

        error = scores.error + self.alpha * width.error
        return Scores(scores.rough - taken * width.rough, error, exact)

    def propensities(self, shown: Shown) -> Propensities | None:
        scores = self.adjust(shown.request, shown.scores, shown.ledger)
        return shown.chances(scores)
