"""Seen up to the first click: what a cascade model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from faircascade.observations.base import FIRST_CLICK, Observation, seen_up_to
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("first-click", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstClick(Observation):
    """Positions up to and including the first click; all that were shown if there is none."""

    studied: ClassVar[bool] = True

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        k = clicks.shape[1]
        first = np.where(clicks.any(axis=1), clicks.argmax(axis=1) + 1, k)
        return seen_up_to(first, shown, k)

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"until": FIRST_CLICK, "noticed": np.ones(k)}
