"""The contract of a click model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.random import Words, uniforms
from faircascade.ranking import Scores, top_k
from faircascade.registry import Component
from faircascade.types import Bools, Floats, Ints, Pool


@dataclass(frozen=True, kw_only=True, eq=False)
class ClickDraws:
    """Uniform draws for the slates of one round, each the same whoever asks and however often."""

    seed: int
    round: int
    users: Words
    """Keys of the users, (n,)."""
    items: Words
    """Keys of the items that they see, (n, K)."""

    def by_item(self, purpose: str) -> Floats:
        """Return draws that belong to (user, round, item), wherever the item stands, (n, K)."""
        return uniforms(self.seed, purpose, self.users[:, None], [[self.round]], self.items)

    def by_position(self, purpose: str) -> Floats:
        """Return draws that belong to (user, round, position), whatever stands there, (n, K)."""
        positions = np.arange(1, self.items.shape[1] + 1)[None]
        return uniforms(self.seed, purpose, self.users[:, None], [[self.round]], positions)


class ClickModel(Component):
    """How a user goes through a slate and what they click."""

    kind: ClassVar[str] = "click_model"

    value_is_clicks: ClassVar[bool] = True
    """True if the value of a slate is its expected number of clicks."""
    best_is_optimal: ClassVar[bool] = True
    """False if `best` returns slates that are good rather than the best there are."""

    def check(self, k: int, items: int) -> None:
        """Refuse parameters that do not fit slates of length k or a catalogue of so many items."""
        return

    @abstractmethod
    def click(self, attraction: Floats, slates: Ints, draws: ClickDraws) -> Bools:
        """Return which positions are clicked, (n, K).

        `attraction` is that of each position, in [0, 1], (n, K); `slates` are catalogue rows,
        (n, K), for models in which items have parameters of their own.
        """

    @abstractmethod
    def value(self, attraction: Floats, slates: Ints) -> Floats:
        """Return what slates are worth, (n,): what regret is measured in."""

    def best(self, attraction: Scores, k: int, pool: Pool) -> Ints:
        """Return the slates of the greatest value, catalogue rows (n, k).

        Unless a model says otherwise these are the most attractive items, best first; among
        equals the smaller key comes first.
        """
        return top_k(attraction, k, pool, lambda _rows, columns: pool.keys[columns]).items


def put_best_first(slates: Ints, weights: Floats) -> Ints:
    """Return slates with the best item where the weight is largest, and so on, (n, k).

    `slates` (n, k) are in order, the best first; `weights` (k,) are those of positions.
    """
    arranged = np.empty_like(slates)
    arranged[:, np.argsort(-weights, kind="stable")] = slates
    return arranged
