"""The contract of a re-ranker: it may change the scores, the order of the slate, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from faircascade.exploration import Exploration, SlateRequest
from faircascade.propensities import Propensities, knows_chances
from faircascade.ranking import Scores
from faircascade.registry import Component, register
from faircascade.rerankers.ledger import Ledger, Scope, Terms
from faircascade.types import Ints, Slates


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """Slates that users saw, and where they came from."""

    request: SlateRequest
    exploration: Exploration
    slates: Ints
    """Catalogue rows, (n, K)."""
    ledger: Ledger | None
    """The account as it was before."""

    @cached_property
    def scores(self) -> Scores:
        """The exploration's scores, which no re-ranker has changed."""
        return self.exploration.scores(self.request)

    def chances(self, scores: Scores) -> Propensities | None:
        """Return how likely the exploration was to give these slates by some scores."""
        if not knows_chances(self.exploration):
            return None
        return self.exploration.propensities(self.request, scores, self.slates)


class Reranker(Component):
    """Stands between an exploration and the users; feedback trains on what it let through."""

    kind: ClassVar[str] = "reranker"

    asks: ClassVar[frozenset[str]] = frozenset()
    """The beliefs that it needs: see `Exploration.asks`."""
    needs_all_scores: ClassVar[bool] = False
    """True if it may lift any item of the pool into a slate, whatever its score."""
    needs_topics: ClassVar[bool] = False
    """True if it goes by the topics of items, so that they must have some."""
    needs_fixed_ranking: ClassVar[bool] = False
    """True if it refuses explorations that leave something to chance."""

    itemwise: ClassVar[bool] = False
    """True if what it makes of a score depends on that item alone, and what it arranges on nothing
    but the items that it considers and the largest merit. Not inherited."""
    keeps_scores: ClassVar[bool] = False
    """True if it leaves scores as they are, and only arranges. Not inherited."""

    @property
    def scope(self) -> Scope | None:
        """Whose exposure it keeps account of: each user's, everybody's together, or none."""
        return None

    @property
    def terms(self) -> Terms | None:
        """What its account is about, if it keeps any."""
        return None if self.scope is None else Terms(scope=self.scope)

    @property
    def unserved(self) -> str:
        """Why the service, which keeps sums of exposure by item, cannot serve it; nothing if it
        can."""
        return "" if self.terms is None else self.terms.unserved

    def settle(self, ledgers: Sequence[Ledger]) -> None:
        """End a round of an account that all users have together, given in parts."""
        Ledger.settle(ledgers)

    def adjust(self, request: SlateRequest, scores: Scores, ledger: Ledger | None) -> Scores:
        """Return the scores that the slate is chosen by, of every item in the pool."""
        return scores

    def considers(self, k: int, items: int) -> int:
        """Return how many of the best items `arrange` is given for slates of length k, at most all
        of the pool."""
        return k

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        """Return k of the items that it considers, in the order in which they are shown."""
        return slates

    @property
    def is_random(self) -> bool:
        """Whether chance has a say in what it does; it has unless a class denies it."""
        return True

    def propensities(self, shown: Shown) -> Propensities | None:
        """Return how likely the slates were that it let through; None if that is not known.

        Whether it is known is a matter of its parameters and the exploration's alone.
        """
        return None


@register("identity", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Reranker):
    """Changes nothing."""

    studied: ClassVar[bool] = True
    itemwise: ClassVar[bool] = True
    keeps_scores: ClassVar[bool] = True

    @property
    def is_random(self) -> bool:
        return False

    def propensities(self, shown: Shown) -> Propensities | None:
        return shown.chances(shown.scores)
