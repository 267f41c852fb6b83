"""Bandits that learn which topics a user wants covered, and fill slates one item at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from faircascade.estimators import Topical
from faircascade.exploration import UCB, Exploration
from faircascade.policies.recipes import Recipe
from faircascade.registry import as_component, register
from faircascade.rewards import RewardModel, Standard
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True)
class _OnTopics(Recipe):
    alpha: float = 0.25
    """Width of the exploration bonus, >= 0; 0 is greedy."""
    reward: RewardModel = field(default_factory=Standard)
    """What a position that was seen is worth; a name will do."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: see `Ridge`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reward", as_component("reward", self.reward))
        super().__post_init__()

    @property
    def label(self) -> str:
        return f"{type(self).__name__} {self.reward.label}".strip()

    def explorer(self) -> Exploration:
        return UCB(alpha=self.alpha)

    def reward_model(self) -> RewardModel:
        return self.reward


@register("cascade-lsb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeLSB(_OnTopics):
    """The linear submodular bandit for cascades: Hiranandani et al., "Cascading Linear Submodular
    Bandits", UAI 2019.

    Attraction is theta . (gain in topic coverage given the items above). Slates are greedy by its
    upper confidence bound. It needs items with topics, and knows nothing of an item but these.
    """

    def estimator(self) -> Topical:
        return Topical(ridge=self.ridge, sigma=self.sigma, reading=self.reading, weighs=self.weighs)


@register("cascade-hybrid", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class CascadeHybrid(_OnTopics):
    """Relevance and diversity: Li, Feng and de Rijke, "Cascading Hybrid Bandits", RecSys 2020.

    Attraction is theta . features + beta . (gain in topic coverage given the items above). Both
    parts are personal here, as in the package FairDynamicRec. It needs items with topics.
    """

    def estimator(self) -> Topical:
        return Topical(
            ridge=self.ridge,
            sigma=self.sigma,
            reading=self.reading,
            weighs=self.weighs,
            features=True,
        )
