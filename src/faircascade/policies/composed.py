"""Click bandits: an observation, a reward model, an estimator, an exploration and a re-ranker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.estimators import Evidence
from faircascade.exploration import SlateRequest
from faircascade.numerics import ordered_sum
from faircascade.policies.base import Policy, PolicyState
from faircascade.policies.parts import Parts
from faircascade.propensities import Propensities, is_drawn, knows_chances
from faircascade.ranking import Scores
from faircascade.registry import Component, declared
from faircascade.rerankers import Identity, Ledger, Reranker, Shown
from faircascade.rerankers.ledger import Scope
from faircascade.rewards import RegressionTable, RewardTable
from faircascade.types import Bools, Feedback, Floats, Ints, Items, Pool, Rows, Slates, Users


@dataclass(kw_only=True, eq=False)
class BanditState(PolicyState):
    """What was learned is the estimator's state; the exposure of users is there if it is kept."""

    ledger: Ledger | None = None


class ComposedPolicy(Policy):
    """Algorithm 1 with its parts exchangeable; a subclass says which these are."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """The parts that do the work."""

    @property
    def components(self) -> tuple[Component, ...]:
        reward = self.parts.reward  # a table by the time an engine gets it
        return (self, *(part for part in self.parts if part is not reward))

    @property
    def made_of(self) -> tuple[Component, ...]:
        return (self, *self.parts)

    @property
    def harmful_in(self) -> str | None:
        reward, estimator = self.parts.reward, self.parts.estimator
        studied = all(declared(part, "studied") for part in self.parts if part is not reward)
        return reward.harmful_in if studied and estimator.weighs == "targets" else None

    def reward_table(self, k: int) -> RewardTable:
        return self.parts.table(k)

    def regression_table(self, k: int) -> RegressionTable:
        return self.parts.regression(k)

    @property
    def conditional(self) -> bool:
        return self.parts.estimator.conditional

    @property
    def needs_topics(self) -> bool:
        return self.parts.estimator.needs_topics or self.parts.reranker.needs_topics

    @property
    def needs_features(self) -> bool:
        return self.parts.estimator.needs_features

    @property
    def without_sums(self) -> str:
        return self.parts.estimator.without_sums

    @property
    def unserved(self) -> str:
        return self.parts.reranker.unserved

    @property
    def refuses_values(self) -> str:
        return self.parts.estimator.refuses_values

    @property
    def needs_every_item(self) -> bool:
        return self.parts.estimator.needs_every_item

    @property
    def needs_all_scores(self) -> bool:
        return self.parts.exploration.needs_all_scores or self.parts.reranker.needs_all_scores

    @property
    def itemwise(self) -> bool:
        parts = (self.parts.estimator, self.parts.exploration, self.parts.reranker)
        plain = type(self).recommend is ComposedPolicy.recommend
        return plain and not self.conditional and all(declared(p, "itemwise") for p in parts)

    @property
    def same_for_new_users(self) -> bool:
        """Whether all users of whom nothing is known have the same scores."""
        return self.keeps_scores and bool(declared(self.parts.exploration, "same_for_equals"))

    @property
    def keeps_scores(self) -> bool:
        """Whether slates are made of the items that the exploration scores best."""
        return bool(declared(self.parts.reranker, "keeps_scores"))

    def dim_of(self, items: Items) -> int:
        return self.parts.estimator.dim_of(items)

    def start(self, users: Users, dim: int) -> BanditState:
        return BanditState(
            users=users,
            learned=self.parts.estimator.start(len(users), dim),
            ledger=self._ledger(len(users)),
        )

    def _ledger(self, users: int) -> Ledger | None:
        """Return an account of nothing, if one is kept."""
        terms = self.parts.reranker.terms
        return None if terms is None else Ledger.of(terms, users)

    def ledger_of(self, items: Items, units: Ints) -> Ledger | None:
        """Return the account that follows from the exposure of items, (n or 1, m)."""
        terms = self.parts.reranker.terms
        return None if terms is None else Ledger.of_items(terms, items, units)

    def recommend(
        self, state: BanditState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Slates:
        request = self.request(state, users, pool, k, round=round, seed=seed)
        longer = replace(request, k=self.considers(k, len(pool)))
        best = self.parts.exploration.slates(longer, self.ranked_by(request, state.ledger))
        slates = self.arranged(request, best, state.ledger)
        if state.ledger is not None:
            state.ledger.enter(users, slates.items, pool.items)
        return slates

    def scores(
        self, state: BanditState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Scores:
        """Return the scores of all items, before a re-ranker has its say."""
        request = self.request(state, users, pool, k, round=round, seed=seed)
        return self.parts.exploration.scores(request)

    def ranked_by(self, request: SlateRequest, ledger: Ledger | None) -> Scores:
        """Return the scores that slates are chosen by, of every item in the pool."""
        return self.parts.reranker.adjust(request, self.parts.exploration.scores(request), ledger)

    def considers(self, k: int, items: int) -> int:
        """Return how many of the best of some items slates of length k are arranged from."""
        self.parts.regression(k)  # a slate that could not be learned from is not shown
        return self.parts.reranker.considers(k, items)

    def arranged(self, request: SlateRequest, best: Slates, ledger: Ledger | None) -> Slates:
        """Return slates made of the best items, as many as it `considers`."""
        return self.parts.reranker.arrange(request, best, ledger)

    def request(
        self, state: BanditState, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> SlateRequest:
        """Return what explorations and re-rankers are asked with."""
        return SlateRequest(
            beliefs=self.parts.estimator.beliefs(state.learned, users, pool),
            rows=users,
            users=state.users.keys[users],
            pool=pool,
            k=k,
            round=round,
            seed=seed,
        )

    @property
    def is_random(self) -> bool:
        return is_drawn(self.parts.exploration) or is_drawn(self.parts.reranker)

    def propensities(
        self,
        state: BanditState,
        users: Rows,
        pool: Pool,
        slates: Ints,
        *,
        round: int | Ints,
        seed: int,
    ) -> Propensities | None:
        if not knows_chances(self.parts.reranker):
            return None
        return self.parts.reranker.propensities(
            Shown(
                request=self.request(state, users, pool, slates.shape[1], round=round, seed=seed),
                exploration=self.parts.exploration,
                slates=slates,
                ledger=state.ledger,
            )
        )

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        return self.parts.observation.seen(clicks, shown)

    def _evidence(self, feedback: Feedback) -> Evidence:
        seen = self.seen(feedback.clicks, feedback.shown)
        if seen.shape != feedback.clicks.shape or not ((seen >= 0) & (seen <= 1)).all():
            raise ValueError(
                f"observation {self.parts.observation.name!r} must return numbers from 0 to 1 of "
                f"shape {feedback.clicks.shape}, got {seen!r}"
            )
        if seen[np.arange(seen.shape[1]) >= feedback.shown[:, None]].any():
            raise ValueError(
                f"observation {self.parts.observation.name!r} must return 0 for positions that "
                f"were not shown, got {seen!r}"
            )
        table = self.parts.regression(feedback.clicks.shape[1])
        factors, targets = table.of(feedback.engaged, seen)
        if feedback.values is not None:
            if self.refuses_values:
                raise ValueError(f"{self.name} cannot learn from values: {self.refuses_values}")
            targets = np.where(feedback.engaged, feedback.values * targets, targets)
        return Evidence(
            items=feedback.items,
            features=feedback.features,
            topics=feedback.topics,
            clicks=feedback.engaged,
            seen=seen,
            targets=targets,
            factors=factors,
            largest=self.parts.table(feedback.clicks.shape[1]).largest,
        )

    def update(self, state: BanditState, users: Rows, feedback: Feedback) -> None:
        self.parts.estimator.update(state.learned, users, self._evidence(feedback))

    def give_back(self, state: BanditState, users: Rows, feedback: Feedback) -> None:
        if state.ledger is not None:
            state.ledger.give_back(users, feedback.items, feedback.shown)

    def sums(self, state: BanditState) -> Floats:
        return self.parts.estimator.sums(state.learned)

    def increments(self, feedback: Feedback) -> Floats:
        return self.parts.estimator.increments(self._evidence(feedback))

    def from_sums(
        self, users: Users, sums: Floats, dim: int, *, ledger: Ledger | None = None
    ) -> BanditState:
        if ledger is None:
            ledger = self._ledger(len(users))
        learned = self.parts.estimator.from_sums(sums, dim)
        return BanditState(users=users, learned=learned, ledger=ledger)

    @property
    def width_factor(self) -> float:
        return self.parts.exploration.width_factor

    def widths(self, state: BanditState, users: Rows, pool: Pool, slates: Ints) -> Floats:
        if "width" not in self.parts.estimator.offers:
            return np.zeros(len(slates))
        beliefs = self.parts.estimator.beliefs(state.learned, users, pool)
        widths = beliefs.widths_of(slates, pool)  # (n, K)
        total = ordered_sum(widths.T)
        total /= widths.shape[1]
        return total

    @property
    def ledger_scope(self) -> Scope | None:
        return self.parts.reranker.scope

    @property
    def shares(self) -> bool:
        return self.ledger_scope == "global" or self.indivisible

    @property
    def indivisible(self) -> bool:
        return self.parts.estimator.shares

    def account(self, state: BanditState) -> Ledger | None:
        return state.ledger

    def with_account(self, state: BanditState, account: Ledger) -> BanditState:
        return replace(state, ledger=account)

    def settle(self, states: Sequence[BanditState]) -> None:
        if self.ledger_scope == "global":
            self.parts.reranker.settle(_ledgers(states))

    def join(self, states: Sequence[BanditState]) -> BanditState:
        return BanditState(
            users=Users.join([state.users for state in states]),
            learned=self.parts.estimator.join([state.learned for state in states]),
            ledger=None if self.ledger_scope is None else Ledger.join(_ledgers(states)),
        )

    def take(self, state: BanditState, users: Rows) -> BanditState:
        return BanditState(
            users=state.users[users],
            learned=self.parts.estimator.take(state.learned, users),
            ledger=None if state.ledger is None else state.ledger.take(users),
        )

    def arrays(self, state: BanditState) -> dict[str, NDArray[Any]]:
        account = {} if state.ledger is None else state.ledger.arrays()
        return self.parts.estimator.arrays(state.learned) | account

    def restore(self, users: Users, arrays: Mapping[str, NDArray[Any]]) -> BanditState:
        terms = self.parts.reranker.terms
        return BanditState(
            users=users,
            learned=self.parts.estimator.restore(arrays),
            ledger=None if terms is None else Ledger.restore(terms, arrays),
        )

    def scale_warning(self, norm: float, rows: float) -> str:
        return self.parts.estimator.scale_warning(norm, rows)

    def describe(self, state: BanditState, row: int) -> dict[str, Any]:
        return self.parts.estimator.describe(state.learned, row)


def with_reranker(label: str, reranker: Reranker) -> str:
    """Return a label that names the re-ranker, if there is one."""
    return label if isinstance(reranker, Identity) else f"{label} + {reranker.name}"


def _ledgers(states: Sequence[BanditState]) -> list[Ledger]:
    return [state.ledger for state in states if state.ledger is not None]
