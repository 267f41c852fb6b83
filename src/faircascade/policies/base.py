"""The contract of a policy: recommend and learn, as two independent calls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.observations import FirstClick
from faircascade.propensities import Propensities
from faircascade.registry import Component
from faircascade.rerankers.ledger import Ledger, Scope
from faircascade.rewards import RegressionTable, RewardTable
from faircascade.types import Bools, Feedback, Floats, Ints, Items, Pool, Rows, Slates, Users


@dataclass(kw_only=True, eq=False)
class PolicyState:
    """What a policy knows: its users, and what was learned of them, a row for each."""

    users: Users
    learned: Any
    """Has the methods `take`, `join`, `arrays` and `restore`, as `ItemSums` has."""


class Policy(Component):
    """Parameters only; what is learned lives in the state that `start` returns.

    A policy must have `start` and `recommend`, and `update` if it learns. One whose state is not a
    `PolicyState` must have `take`, `join`, `arrays` and `restore`, too.
    """

    kind: ClassVar[str] = "policy"

    @property
    def label(self) -> str:
        """A short name for tables and figures."""
        return type(self).__name__

    learns: ClassVar[bool] = True
    """False if feedback changes nothing."""
    omniscient: ClassVar[bool] = False
    """True if it shows the best slates of an environment, which only a simulator knows."""

    @property
    def components(self) -> tuple[Component, ...]:
        """The policy and its parts: what an engine must know to run it."""
        return (self,)

    @property
    def made_of(self) -> tuple[Component, ...]:
        """Everything that decides what it does."""
        return self.components

    @property
    def conditional(self) -> bool:
        """Whether what it believes of an item depends on the items above: see `Estimator`."""
        return False

    @property
    def needs_topics(self) -> bool:
        """Whether it learns from the topics of items, so that they must have some."""
        return False

    @property
    def needs_features(self) -> bool:
        """Whether it knows items by their features, and not by their ids alone."""
        return True

    @property
    def without_sums(self) -> str:
        """Why `sums` raises a TypeError, if it does: the service then refuses the policy."""
        return "what it learns of a user is no fixed list of sums"

    @property
    def unserved(self) -> str:
        """Why the service cannot serve it although it keeps sums; nothing if it can."""
        return ""

    @property
    def refuses_values(self) -> str:
        """Why it cannot learn from feedback in which positions have values, if so."""
        return "it learns from clicks alone" if self.learns else ""

    @property
    def needs_every_item(self) -> bool:
        """Whether it takes every item for one that could have been shown: see `Estimator`."""
        return False

    @property
    def needs_all_scores(self) -> bool:
        """Whether every slate needs the scores of all items."""
        return False

    @property
    def itemwise(self) -> bool:
        """Whether slates can be put together from those of parts of the pool: see `Exploration`."""
        return False

    @property
    def harmful_in(self) -> str | None:
        """The world in which it is known to make exposure less equal, if there is one."""
        return None

    def reward_table(self, k: int) -> RewardTable | None:
        """Return what positions are worth in slates of length k; None if it does not learn."""
        return None

    def regression_table(self, k: int) -> RegressionTable | None:
        """Return what an estimator makes of that, for compiled engines; None if none does."""
        return None

    def seen(self, clicks: Bools, shown: Ints) -> Floats:
        """Return how much of each position it takes as seen, (n, K): see `Observation`."""
        return FirstClick().seen(clicks, shown)

    def dim_of(self, items: Items) -> int:
        """Return how many numbers of an item it learns from: its features.

        Items that it cannot learn from are refused.
        """
        return items.dim

    @abstractmethod
    def start(self, users: Users, dim: int) -> Any:
        """Return the state before any feedback, for items of which `dim` numbers are learned."""

    @abstractmethod
    def recommend(
        self, state: Any, users: Rows, pool: Pool, k: int, *, round: int | Ints, seed: int
    ) -> Slates:
        """Return a slate of k distinct items of the pool for each of some users."""

    def update(self, state: Any, users: Rows, feedback: Feedback) -> None:
        """Learn from feedback: late, in batches, in any order; each user at most once a call."""
        return

    def give_back(self, state: Any, users: Rows, feedback: Feedback) -> None:
        """Take exposure that `recommend` entered in an account back, if it was not shown."""
        return

    @property
    def is_random(self) -> bool:
        """Whether chance has a say in its slates, beyond ties; it has unless a class denies it."""
        return True

    def propensities(
        self, state: Any, users: Rows, pool: Pool, slates: Ints, *, round: int | Ints, seed: int
    ) -> Propensities | None:
        """Return how likely `recommend` was to give these slates, catalogue rows (n, K).

        The state is that from before the slates were recommended. None if it is not known exactly,
        or if there is nothing to know because nothing is drawn; which of these is a matter of the
        parameters alone.
        """
        return None

    @property
    def ledger_scope(self) -> Scope | None:
        """Whose exposure its slates depend on: each user's own, everybody's together, or none."""
        return None

    @property
    def shares(self) -> bool:
        """True if a slate depends on what other users did or were shown: rounds keep step then."""
        return self.ledger_scope == "global"

    @property
    def indivisible(self) -> bool:
        """True if users learn from each other, so that all of them must have one state."""
        return False

    def account(self, state: Any) -> Ledger | None:
        """Return the account of exposure in a state, if it keeps one there."""
        return None

    def with_account(self, state: Any, account: Ledger) -> Any:
        """Return a state with another account of exposure."""
        raise TypeError(f"policy {self.name!r} keeps no account of exposure in its state")

    def settle(self, states: Sequence[Any]) -> None:
        """End a round of a policy that shares: let the states of all users know of it."""
        return

    def sums(self, state: Any) -> Floats:
        """Return what was learned as sums over feedback, one row for each user, (n, s).

        Sums can be kept apart from the policy and grow in any order, by several processes at
        once. A policy without sums cannot be served by such.
        """
        raise TypeError(f"policy {self.name!r} does not keep what it learns as sums")

    def increments(self, feedback: Feedback) -> Floats:
        """Return what feedback adds to the sums of its users, (n, s)."""
        raise TypeError(f"policy {self.name!r} does not keep what it learns as sums")

    def from_sums(
        self, users: Users, sums: Floats, dim: int, *, ledger: Ledger | None = None
    ) -> Any:
        """Return the state that sums make, with a ledger if there is to be one."""
        raise TypeError(f"policy {self.name!r} does not keep what it learns as sums")

    def ledger_of(self, items: Items, units: Ints) -> Ledger | None:
        """Return the account that follows from the exposure of items in units, (n or 1, m), if the
        policy keeps one."""
        return None

    @property
    def width_factor(self) -> float:
        """How much of a confidence width a score gains: exploration is this times the width."""
        return 0.0

    def widths(self, state: Any, users: Rows, pool: Pool, slates: Ints) -> Floats:
        """Return the mean confidence width of each slate, catalogue rows (n, K), (n,)."""
        return np.zeros(len(slates))

    def scale_warning(self, norm: float, rows: float) -> str:
        """Return what is wrong with the scale of features, if anything: see `Estimator`."""
        return ""

    def describe(self, state: Any, row: int) -> dict[str, Any]:
        """Return what is known of one user as plain data, for people to look at."""
        return {}

    def join(self, states: Sequence[Any]) -> Any:
        """Return one state for the users of several, in their order."""
        learned = [state.learned for state in states]
        users = Users.join([state.users for state in states])
        return PolicyState(users=users, learned=type(learned[0]).join(learned))

    def take(self, state: Any, users: Rows) -> Any:
        """Return a copy of the state with some of its users."""
        return PolicyState(users=state.users[users], learned=state.learned.take(users))

    def arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return what was learned as arrays, to be stored."""
        arrays: dict[str, NDArray[Any]] = state.learned.arrays()
        return arrays

    def restore(self, users: Users, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the state that `arrays` described."""
        kind = type(self.start(users, 1).learned)
        return PolicyState(users=users, learned=kind.restore(arrays))
