"""A linear cascading bandit: an estimator, an exploration, a reward model and a re-ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from faircascade.estimators import Ridge, RidgeState
from faircascade.estimators.ridge import width_of
from faircascade.exploration import UCB, Exploration, Request
from faircascade.numerics import ordered_sum
from faircascade.policies.base import Policy
from faircascade.propensities import Propensities
from faircascade.registry import as_component, register
from faircascade.rerankers import Identity, Ledger, Reranker, Shown
from faircascade.rerankers.ledger import Scope
from faircascade.rewards import RewardModel, RewardTable, Standard
from faircascade.types import Feedback, Floats, Ints, Lists, Pool, Rows, Users


@lru_cache(maxsize=1024)
def table_of(reward: RewardModel, k: int) -> RewardTable:
    """Return the weights of a reward model for lists of length k, made once."""
    return reward.table(k)


@dataclass(kw_only=True, eq=False)
class BanditState:
    """What a bandit knows: its users, their sums and, if it keeps one, an account of exposure."""

    users: Users
    sums: RidgeState
    ledger: Ledger | None = None


@register("bandit")
@dataclass(frozen=True, slots=True, kw_only=True)
class Bandit(Policy):
    """Algorithm 1 with its parts exchangeable: any combination works.

    A part can be given by its name too: `Bandit(exploration="thompson")` has its defaults.
    """

    estimator: Ridge = field(default_factory=Ridge)
    exploration: Exploration = field(default_factory=UCB)
    reward: RewardModel = field(default_factory=Standard)
    reranker: Reranker = field(default_factory=Identity)

    def __post_init__(self) -> None:
        for part in ("estimator", "exploration", "reward", "reranker"):
            object.__setattr__(self, part, as_component(part, getattr(self, part)))

    @property
    def label(self) -> str:
        return with_reranker(f"Bandit {self.exploration.name} {self.reward.name}", self.reranker)

    def start(self, users: Users, dim: int) -> BanditState:
        scope = self.reranker.scope
        return BanditState(
            users=users,
            sums=self.estimator.start(len(users), dim),
            ledger=None if scope is None else Ledger.of(scope, len(users)),
        )

    def recommend(
        self, state: BanditState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Lists:
        table_of(self.reward, k)  # a list that could not be learned from is not shown
        request = self._request(state, users, pool, k, round, seed)
        scores = self.reranker.adjust(request, self.exploration.scores(request), state.ledger)
        chosen = self.exploration.lists(request, scores)
        lists = self.reranker.arrange(request, chosen, state.ledger)
        if state.ledger is not None:
            state.ledger.enter(users, lists.items, pool.items)
        return lists

    def _request(
        self, state: BanditState, users: Rows, pool: Pool, k: int, round: int | Ints, seed: int
    ) -> Request:
        return Request(
            estimator=self.estimator,
            state=state.sums,
            rows=users,
            users=state.users.keys[users],
            pool=pool,
            k=k,
            round=round,
            seed=seed,
        )

    @property
    def is_random(self) -> bool:
        return self.exploration.is_random or self.reranker.is_random

    def propensities(
        self,
        state: BanditState,
        users: Rows,
        pool: Pool,
        lists: Ints,
        *,
        round: int | Ints,
        seed: int,
    ) -> Propensities | None:
        return self.reranker.propensities(
            Shown(
                request=self._request(state, users, pool, lists.shape[1], round, seed),
                exploration=self.exploration,
                lists=lists,
                ledger=state.ledger,
            )
        )

    def _weights(self, feedback: Feedback) -> Floats:
        """Return what each position of the lists is worth, (n, K)."""
        table = table_of(self.reward, feedback.features.shape[1])
        return table.weights(feedback.clicked, feedback.examined)

    def update(self, state: BanditState, users: Rows, feedback: Feedback) -> None:
        weights = self._weights(feedback)
        self.estimator.update(state.sums, users, feedback.features, weights, feedback.examined)

    def sums(self, state: BanditState) -> Floats:
        return self.estimator.sums(state.sums)

    def increments(self, feedback: Feedback) -> Floats:
        weights = self._weights(feedback)
        return self.estimator.increments(feedback.features, weights, feedback.examined)

    def from_sums(
        self, users: Users, sums: Floats, dim: int, *, ledger: Ledger | None = None
    ) -> BanditState:
        if ledger is None and self.scope is not None:
            ledger = Ledger.of(self.scope, len(users))
        return BanditState(users=users, sums=self.estimator.from_sums(sums, dim), ledger=ledger)

    @property
    def width_factor(self) -> float:
        return self.exploration.width_factor

    def widths(self, state: BanditState, users: Rows, shown: Floats) -> Floats:
        widths = width_of(state.sums.M_inv[:, :, users, None], shown)  # (n, K)
        total = ordered_sum(widths.T)
        total /= widths.shape[1]
        return total

    @property
    def scope(self) -> Scope | None:
        return self.reranker.scope

    def settle(self, states: Sequence[BanditState]) -> None:
        if self.shares:
            Ledger.settle(_ledgers(states))

    def join(self, states: Sequence[BanditState]) -> BanditState:
        return BanditState(
            users=Users.join([state.users for state in states]),
            sums=RidgeState.join([state.sums for state in states]),
            ledger=None if self.reranker.scope is None else Ledger.join(_ledgers(states)),
        )

    def take(self, state: BanditState, users: Rows) -> BanditState:
        return BanditState(
            users=state.users[users],
            sums=state.sums.take(users),
            ledger=None if state.ledger is None else state.ledger.take(users),
        )

    def arrays(self, state: BanditState) -> dict[str, NDArray[Any]]:
        account = {} if state.ledger is None else state.ledger.arrays()
        return state.sums.arrays() | account

    def restore(self, users: Users, arrays: Mapping[str, NDArray[Any]]) -> BanditState:
        sums = {f.name: arrays[f.name] for f in fields(RidgeState)}
        scope = self.reranker.scope
        return BanditState(
            users=users,
            sums=RidgeState(**sums),
            ledger=None if scope is None else Ledger.restore(scope, arrays),
        )


def with_reranker(label: str, reranker: Reranker) -> str:
    """Return a label that names the re-ranker, if there is one."""
    return label if isinstance(reranker, Identity) else f"{label} + {reranker.name}"


def _ledgers(states: Sequence[BanditState]) -> list[Ledger]:
    return [state.ledger for state in states if state.ledger is not None]
