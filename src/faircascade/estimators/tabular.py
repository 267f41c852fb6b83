"""A table of means: one for each item, of each user or of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError
from faircascade.estimators.base import Beliefs, Estimator, Evidence
from faircascade.estimators.item_sums import ItemSums
from faircascade.ranking import Scores
from faircascade.registry import register
from faircascade.types import Floats, Ints, Pool, Rows

TableScope = Literal["user", "shared"]
"""Whose clicks a table holds: each user's own, or those of all users."""


def check_table_scope(scope: str) -> None:
    """Refuse an unknown scope."""
    if scope not in get_args(TableScope):
        raise ParameterError("scope", f"must be one of {', '.join(get_args(TableScope))}", scope)


@dataclass(kw_only=True, eq=False)
class TabularState:
    """Sums of each item, in a row for each user or in one for all of them."""

    items: ItemSums
    """Targets S, positions seen N, and how much of them was seen N~, (3, rows, m)."""
    slates: Ints
    """How many slates were learned in each row, (rows,)."""
    row_of: Ints
    """The row of each user, (n,)."""


@register("tabular", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class Tabular(Estimator):
    """The mean of what each item earned when it was seen: S / N~, N~ the sum of `seen`.

    Knows nothing of features. S is the sum of targets, each divided by the largest that a position
    of the slate can have, so that means of weighted clicks are at most 1, too; penalties may make
    them negative. Clicks are not multiplied by `seen`: where positions are looked at that often,
    the mean is unbiased.

    The service refuses it: it keeps a fixed number of sums for each user.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"mean", "counts", "positions", "time"})
    needs_features: ClassVar[bool] = False

    scope: TableScope = "user"
    """Whose clicks count: `user`, each user's own, or `shared`, those of all users."""

    def __post_init__(self) -> None:
        check_table_scope(self.scope)

    @property
    def shares(self) -> bool:
        return self.scope == "shared"

    def kernel(self) -> Mapping[str, Any]:
        return {"shared": True} if self.shares else {"tabular": True}

    def start(self, users: int, dim: int) -> TabularState:
        rows = 1 if self.shares else users
        return TabularState(
            items=ItemSums.start(rows, sums=3),
            slates=np.zeros(rows, dtype=np.int64),
            row_of=np.zeros(users, dtype=np.int64) if self.shares else np.arange(users),
        )

    def update(self, state: TabularState, rows: Rows, evidence: Evidence) -> None:
        """Learn slates; of positions that were not seen not even the item is noted."""
        row_of = state.row_of[rows]
        who, where = np.nonzero(evidence.seen > 0)
        state.items.add_pairs(
            row_of[who],
            evidence.items[who, where],
            evidence.targets[who, where] / evidence.largest,
            np.ones(len(who)),
            evidence.seen[who, where],
        )
        np.add.at(state.slates, row_of, 1)

    def beliefs(self, state: TabularState, rows: Rows, pool: Pool) -> TabularBeliefs:
        row_of = state.row_of[rows]
        targets, positions, seen = state.items.of_pool(row_of, pool)
        time = (1 + state.slates[row_of]).astype(np.float64)
        return TabularBeliefs(targets, positions, seen, time)

    def take(self, state: TabularState, rows: Rows) -> TabularState:
        row_of = state.row_of[rows]
        kept: Rows = slice(None) if self.shares else row_of
        return TabularState(
            items=state.items.take(kept),
            slates=state.slates[kept].copy(),
            row_of=row_of.copy() if self.shares else np.arange(len(row_of)),
        )

    def join(self, states: Sequence[TabularState]) -> TabularState:
        """Return one state for the users of several, who all have one table if it is shared."""
        parts = states[:1] if self.shares else states
        users = sum(len(state.row_of) for state in states)
        return TabularState(
            items=ItemSums.join([state.items for state in parts]),
            slates=np.concatenate([state.slates for state in parts]),
            row_of=np.zeros(users, dtype=np.int64) if self.shares else np.arange(users),
        )

    def arrays(self, state: TabularState) -> dict[str, NDArray[Any]]:
        return {**state.items.arrays(), "slates": state.slates, "row_of": state.row_of}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> TabularState:
        return TabularState(
            items=ItemSums.restore(arrays), slates=arrays["slates"], row_of=arrays["row_of"]
        )

    def describe(self, state: TabularState, row: int) -> dict[str, Any]:
        row = int(state.row_of[row])
        targets, _, seen = state.items.sums[:, row]
        met = seen > 0
        means = (targets[met] / seen[met]).tolist()
        return {
            "slates": int(state.slates[row]),
            "means": dict(zip(state.items.ids[met].tolist(), means, strict=True)),
        }


class TabularBeliefs(Beliefs):
    """Means, counts and the time, of users and items."""

    def __init__(self, targets: Floats, positions: Floats, seen: Floats, time: Floats) -> None:
        """Take sums (n, p) and the time (n,)."""
        self._targets = targets
        self._positions = positions
        self._seen = seen
        self._time = time

    def mean(self) -> Scores:
        return Scores.final(self._targets / np.where(self._seen > 0, self._seen, 1.0))

    def counts(self) -> Floats:
        return self._seen

    def positions(self) -> Floats:
        return self._positions

    def time(self) -> Floats:
        return self._time
