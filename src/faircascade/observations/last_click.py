"""Seen up to the last click: what users who go on after a click saw for sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.observations.base import LAST_CLICK, Observation, seen_up_to
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("last-click", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class LastClick(Observation):
    """Positions up to and including the last click; all that were shown if there is none.

    The observation of dcmKL-UCB (Katariya 2016). What users saw below their last click is left out.
    """

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        k = clicks.shape[1]
        last = np.where(clicks.any(axis=1), k - clicks[:, ::-1].argmax(axis=1), k)
        return seen_up_to(last, shown, k)

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"until": LAST_CLICK, "noticed": np.ones(k)}
