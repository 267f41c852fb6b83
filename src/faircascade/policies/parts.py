"""The parts of a click bandit, and which of them go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

from faircascade.errors import parameters_of_part
from faircascade.estimators import Estimator
from faircascade.exploration import Exploration
from faircascade.observations import Observation
from faircascade.propensities import is_drawn
from faircascade.registry import Component, as_component, declared
from faircascade.rerankers import Identity, Reranker
from faircascade.rewards import RegressionTable, RewardModel, RewardTable


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a bandit is made of."""

    estimator: Estimator
    exploration: Exploration
    reward: RewardModel
    observation: Observation
    reranker: Reranker

    def __post_init__(self) -> None:
        for part in fields(Parts):
            object.__setattr__(self, part.name, as_component(part.name, getattr(self, part.name)))
        if self.estimator.conditional and type(self.reranker) is not Identity:
            raise ValueError(
                f"re-ranker {self.reranker.name!r} needs scores of items, but those of estimator "
                f"{self.estimator.name!r} depend on the items above"
            )
        for kind, asking in (("exploration", self.exploration), ("re-ranker", self.reranker)):
            missing = sorted(asking.asks - self.estimator.offers)
            if missing:
                raise ValueError(
                    f"{kind} {asking.name!r} needs the {' and '.join(missing)} of beliefs, which "
                    f"estimator {self.estimator.name!r} does not offer"
                )
        if self.reranker.needs_fixed_ranking and is_drawn(self.exploration):
            raise ValueError(
                f"re-ranker {self.reranker.name!r} needs an exploration that leaves nothing to "
                f"chance, and {self.exploration.name!r} draws"
            )
        if self.estimator.refuses_weights and not declared(self.reward, "plain"):
            raise ValueError(
                f"estimator {self.estimator.name!r} cannot have reward {self.reward.name!r}: "
                f"{self.estimator.refuses_weights}"
            )

    @cached_property
    def _tables(self) -> dict[int, RewardTable]:
        return {}

    @cached_property
    def _regressions(self) -> dict[int, RegressionTable]:
        return {}

    def table(self, k: int) -> RewardTable:
        """Return the targets of the reward model for slates of length k, made once."""
        if k not in self._tables:
            table = self.reward.table(k)
            # engines take its arrays, and nothing else
            if type(table) is not RewardTable or table.k != k:
                raise TypeError(
                    f"reward {self.reward.name!r} must return a RewardTable for K = {k}, "
                    f"got {table!r}"
                )
            if self.estimator.refuses_penalties and table.ignored.any():
                raise ValueError(
                    f"estimator {self.estimator.name!r} cannot have a reward with penalties "
                    f"(gamma): {self.estimator.refuses_penalties}"
                )
            with parameters_of_part("observation"):
                self.observation.check(k)
            self._tables[k] = table
        return self._tables[k]

    def regression(self, k: int) -> RegressionTable:
        """Return what the estimator learns from slates of length k, made once."""
        if k not in self._regressions:
            self._regressions[k] = self.table(k).regression(self.estimator.weighs)
        return self._regressions[k]

    def __iter__(self) -> Iterator[Component]:
        return (getattr(self, part.name) for part in fields(Parts))
