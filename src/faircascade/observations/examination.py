"""Seen in part: as likely as users look at a position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faircascade.errors import ParameterError
from faircascade.observations.base import ALL, Observation, seen_up_to
from faircascade.probabilities import (
    Probabilities,
    check_probabilities,
    examination_by_position,
)
from faircascade.registry import register
from faircascade.types import Bools, Floats, Ints


@register("examination", engines=("cpu", "gpu"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Examination(Observation):
    """Position k counts as seen by kappa_k, the probability that users look at it.

    That is what a position-based model says. Clicks are not multiplied: an estimator learns what an
    item attracts, not what it attracts where it stands.
    """

    kappa: Probabilities | None = None
    """Probability of looking, in [0, 1]: one number, or one for each position, some above 0;
    1 / k unless given, as in the click model `pbm`."""

    def __post_init__(self) -> None:
        check_probabilities("kappa", self.kappa)
        self.check(len(self.kappa) if isinstance(self.kappa, tuple) else 1)

    def check(self, k: int) -> None:
        looked = examination_by_position("kappa", self.kappa, k)
        if not looked.any():
            raise ParameterError(
                "kappa", "must be above 0 at one position at least", looked.tolist()
            )

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        k = clicks.shape[1]
        return seen_up_to(shown, shown, k) * examination_by_position("kappa", self.kappa, k)

    def kernel_for(self, k: int) -> Mapping[str, Any]:
        return {"until": ALL, "noticed": examination_by_position("kappa", self.kappa, k)}
