"""p-mmf: max-min fairness of providers, by mirror descent on the dual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.registry import register
from faircascade.rerankers.ledger import UNIT, Ledger, Scope, Terms
from faircascade.rerankers.recipients import ITEM, Recipients
from faircascade.rerankers.shifts import Shift, ShiftingReranker, check_strength
from faircascade.strengths import StrengthRange
from faircascade.types import Floats, Items, Rows, Slates

SPENT = -10_000.0
"""Added to the score of an item whose providers have had all that they can get."""
_DUAL, _GRADIENT = "dual", "gradient"


@register("p-mmf", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class PMMF(ShiftingReranker):
    """Takes the dual price mu of its provider from every score: Xu, Chen, Xu, Shen, Zhang, Wang and
    Dong, "P-MMF: Provider Max-min Fairness Re-ranking in Recommender System", WWW 2023.

    After each round, with e the shares of appearances that providers had in it and rho those that
    they may have, (1 + 1 / providers) * their shares of the items:
    g = momentum * (rho - e) + (1 - momentum) * g, and mu - step * g / rho^2 is projected, in the
    norm of rho * mu, to where no set of providers has a sum of rho * mu below -strength. Slates
    are then ordered by score, as published. The projection has a closed form, where the authors'
    packages call a solver. They serve one user at a time, so that a round with one user is theirs;
    of several, `e` is the mean.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("step", 1e-14, 1.0)

    strength: float = 0.1
    """How much the worst-off provider counts against the scores of slates, lambda, >= 0."""
    step: float = 0.001
    """Step size eta, >= 0; the authors divide 0.001 by the root of the slates to come."""
    momentum: float = 0.1
    """Share of the newest gradient in the step, in (0, 1]; 1 uses it alone."""
    by: str = ITEM
    """Who is a provider: `item`, or a group column of the items, such as `supplier`."""
    merit: bool = False
    """Whether rho goes by shares of merit; else by those of the items."""
    horizon: int | None = None
    """Slates to come, if known: a provider that had rho of their places gets no more, where others
    have items left."""

    def __post_init__(self) -> None:
        check_strength("strength", self.strength)
        check_strength("step", self.step)
        if not 0 < self.momentum <= 1:
            raise ParameterError("momentum", "must be in (0, 1]", self.momentum)
        if self.horizon is not None and self.horizon < 1:
            raise ParameterError("horizon", "must be at least 1", self.horizon)

    @property
    def scope(self) -> Scope:
        return "global"

    @property
    def unserved(self) -> str:
        return "the prices of providers depend on the order of slates, so they are no sum"

    def kernel(self) -> Mapping[str, Any]:
        return {"shifts": True, "by_score": True}

    @property
    def terms(self) -> Terms:
        return Terms(scope="global", by=self.by, discounted=False)

    def shares(self, recipients: Recipients) -> Floats:
        """Return what each provider may have of the appearances, rho, (r,)."""
        items = np.bincount(recipients.into, minlength=len(recipients)).astype(np.float64)
        wanted = recipients.merit if self.merit else items
        return np.asarray((1.0 + 1.0 / len(wanted)) * wanted / wanted.sum())

    def shift(self, ledger: Ledger, rows: Rows, items: Items, k: int) -> Shift:
        recipients = ledger.recipients(items)
        added = -recipients.summed(ledger.recall(_DUAL, items))  # (m,)
        if self.horizon is not None:
            most = self.horizon * k * self.shares(recipients)
            left = (most > ledger.exposure(rows, items)[0]).astype(np.float64)
            added = added + np.where(recipients.summed(left) > 0, 0.0, SPENT)
        return Shift(added[None])

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        assert ledger is not None
        added = self.shift(ledger, request.rows, request.pool.items, request.k).added[0]
        order = np.argsort(added[slates.items] - slates.scores, axis=1, kind="stable")
        return Slates(
            items=np.take_along_axis(slates.items, order, axis=1),
            scores=np.take_along_axis(slates.scores, order, axis=1),
        )

    def settle(self, ledgers: Sequence[Ledger]) -> None:
        shown = Ledger.settle(ledgers) * UNIT
        recipients = next((ledger.latest for ledger in ledgers if ledger.latest is not None), None)
        if recipients is None or not shown.any():
            return
        rho, nothing = self.shares(recipients), np.zeros(len(shown))
        mu, before = (ledgers[0].memory.get(name, nothing) for name in (_DUAL, _GRADIENT))
        gradient = self.momentum * (rho - shown / shown.sum()) + (1.0 - self.momentum) * before
        mu = project(rho * (mu - self.step * gradient / rho**2), self.strength) / rho
        for ledger in ledgers:
            ledger.memory = {_DUAL: mu.copy(), _GRADIENT: gradient.copy()}


def project(y: Floats, largest: float) -> Floats:
    """Return the nearest point whose negative parts add up to at most `largest`."""
    debts = np.maximum(-y, 0.0)
    if debts.sum() <= largest:
        return y
    if largest == 0.0:
        return np.maximum(y, 0.0)
    falling = np.sort(debts)[::-1]
    over = (np.cumsum(falling) - largest) / np.arange(1, len(y) + 1)
    cut = over[np.flatnonzero(falling > over)[-1]]
    return np.asarray(np.where(y < 0, -np.maximum(debts - cut, 0.0), y))
