"""Re-rankers that move the score of an item by what an account says, whoever looks at it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.propensities import Propensities
from faircascade.ranking import Scores
from faircascade.registry.component import engines_of
from faircascade.rerankers.base import Reranker, Shown
from faircascade.rerankers.ledger import Ledger, Scope, Terms, check_scope
from faircascade.rerankers.recipients import ITEM
from faircascade.types import Floats, Items, Rows


@dataclass(frozen=True, eq=False)
class Shift:
    """What becomes of scores: `kept` times the score, plus `added`."""

    added: Floats
    """One row for each account, (n or 1, m)."""
    kept: Floats | None = None
    """1 or 0, (n or 1, m); None where all are 1."""

    def among(self, columns: Rows, users: int) -> tuple[Floats, Floats]:
        """Return what is kept and added for some of the items and all users, (n, p) each."""
        added = self.added[:, columns]
        kept = np.ones_like(added) if self.kept is None else self.kept[:, columns]
        shape = (users, added.shape[1])
        return np.broadcast_to(kept, shape), np.broadcast_to(added, shape)


class ShiftingReranker(Reranker):
    """Moves scores by a `shift` that depends on the account alone, not on the scores.

    With one account for all users the shift is the same for everybody in a round. That is all that
    the compiled engine needs to know of it: what a class computes here is used there as it is.
    """

    needs_all_scores: ClassVar[bool] = True

    @property
    def is_random(self) -> bool:
        return False

    def runs_in(self, engine: str) -> bool:
        return engine in engines_of(self) and self.scope == "global"

    def kernel(self) -> Mapping[str, Any]:
        return {"shifts": True}

    @abstractmethod
    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        """Return the shift of every item for some users, or for all of them."""

    def adjust(self, request: SlateRequest, scores: Scores, ledger: Ledger | None) -> Scores:
        assert ledger is not None
        pool = request.pool
        shift = self.shift(ledger, request.rows, pool.items, request.k)
        kept, added = shift.among(pool.rows, len(scores.rough))

        def exact(rows: Rows, columns: Rows) -> Floats:
            score = scores.exact(rows, columns)
            return np.asarray(score * kept[rows, columns] + added[rows, columns])

        return scores.replaced(scores.rough * kept + added, 1.0, exact)

    def propensities(self, shown: Shown) -> Propensities | None:
        scores = self.adjust(shown.request, shown.scores, shown.ledger)
        return shown.chances(scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountShift(ShiftingReranker):
    """One with the usual choices: whose account, of whom, and for how long."""

    ledger: Scope = "global"
    """Whose exposure counts: that of all users (`global`), as published, or each user's own
    (`user`), which keeps users independent and runs in the engine `loop` alone."""
    by: str = ITEM
    """Whom exposure is credited to: `item`, or a group column of the items, such as `supplier`. An
    item in several groups counts in each."""
    half_life: float | None = None
    """Rounds after which exposure counts half, > 0; by default it counts for ever. The service
    does not serve accounts that forget."""

    def __post_init__(self) -> None:
        check_scope(self.ledger)
        _ = self.terms  # a wrong parameter is an error now

    @property
    def scope(self) -> Scope:
        return self.ledger

    @property
    def terms(self) -> Terms:
        return Terms(scope=self.ledger, by=self.by, half_life=self.half_life)


def check_strength(name: str, value: float) -> None:
    """Refuse a factor that is negative or not finite."""
    if not (value >= 0 and math.isfinite(value)):
        raise ParameterError(name, "must be >= 0", value)
