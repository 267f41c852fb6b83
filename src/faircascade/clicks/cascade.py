"""The cascade model: scan from the top, click the first attractive item, stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.clicks.base import ClickModel
from faircascade.registry import register
from faircascade.types import Floats, Ints


@register("cascade")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade(ClickModel):
    """At most one click a list; what stands below it is not observed. Eqs. (2) and (3)."""

    def click(self, attraction: Floats, draws: Floats) -> tuple[Ints, Ints]:
        attracted = draws < attraction  # (n, K)
        first = attracted.argmax(axis=1)
        clicked = np.where(attracted.any(axis=1), first + 1, 0)
        examined = np.where(clicked > 0, clicked, attraction.shape[1])
        return clicked, examined

    def expected(self, attraction: Floats) -> Floats:
        missed = np.ones(len(attraction))
        for position in range(attraction.shape[1]):  # in order: every engine gets these bits
            missed *= 1.0 - attraction[:, position]
        return 1.0 - missed
