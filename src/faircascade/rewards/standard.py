"""The plain cascading bandit: a click is worth 1 wherever it happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.registry import register
from faircascade.rewards.base import RewardModel, RewardTable


@register("standard")
@dataclass(frozen=True, slots=True, kw_only=True)
class Standard(RewardModel):
    """Reward 1, no penalty: LinUCB's model."""

    plain: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return ""

    def table(self, k: int) -> RewardTable:
        return RewardTable.of(k, rewards=1.0)
