"""The order that beliefs have, shuffled where they have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.exploration.base import Exploration, SlateRequest
from faircascade.propensities import Propensities
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Ints


@register("shuffled-blocks", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledBlocks(Exploration):
    """Block after block, the items of each in random order: the draws that decide ties do it."""

    asks: ClassVar[frozenset[str]] = frozenset({"order"})
    needs_all_scores: ClassVar[bool] = True

    def scores(self, request: SlateRequest) -> Scores:
        return Scores.final(-request.beliefs.order().astype(np.float64))

    def propensities(
        self, request: SlateRequest, scores: Scores, slates: Ints
    ) -> Propensities | None:
        """Return the chances of a shuffle: at each position, the items left of its block."""
        level = scores.all()  # (n, p)
        columns = np.searchsorted(request.pool.rows, slates)
        shown = np.take_along_axis(level, columns, axis=1)  # (n, K)
        positions = np.arange(slates.shape[1])
        same = shown[:, :, None] == level[:, None, :]  # (n, K, p)
        size = same.sum(axis=2)
        first = (level[:, None, :] > shown[:, :, None]).sum(axis=2)  # where its block begins
        inside = (first <= positions) & (positions < first + size)
        left = np.maximum(size - (positions - first), 1)
        chances = np.where(inside, 1.0 / left, 0.0)
        return Propensities.of_choices(chances, np.where(inside, 1.0 / size, 0.0))
