"""Bandits that learn which topics a user wants covered, and fill slates one item at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faircascade.estimators import SharedTopical, Topical
from faircascade.estimators.tabular import TableScope, check_table_scope
from faircascade.exploration import UCB, Exploration
from faircascade.policies.recipe import Rewarded
from faircascade.policies.recipes import LinearRecipe
from faircascade.registry import register
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True)
class _OnTopics(Rewarded, LinearRecipe):
    alpha: float = 0.25
    """Width of the exploration bonus, >= 0; 0 is greedy."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: see `Ridge`."""

    def explorer(self) -> Exploration:
        return UCB(alpha=self.alpha)


@register("cascade-lsb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeLSB(_OnTopics):
    """The linear submodular bandit for cascades: Hiranandani, Singh, Gupta, Burhanuddin, Wen and
    Kveton, "Cascading Linear Submodular Bandits", UAI 2019.

    Attraction is theta . (gain in topic coverage given the items above). Slates are greedy by its
    upper confidence bound. It needs items with topics, knows nothing of an item but these, and has
    no re-ranker.
    """

    def estimate(self) -> Topical:
        return Topical(ridge=self.ridge, sigma=self.sigma, reading=self.reading, weighs=self.weighs)


@register("cascade-hybrid", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeHybrid(_OnTopics):
    """Relevance and diversity: Li, Feng and de Rijke, "Cascading Hybrid Bandits", RecSys 2020.

    Attraction is theta . features + beta . (gain in topic coverage given the items above). It needs
    items with topics, and has no re-ranker.
    """

    scope: TableScope = "user"
    """Whose clicks beta is learned from: `user`, each user's own, as in the package FairDynamicRec,
    or `shared`, those of all users, as in the hybrid model of Li et al. (2010) that the article
    builds on; theta is personal in both. `shared` runs in the engine `loop` alone; neither a
    `Ranker` nor the service takes it."""

    def __post_init__(self) -> None:
        check_table_scope(self.scope)
        super().__post_init__()

    def estimate(self) -> Topical | SharedTopical:
        common: dict[str, Any] = {
            "ridge": self.ridge,
            "sigma": self.sigma,
            "reading": self.reading,
            "weighs": self.weighs,
        }
        return (
            SharedTopical(**common) if self.scope == "shared" else Topical(features=True, **common)
        )
