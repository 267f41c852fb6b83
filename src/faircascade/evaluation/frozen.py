"""A policy with what it has learned, which learns no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.data.log import Impressions
from faircascade.engine import Result
from faircascade.evaluation.catalogue import Catalogue
from faircascade.evaluation.click_rates import ClickRates
from faircascade.evaluation.equality import ExposureSums
from faircascade.evaluation.estimators.slates import PolicySlates
from faircascade.evaluation.intervals import BLOCKS
from faircascade.evaluation.policy_chances import PolicyQuery
from faircascade.evaluation.policy_views import (
    NextItemValues,
    PolicyRun,
    RatedSlates,
    asked_values,
    slates_of,
)
from faircascade.policies import Policy
from faircascade.ranker import Ranker
from faircascade.types import Ids, Ints, Items, Users

_SLATES = 200_000
_FEWEST_DRAWS, _MOST_DRAWS = 4, 64


@dataclass(frozen=True, kw_only=True, eq=False)
class FrozenPolicy:
    """A policy, its state, and the items that it may show."""

    policy: Policy
    items: Items
    state: Any | None = None
    """What is known of `users`; None if nothing is."""
    users: Sequence[str] = ()
    """Ids as text, a row of the state each."""
    rounds: Sequence[int] = ()
    """Slates that each of them has had."""
    seed: int = 0
    label: str = ""

    @classmethod
    def of(cls, source: Any) -> FrozenPolicy | None:
        """Return what a ranker, its file or a simulation learned; None for anything else."""
        if isinstance(source, Path):
            source = Ranker.load(source)
        if isinstance(source, Ranker):
            state, users, rounds = source.learned()
            return cls(
                policy=source.policy,
                items=source.items,
                state=state,
                users=users,
                rounds=rounds,
                seed=source.seed,
                label=source.policy.label,
            )
        if isinstance(source, Result):
            users = source.env.users.ids.astype(str).tolist()
            return cls(
                policy=source.policy,
                items=source.env.items,
                state=source.state,
                users=users,
                rounds=[source.rounds] * len(users),
                seed=source.seed,
                label=source.policy.label,
            )
        return source if isinstance(source, cls) else None

    def for_users(self, ids: Ids) -> tuple[Any, Ints]:
        """Return the state and the slates had of the users of a log, in their order.

        Users who are not known start cold.
        """
        names = [str(user) for user in ids.tolist()]
        place = {name: row for row, name in enumerate(self.users)}
        found = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        cold = np.flatnonzero(found < 0)
        dim = self.policy.dim_of(self.items)
        new = Users(ids=ids[cold])
        rounds = np.zeros(len(ids), dtype=np.int64)
        if self.state is None or len(cold) == len(ids):
            return self.policy.start(Users(ids=ids), dim), rounds
        known = np.flatnonzero(found >= 0)
        rounds[known] = np.asarray(self.rounds)[found[known]]
        state = self.policy.take(self.state, found[known])
        if len(cold):
            state = self.policy.join([state, self.policy.start(new, dim)])
        order = np.empty(len(ids), dtype=np.int64)
        order[np.concatenate([known, cold])] = np.arange(len(ids))
        return self.policy.take(state, order), rounds


class FrozenRun(PolicyRun):
    """Goes through a log without learning: each user would get the same policy every time."""

    def __init__(
        self,
        query: PolicyQuery,
        catalogue: Catalogue,
        state: Any,
        rounds: Ints,
        *,
        label: str,
        how: str,
        rates: tuple[ClickRates, ...],
        values: NextItemValues | None,
        blocks: Ints,
        draws: int | None = None,
    ) -> None:
        """Take the state of all users of the log, the slates that they had, and their blocks."""
        self.query, self.catalogue, self.state = query, catalogue, state
        self.label, self.how = label, how
        self.rounds = rounds + 1
        self.rates, self.values, self.blocks = rates, values, blocks
        users = np.arange(len(rounds))
        self.own = query.own(state, users, self.rounds, draws or self._draws(len(users)))
        self.shown = np.zeros((len(users), query.k))
        """How often each user had each position on the screen."""

    def _draws(self, users: int) -> int:
        if not self.query.is_random:
            return 1
        return int(np.clip(_SLATES // max(1, users), _FEWEST_DRAWS, _MOST_DRAWS))

    def view(self, block: Impressions, blocks: Ints) -> PolicySlates:
        logged = RatedSlates(block=block, blocks=blocks, catalogue=self.catalogue, query=self.query)
        users = block.users.astype(np.int64)
        np.add.at(self.shown, users, logged.on_screen.astype(np.float64))
        rounds = self.rounds[users]
        exact = self.query.exact(self.state, logged.full[0], users, rounds)
        following = None
        if exact is not None and self.values is not None:
            following = asked_values(logged, self.state, users, rounds, self.values)
        return slates_of(logged, self.own[:, users], exact, self.rates, self.values, following)

    def exposure(self) -> ExposureSums:
        """Return the exposure that its own slates give to items."""
        sums = ExposureSums.empty(BLOCKS, self.catalogue.size)
        users = np.arange(len(self.shown))
        exact = self.query.exposure(self.state, users, self.rounds)
        if exact is not None:
            for item in range(exact.shape[1]):
                rows = np.full((len(users), self.query.k), item)
                sums.add(self.blocks, rows, self.shown * exact[:, item])
            return sums
        for slates in self.own:
            sums.add(self.blocks, slates, self.shown / len(self.own))
        return sums
