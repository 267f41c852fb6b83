"""FairX: exposure in proportion to merit, learned with sublinear fairness regret.

Wang, Bai, Sun and Joachims, "Fairness of Exposure in Stochastic Bandits", ICML 2021, with the merit
f(score) = exp(sharpness * score). As published they show one item, slates of length 1. In longer
ones the others are drawn from those that are left, which is an extension of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from faircascade.exploration import Exploration, FairOptimism
from faircascade.policies.recipes import LinearRecipe, Sampling
from faircascade.registry import register
from faircascade.rerankers import MeritDraws, Reranker
from faircascade.strengths import StrengthRange


@register("fairx-linucb")
@dataclass(frozen=True, kw_only=True)
class FairXLinUCB(LinearRecipe):
    """FairX-LinUCB: takes the parameters of the confidence set under which the fair draw promises
    most, and draws by merit under these. Runs in the engine `loop` alone."""

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("sharpness", 1e5, 1.0)

    alpha: float = 0.25
    """Radius of the confidence set, >= 0; 0 takes what is believed."""
    sharpness: float = 10.0
    """How much a higher score counts as merit, >= 0; 0 draws uniformly."""

    def explorer(self) -> Exploration:
        return FairOptimism(alpha=self.alpha, sharpness=self.sharpness)

    def last_step(self) -> Reranker:
        return MeritDraws(sharpness=self.sharpness)


@register("fairx-ts", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class FairXTS(Sampling):
    """FairX-LinTS: draws parameters from the posterior, and then an item by merit under these."""

    strength_range: ClassVar[StrengthRange | None] = StrengthRange("sharpness", 1e5, 1.0)

    sharpness: float = 10.0
    """How much a higher score counts as merit, >= 0; 0 draws uniformly."""

    def last_step(self) -> Reranker:
        return MeritDraws(sharpness=self.sharpness)
