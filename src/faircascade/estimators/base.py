"""The contract of an estimator: what is learned, and what is believed because of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from faircascade.random import Words
from faircascade.ranking import Scores
from faircascade.registry import Component
from faircascade.types import Bools, Floats, Ids, Ints, Items, Pool, Rows
from faircascade.weighing import Weighs


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Feedback as an estimator gets it: what was seen of each slate, and what that is worth."""

    items: Ids
    """Ids of the items, (n, K)."""
    features: Floats
    """Their feature rows as they were shown, (n, K, d)."""
    topics: Floats
    """How far they cover each topic, (n, K, t)."""
    clicks: Bools
    """Which positions were clicked, or are worth something all the same, (n, K)."""
    seen: Floats
    """How much of each position was seen, in [0, 1], (n, K)."""
    targets: Floats
    """What the reward model makes of each position, 0 where nothing was seen, (n, K)."""
    factors: Floats
    """What a feature row is multiplied by: 1, or the root of its weight if the estimator weighs
    observations (the targets are multiplied by it already); 0 where nothing was seen, (n, K)."""
    largest: float = 1.0
    """The largest target that a position of such a slate can have."""


class Beliefs:
    """What is believed of the items of a pool for some users. Each method is one kind of belief;
    an estimator names those that it has in `offers`."""

    conditional: ClassVar[bool] = False
    """True if they are of the items below others: see `given`."""

    def mean(self) -> Scores:
        """Return how attractive the items are expected to be."""
        raise NotImplementedError

    def width(self) -> Scores:
        """Return how uncertain that is: half the width of a confidence interval."""
        raise NotImplementedError

    def sample(self, scale: float, *, seed: int, users: Words, round: int | Ints) -> Scores:
        """Return a draw from the posterior, its spread times a scale.

        Draws are keyed by seed, user (`users` are keys, (n,)) and round, and by the item where
        items are drawn independently.
        """
        raise NotImplementedError

    def fair_optimum(self, sharpness: float, radius: float) -> Scores:
        """Return the means under the parameters, no further than `radius` widths from those
        believed, that promise most if an item is drawn in proportion to exp(sharpness * mean)."""
        raise NotImplementedError

    def counts(self) -> Floats:
        """Return how often each item was seen, the sum of `seen`, (n, p)."""
        raise NotImplementedError

    def positions(self) -> Floats:
        """Return at how many positions each item was seen, if only in part, (n, p)."""
        raise NotImplementedError

    def time(self) -> Floats:
        """Return 1 + the number of slates that these beliefs were learned from, (n,)."""
        raise NotImplementedError

    def order(self) -> Ints:
        """Return the block of each item, (n, p): the items of block 0 come first."""
        raise NotImplementedError

    def given(self, above: Ints) -> Beliefs:
        """Return what is believed of the items below others, catalogue rows (n, j)."""
        return self

    def widths_of(self, slates: Ints, pool: Pool) -> Floats:
        """Return the widths of items of a pool, catalogue rows (n, K), (n, K)."""
        return self.width().of(slates, pool)


class Estimator(Component):
    """Parameters only; what is learned lives in the state that `start` returns.

    A state has a row for each user. Nobody outside looks into it: explorations and re-rankers
    see beliefs, stores and the service see sums, engines and files see `arrays`. An estimator must
    have `take`, `join`, `arrays` and `restore` if its state does not have these methods, as
    `UserArrays` and `ItemSums` do.
    """

    kind: ClassVar[str] = "estimator"

    offers: ClassVar[frozenset[str]] = frozenset({"mean"})
    """The beliefs that it has: `mean`, `width`, `sample`, `fair_optimum`, `counts`, `positions`,
    `time`, `order`."""
    refuses_weights: ClassVar[str] = ""
    """Why it can learn from plain clicks alone, if so: it refuses other reward models."""
    refuses_values: ClassVar[str] = ""
    """Why it cannot learn that a click is worth part of 1, if so."""
    refuses_penalties: ClassVar[str] = ""
    """Why it cannot learn from penalties, if so: it refuses reward models that have some."""
    weighs: Weighs = "targets"
    """Where the weights of a reward model enter; an estimator that knows both has a parameter."""
    conditional: ClassVar[bool] = False
    """True if what is believed of an item depends on the items above it: see `Beliefs.given`."""
    without_sums: ClassVar[str] = "what it learns of a user is no fixed list of sums"
    """Why `sums` raises a TypeError, if it does."""
    needs_topics: ClassVar[bool] = False
    """True if it learns from the topics of items, so that they must have some."""
    needs_features: ClassVar[bool] = True
    """False if items are known by their ids alone."""
    needs_every_item: ClassVar[bool] = False
    """True if it takes every item for one that could have been shown, and the feedback on a slate
    for feedback on what it knows now: items that come and go, and delays, are refused."""

    itemwise: ClassVar[bool] = False
    """True if what it believes of an item does not depend on which others are in the pool. As with
    explorations and re-rankers, that is not inherited."""

    @property
    def shares(self) -> bool:
        """Whether users learn from each other, so that they cannot be simulated apart."""
        return False

    def dim_of(self, items: Items) -> int:
        """Return how many numbers of an item it learns from: its features.

        Items that it cannot learn from are refused.
        """
        return items.dim

    @abstractmethod
    def start(self, users: int, dim: int) -> Any:
        """Return the state of users without feedback, for items of which `dim` numbers count."""

    @abstractmethod
    def update(self, state: Any, rows: Rows, evidence: Evidence) -> None:
        """Learn from evidence on some users, each at most once."""

    @abstractmethod
    def beliefs(self, state: Any, rows: Rows, pool: Pool) -> Beliefs:
        """Return what is believed of a pool of items for some users."""

    def take(self, state: Any, rows: Rows) -> Any:
        """Return a copy of the state of some users."""
        return state.take(rows)

    def join(self, states: Sequence[Any]) -> Any:
        """Return one state for the users of several, in their order."""
        return type(states[0]).join(states)

    def arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return the state as arrays by name, to be stored."""
        arrays: dict[str, NDArray[Any]] = state.arrays()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the state that `arrays` described; it may hold others besides."""
        return type(self.start(0, 1)).restore(arrays)

    def sums(self, state: Any) -> Floats:
        """Return what was learned as sums over feedback, one row for each user, (n, s).

        Sums can be kept apart from the policy and grow in any order, by several processes at
        once. The service needs them.
        """
        raise TypeError(f"estimator {self.name!r} does not keep what it learns as sums")

    def increments(self, evidence: Evidence) -> Floats:
        """Return what evidence adds to the sums of its users, (n, s)."""
        raise TypeError(f"estimator {self.name!r} does not keep what it learns as sums")

    def from_sums(self, sums: Floats, dim: int) -> Any:
        """Return the state that sums (n, s) make."""
        raise TypeError(f"estimator {self.name!r} does not keep what it learns as sums")

    def scale_warning(self, norm: float, rows: float) -> str:
        """Return what is wrong with the scale of features, if anything.

        `norm` is the largest norm of the items' features; so many rows are learned of a user.
        """
        return ""

    def describe(self, state: Any, row: int) -> dict[str, Any]:
        """Return what is known of one user as plain data, for people to look at."""
        return {}
