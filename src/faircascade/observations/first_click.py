"""Seen up to the first click: what a cascade model says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faircascade.observations.base import Observation
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("first-click", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstClick(Observation):
    """Positions up to and including the first click; all that were shown if there is none."""

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        k = clicks.shape[1]
        first = np.where(clicks.any(axis=1), clicks.argmax(axis=1) + 1, k)
        last = np.minimum(first, shown)
        return np.asarray(np.arange(k) < last[:, None], dtype=np.float64)
