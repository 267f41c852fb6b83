"""Bandits that take attraction for a probability: logistic regression instead of linear."""

from __future__ import annotations

from dataclasses import dataclass, field

from faircascade.estimators import Estimator, Logistic
from faircascade.exploration import UCB, Exploration, Thompson
from faircascade.policies.recipe import Reranked, Rewarded
from faircascade.registry import register
from faircascade.rewards import RewardModel, Standard
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True)
class _LogisticRecipe(Reranked, Rewarded):
    ridge: float = 1.0
    """Precision of the prior, > 0."""
    reward: RewardModel = field(default_factory=Standard)
    """What a position that was seen is worth; a name will do. Penalties are refused."""
    weighs: Weighs = "targets"
    """Where the weight of a position enters: see the estimator `logistic`."""

    def estimate(self) -> Estimator:
        return Logistic(ridge=self.ridge, weighs=self.weighs)


@register("logistic-ucb", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class LogisticUCB(_LogisticRecipe):
    """Optimism about the log-odds of attraction, after Faury, Abeille, Calauzenes and Fercoq,
    "Improved Optimistic Algorithms for Logistic Bandits", ICML 2020.

    The width is that of the Laplace approximation, not of their confidence set, and alpha is a
    number: there is no guarantee. What is learned depends on the order of feedback, so that the
    service cannot keep it; a `Ranker` can.
    """

    alpha: float = 0.25
    """Width of the exploration bonus, in log-odds, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return UCB(alpha=self.alpha)


@register("logistic-ts", engines=("cpu",))
@dataclass(frozen=True, kw_only=True)
class LogisticTS(_LogisticRecipe):
    """Thompson sampling of the log-odds: Chapelle and Li, "An Empirical Evaluation of Thompson
    Sampling", NIPS 2011.

    What is learned depends on the order of feedback, so that the service cannot keep it; a `Ranker`
    can.
    """

    scale: float = 0.25
    """Standard deviation of the posterior draw, >= 0; 0 is greedy."""

    def explorer(self) -> Exploration:
        return Thompson(scale=self.scale)
