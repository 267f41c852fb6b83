"""Bandits that take attraction for a probability: logistic regression instead of linear."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from faircascade.estimators import Logistic
from faircascade.exploration import UCB, Exploration, Thompson
from faircascade.observations import FirstClick, Observation
from faircascade.policies.bandit import ComposedPolicy, Parts, with_reranker
from faircascade.registry import as_component, register
from faircascade.rerankers import Identity, Reranker
from faircascade.rewards import RewardModel, Standard
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True)
class _LogisticRecipe(ComposedPolicy):
    ridge: float = 1.0
    """Precision of the prior, > 0."""
    reward: RewardModel = field(default_factory=Standard)
    """What a position that was seen is worth; a name will do. Penalties are refused."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: see the estimator `logistic`."""
    observation: Observation = field(default_factory=FirstClick)
    """Which positions it takes as seen; a name will do."""
    reranker: Reranker = field(default_factory=Identity)
    """What is done to a ranking before it is shown; a name will do."""

    def __post_init__(self) -> None:
        for part in ("reward", "observation", "reranker"):
            object.__setattr__(self, part, as_component(part, getattr(self, part)))
        self.parts  # noqa: B018 - a wrong parameter is an error now, not in the middle of a run

    @property
    def label(self) -> str:
        label = f"{type(self).__name__} {self.reward.label}".strip()
        return with_reranker(label, self.reranker)

    def explorer(self) -> Exploration:
        raise NotImplementedError

    @cached_property
    def parts(self) -> Parts:
        return Parts(
            estimator=Logistic(ridge=self.ridge, weighs=self.weighs),
            exploration=self.explorer(),
            reward=self.reward,
            observation=self.observation,
            reranker=self.reranker,
        )


@register("logistic-ucb")
@dataclass(frozen=True, kw_only=True)
class LogisticUCB(_LogisticRecipe):
    """Optimism about the log-odds of attraction, after Faury et al. (2020).

    The width is that of the Laplace approximation, not of their confidence set, and alpha is a
    number: there is no guarantee.
    """

    alpha: float = 0.25
    """Width of the exploration bonus, in log-odds, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return UCB(alpha=self.alpha)


@register("logistic-ts")
@dataclass(frozen=True, kw_only=True)
class LogisticTS(_LogisticRecipe):
    """Thompson sampling of the log-odds, as Chapelle and Li (2011) serve display ads."""

    scale: float = 0.25
    """Standard deviation of the posterior draw, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return Thompson(scale=self.scale)
