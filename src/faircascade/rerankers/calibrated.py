"""calibrated: each slate's groups in proportion to their merit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.errors import ParameterError
from faircascade.exploration import SlateRequest
from faircascade.numerics import ordered_sum
from faircascade.registry import register
from faircascade.rerankers.greedy import GreedyReranker
from faircascade.rerankers.recipients import ITEM, recipients_of
from faircascade.types import Floats, Ints


@dataclass(eq=False)
class _Given:
    groups: Ints
    """Groups of the candidates, a last one where an item is in fewer, (g, n, c)."""
    part: Floats
    """How much of a candidate counts for each of its groups, (n, c)."""
    wanted: Floats
    """Share of merit of each group, 0 for the last, (r + 1,)."""
    shown: Floats
    """Exposure of each group in the slate so far, (n, r + 1)."""


@register("calibrated")
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated(GreedyReranker):
    """Fills a slate to maximise (1 - weight) * sum of scores - weight * KL(p, q): Steck,
    "Calibrated Recommendations", RecSys 2018, whose greedy rule it is.

    p are the shares that groups have of all merit, where Steck takes those of a user's history. q
    are their shares of the slate's exposure, 1 / log2(1 + position), mixed with `smoothing` of p;
    an item in several groups counts in equal parts. Every slate is calibrated on its own.
    """

    keeps_scores: ClassVar[bool] = True

    by: str = ITEM
    """A group column of the items, such as `supplier`; `item` calibrates single items, of which
    slates can hold few."""
    smoothing: float = 0.01
    """Share of p in q, Steck's alpha, in (0, 1)."""

    def __post_init__(self) -> None:
        if not 0 < self.smoothing < 1:
            raise ParameterError("smoothing", "must be between 0 and 1", self.smoothing)
        GreedyReranker.__post_init__(self)

    @property
    def unserved(self) -> str:
        return "" if self.by == ITEM else "it goes by groups, which the service does not rank by"

    def start(self, request: SlateRequest, candidates: Ints) -> _Given:
        recipients = recipients_of(request.pool.items, self.by)
        r, sizes = len(recipients), np.diff(recipients.first)
        table = np.full((max(1, int(sizes.max())), len(sizes)), r)
        within = np.arange(len(recipients.items)) - recipients.first[recipients.items]
        table[within, recipients.items] = recipients.into
        return _Given(
            groups=table[:, candidates],
            part=1.0 / np.maximum(sizes, 1)[candidates],
            wanted=np.append(recipients.merit / recipients.merit.sum(), 0.0),
            shown=np.zeros((len(candidates), r + 1)),
        )

    def gains(self, state: _Given, position: int) -> Floats:
        every = np.arange(len(state.shown))[:, None]
        length = _discounts(position).sum()
        wanted, before = state.wanted[state.groups], state.shown[every, state.groups]  # (g, n, c)
        more = state.part * _discounts(position)[-1]
        there = wanted > 0
        rise = self._mixed(before + more, wanted, length) / self._mixed(
            before, np.where(there, wanted, 1.0), length
        )
        fewer = np.where(there, wanted * np.log(np.where(there, rise, 1.0)), 0.0)
        return ordered_sum(fewer)

    def _mixed(self, shown: Floats, wanted: Floats, length: float) -> Floats:
        return np.asarray((1.0 - self.smoothing) * shown / length + self.smoothing * wanted)

    def add(self, state: _Given, position: int, chosen: Ints) -> None:
        every = np.arange(len(chosen))
        more = state.part[every, chosen] * _discounts(position)[-1]
        for groups in state.groups[:, every, chosen]:
            state.shown[every, groups] += more


def _discounts(length: int) -> Floats:
    return np.asarray(1.0 / np.log2(1.0 + np.arange(1, length + 1)))
