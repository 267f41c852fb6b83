"""The cascade model: scan from the top, click the first attractive item, stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from faircascade.clicks.base import ClickDraws, ClickModel
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("cascade", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade(ClickModel):
    """At most one click a slate, at the first item that attracts. Eqs. (2) and (3)."""

    studied: ClassVar[bool] = True

    def click(self, attraction: Floats, slates: Ints, draws: ClickDraws) -> Bools:
        attracted = draws.by_item("attraction") < attraction  # (n, K)
        return np.asarray(attracted & (np.cumsum(attracted, axis=1) == 1))

    def value(self, attraction: Floats, slates: Ints) -> Floats:
        """Return the probability of a click, (n,)."""
        missed = np.ones(len(attraction))
        for position in range(attraction.shape[1]):  # in order: every engine gets these bits
            missed *= 1.0 - attraction[:, position]
        return 1.0 - missed
