"""The exposure-aware reward model: feedback weighed by position."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from faircascade.errors import ParameterError
from faircascade.readings import Reading, check_reading
from faircascade.registry import register
from faircascade.rewards.base import RewardModel, RewardTable
from faircascade.rewards.weights import Log, Weight, as_weight


@register("exposure-aware")
@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureAware(RewardModel):
    """A click earns a weight of its position, an ignored item loses gamma times one. Eq. (6).

    The paper's indicator of the penalty is empty as printed; here it is k < C. A round without a
    click penalises every position seen.
    """

    weight: Weight | Sequence[float] | Callable[[int, int], float] = field(default_factory=Log)
    """The weight function F; a name, a vector or a function of (k, K) will do."""
    gamma: float = 0.0
    """Strength of the penalty, >= 0."""
    reading: Reading = "intended"
    """Which values reward and penalty take: see `readings`."""

    def __post_init__(self) -> None:
        if not (self.gamma >= 0 and math.isfinite(self.gamma)):
            raise ParameterError("gamma", "must be >= 0", self.gamma)
        check_reading(self.reading)
        object.__setattr__(self, "weight", as_weight(self.weight))
        self.table(self._weight.probe_length)  # a mistake shows now, not in the middle of a run

    @property
    def _weight(self) -> Weight:
        return as_weight(self.weight)

    @property
    def label(self) -> str:
        return self._weight.label

    @property
    def harmful_in(self) -> str | None:
        return self._weight.harms.get(self.reading)

    def table(self, k: int) -> RewardTable:
        return _TABLES[self.reading](self._weight, self.gamma, k)


def _paper(weight: Weight, gamma: float, k: int) -> RewardTable:
    """Reward and penalty are both F(k), as Table 2 and Eq. (6) have it."""
    F = weight.values(k)
    return RewardTable.of(k, rewards=F, penalties=F, gamma=gamma)


def _intended(weight: Weight, gamma: float, k: int) -> RewardTable:
    """The reward rises with k and the penalty falls: both criteria of Section 3 hold."""
    F = weight.intended(k)
    return RewardTable.of(k, rewards=F, penalties=F[::-1], gamma=gamma)


def _reference(weight: Weight, gamma: float, k: int) -> RewardTable:
    """What the authors' package computes."""
    rewards, penalties = weight.reference(k)
    return RewardTable.of(k, rewards=rewards, penalties=penalties, gamma=gamma)


_TABLES: dict[Reading, Callable[[Weight, float, int], RewardTable]] = {
    "paper": _paper,
    "intended": _intended,
    "reference": _reference,
}
