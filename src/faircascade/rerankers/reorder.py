"""reorder: the slate as it is, those first whose exposure lags their merit most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.exploration import SlateRequest
from faircascade.registry import register
from faircascade.rerankers.base import Reranker
from faircascade.rerankers.ledger import Ledger, Scope, check_scope
from faircascade.types import Slates


@register("reorder", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder(Reranker):
    """Keeps the chosen items and orders them by rising E_P / merit; equal ones stay in order."""

    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True

    ledger: Scope = "user"
    """Whose exposure counts: `user`, each user's own, or `global`, that of all users."""

    def __post_init__(self) -> None:
        check_scope(self.ledger)

    def kernel(self) -> Mapping[str, Any]:
        return {"accounts": True, "reorders": True}

    @property
    def scope(self) -> Scope:
        return self.ledger

    @property
    def is_random(self) -> bool:
        return False

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        assert ledger is not None
        worth = ledger.worth(request.rows, request.pool.items)
        worth = np.broadcast_to(worth, (len(slates.items), worth.shape[1]))
        listed = np.take_along_axis(worth, slates.items, axis=1)  # (n, K)
        order = np.argsort(listed, axis=1, kind="stable")
        return Slates(
            items=np.take_along_axis(slates.items, order, axis=1),
            scores=np.take_along_axis(slates.scores, order, axis=1),
        )
