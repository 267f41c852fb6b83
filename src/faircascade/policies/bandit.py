"""A click bandit of any parts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

from faircascade.estimators import Estimator, Ridge
from faircascade.exploration import UCB, Exploration
from faircascade.observations import FirstClick, Observation
from faircascade.policies.composed import ComposedPolicy, with_reranker
from faircascade.policies.parts import Parts
from faircascade.registry import register
from faircascade.rerankers import Identity, Reranker
from faircascade.rewards import RewardModel, Standard


@register("bandit", engines=("cpu", "gpu"))
@dataclass(frozen=True, kw_only=True)
class Bandit(ComposedPolicy):
    """Any combination of parts.

    A part can be given by its name too: `Bandit(exploration="thompson")` has its defaults. The
    names are listed by `faircascade.registry.components("exploration")`, your own among them;
    built in are:

        estimator: logistic, ridge, shared-ridge, shared-topical, tabular, topical, toprank
        exploration: beta-thompson, epsilon, fair-optimism, gaussian-thompson, kl-ucb,
            shuffled-blocks, thompson, ucb, ucb1
        reward: exposure-aware, standard
        observation: all, examination, first-click, last-click
        reranker: calibrated, discount, ears, exposure-charge, fairco, frank-wolfe, identity,
            logged-randomisation, merit-draws, min-share, mmr, p-mmf, reorder, xquad
    """

    estimator: Estimator = field(default_factory=Ridge)
    """What is learned from feedback."""
    exploration: Exploration = field(default_factory=UCB)
    """What to show, given what is believed."""
    reward: RewardModel = field(default_factory=Standard)
    """What a position that was seen is worth."""
    observation: Observation = field(default_factory=FirstClick)
    """Which positions are taken as seen."""
    reranker: Reranker = field(default_factory=Identity)
    """What is done to a ranking before it is shown."""

    def __post_init__(self) -> None:
        for part in fields(Parts):  # names become the parts that they name
            object.__setattr__(self, part.name, getattr(self.parts, part.name))

    @cached_property
    def parts(self) -> Parts:
        return Parts(**{part.name: getattr(self, part.name) for part in fields(Parts)})

    @property
    def label(self) -> str:
        usual = (Ridge, FirstClick)
        unusual = [p.name for p in (self.estimator, self.observation) if type(p) not in usual]
        names = ("Bandit", self.exploration.name, self.reward.name, *unusual)
        return with_reranker(" ".join(names), self.reranker)
