"""Bandits by the parameters that matter: what named policies have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from functools import cached_property

from faircascade.estimators import Estimator
from faircascade.exploration import Exploration
from faircascade.observations import FirstClick, Observation
from faircascade.policies.composed import ComposedPolicy, with_reranker
from faircascade.policies.parts import Parts
from faircascade.registry import as_component
from faircascade.rerankers import Identity, Reranker
from faircascade.rewards import RewardModel, Standard


@dataclass(frozen=True, kw_only=True)
class Recipe(ComposedPolicy):
    """A bandit by the parameters that matter; `parts` is what they stand for."""

    observation: Observation = field(default_factory=FirstClick)
    """Which positions it takes as seen; a name will do."""

    def __post_init__(self) -> None:
        kinds = {part.name for part in fields(Parts)}
        for part in fields(self):
            if part.name in kinds:  # names become the parts that they name
                given = as_component(part.name, getattr(self, part.name))
                object.__setattr__(self, part.name, given)
        self.parts  # noqa: B018 - a wrong parameter is an error now, not in the middle of a run

    @abstractmethod
    def estimate(self) -> Estimator: ...

    @abstractmethod
    def explorer(self) -> Exploration: ...

    def reward_model(self) -> RewardModel:
        return Standard()

    def last_step(self) -> Reranker:
        return Identity()

    @cached_property
    def parts(self) -> Parts:
        return Parts(
            estimator=self.estimate(),
            exploration=self.explorer(),
            reward=self.reward_model(),
            observation=self.observation,
            reranker=self.last_step(),
        )


@dataclass(frozen=True, kw_only=True)
class Rewarded(Recipe):
    """A bandit with any reward model."""

    reward: RewardModel = field(default_factory=Standard)
    """What a position that was seen is worth; a name will do."""

    @property
    def label(self) -> str:
        return f"{super().label} {self.reward.label}".strip()

    def reward_model(self) -> RewardModel:
        return self.reward


@dataclass(frozen=True, kw_only=True)
class Reranked(Recipe):
    """A bandit with any re-ranker; it comes before others that add to the label."""

    reranker: Reranker = field(default_factory=Identity)
    """What is done to a ranking before it is shown; a name will do."""

    @property
    def label(self) -> str:
        return with_reranker(super().label, self.reranker)

    def last_step(self) -> Reranker:
        return self.reranker
