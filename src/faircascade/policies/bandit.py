"""A linear cascading bandit, composed of an estimator, an exploration and a reward model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from faircascade.estimators import Ridge, RidgeState
from faircascade.estimators.ridge import width_of
from faircascade.exploration import UCB, Exploration, Request
from faircascade.numerics import ordered_sum
from faircascade.policies.base import Policy
from faircascade.registry import as_component, register
from faircascade.rewards import RewardModel, RewardTable, Standard
from faircascade.types import Feedback, Floats, Ints, Lists, Pool, Rows, Users


@lru_cache(maxsize=1024)
def table_of(reward: RewardModel, k: int) -> RewardTable:
    """Return the weights of a reward model for lists of length k, made once."""
    return reward.table(k)


@dataclass(kw_only=True, eq=False)
class BanditState:
    """What a bandit knows: its users and their sums."""

    users: Users
    sums: RidgeState


@register("bandit")
@dataclass(frozen=True, slots=True, kw_only=True)
class Bandit(Policy):
    """Algorithm 1 with its parts exchangeable: any combination of the three works.

    A part can be given by its name too: `Bandit(exploration="thompson")` has its defaults.
    """

    estimator: Ridge = field(default_factory=Ridge)
    exploration: Exploration = field(default_factory=UCB)
    reward: RewardModel = field(default_factory=Standard)

    def __post_init__(self) -> None:
        for part in ("estimator", "exploration", "reward"):
            object.__setattr__(self, part, as_component(part, getattr(self, part)))

    @property
    def label(self) -> str:
        return f"Bandit {self.exploration.name} {self.reward.name}"

    def start(self, users: Users, dim: int) -> BanditState:
        return BanditState(users=users, sums=self.estimator.start(len(users), dim))

    def recommend(
        self, state: BanditState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Lists:
        table_of(self.reward, k)  # a list that could not be learned from is not shown
        request = Request(
            estimator=self.estimator,
            state=state.sums,
            rows=users,
            users=state.users.keys[users],
            pool=pool,
            k=k,
            round=round,
            seed=seed,
        )
        return self.exploration.lists(request)

    def update(self, state: BanditState, users: Rows, feedback: Feedback) -> None:
        table = table_of(self.reward, feedback.features.shape[1])
        weights = table.weights(feedback.clicked, feedback.examined)  # (n, K)
        self.estimator.update(state.sums, users, feedback.features, weights, feedback.examined)

    @property
    def width_factor(self) -> float:
        return self.exploration.width_factor

    def widths(self, state: BanditState, users: Rows, shown: Floats) -> Floats:
        widths = width_of(state.sums.M_inv[:, :, users, None], shown)  # (n, K)
        total = ordered_sum(widths.T)
        total /= widths.shape[1]
        return total

    def join(self, states: Sequence[BanditState]) -> BanditState:
        return BanditState(
            users=Users.join([state.users for state in states]),
            sums=RidgeState.join([state.sums for state in states]),
        )

    def take(self, state: BanditState, users: Rows) -> BanditState:
        return BanditState(users=state.users[users], sums=state.sums.take(users))

    def arrays(self, state: BanditState) -> dict[str, NDArray[Any]]:
        return state.sums.arrays()

    def restore(self, users: Users, arrays: Mapping[str, NDArray[Any]]) -> BanditState:
        return BanditState(users=users, sums=RidgeState(**arrays))
