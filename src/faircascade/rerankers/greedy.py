"""Re-rankers that fill a slate from a shortlist, the best next item given those above."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.rerankers.base import Reranker
from faircascade.rerankers.ledger import Ledger
from faircascade.strengths import StrengthRange
from faircascade.types import Floats, Ints, Slates


@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyReranker(Reranker):
    """Takes (1 - weight) * score + weight * gain of the items left, the largest sum first.

    Of equal sums the item comes first that was ranked higher. Items keep their scores.
    """

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("weight", 1e-5, 0.999)

    weight: float = 0.5
    """How much the gain counts against the score, lambda, in [0, 1]; 0 changes nothing."""
    shortlist: int = 100
    """How many of the best items a slate is made of, >= 1; as many as it has at least."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ParameterError("weight", "must be between 0 and 1", self.weight)
        if self.shortlist < 1:
            raise ParameterError("shortlist", "must be at least 1", self.shortlist)

    @property
    def is_random(self) -> bool:
        return False

    def considers(self, k: int, items: int) -> int:
        return min(max(self.shortlist, k), items)

    @abstractmethod
    def start(self, request: SlateRequest, candidates: Ints) -> Any:
        """Return what is known of candidates, catalogue rows (n, c), and of empty slates."""

    @abstractmethod
    def gains(self, state: Any, position: int) -> Floats:
        """Return what each candidate adds at a position, from 1, (n, c)."""

    @abstractmethod
    def add(self, state: Any, position: int, chosen: Ints) -> None:
        """Take in the column of the candidate that each slate gets at a position, (n,)."""

    def arrange(self, request: SlateRequest, slates: Slates, ledger: Ledger | None) -> Slates:
        n = len(slates.items)
        state, every = self.start(request, slates.items), np.arange(n)
        places = np.empty((n, request.k), dtype=np.int64)
        left = np.ones(slates.items.shape, dtype=bool)
        for position in range(1, request.k + 1):
            gains = self.gains(state, position)
            sums = (1.0 - self.weight) * slates.scores + self.weight * gains
            chosen = np.where(left, sums, -np.inf).argmax(axis=1)
            places[:, position - 1] = chosen
            left[every, chosen] = False
            self.add(state, position, chosen)
        return Slates(
            items=np.take_along_axis(slates.items, places, axis=1),
            scores=np.take_along_axis(slates.scores, places, axis=1),
        )
