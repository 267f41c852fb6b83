"""Everything that was shown was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.observations.base import ALL, Observation, seen_up_to
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("all", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class AllPositions(Observation):
    """All positions that were shown, wherever the clicks are."""

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        return seen_up_to(shown, shown, clicks.shape[1])

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"until": ALL, "noticed": np.ones(k)}
