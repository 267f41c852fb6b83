"""The contract of a re-ranker: it may change the scores, the order of the list, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.exploration import Request
from faircascade.ranking import Scores
from faircascade.registry import Component, register
from faircascade.rerankers.ledger import Ledger, Scope
from faircascade.types import Lists


class Reranker(Component):
    """Stands between an exploration and the users; feedback trains on what it let through."""

    kind: ClassVar[str] = "reranker"

    @property
    def scope(self) -> Scope | None:
        """Whose exposure it keeps account of: each user's, everybody's together, or none."""
        return None

    def adjust(self, request: Request, scores: Scores, ledger: Ledger | None) -> Scores:
        """Return the scores that the list is chosen by, of every item in the pool."""
        return scores

    def arrange(self, request: Request, lists: Lists, ledger: Ledger | None) -> Lists:
        """Return the chosen items in the order in which they are shown."""
        return lists


@register("identity")
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Reranker):
    """Changes nothing."""
