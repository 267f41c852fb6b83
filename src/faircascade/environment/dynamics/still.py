"""An environment that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.environment.dynamics.base import Dynamics
from faircascade.registry import register


@register("still", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Still(Dynamics):
    """Nothing changes: users like the same items in every round."""

    changes: ClassVar[bool] = False
