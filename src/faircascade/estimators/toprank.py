"""TopRank: which items are better than which, as far as their clicks have told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from faircascade.errors import ParameterError
from faircascade.estimators.base import Beliefs, Estimator, Evidence
from faircascade.estimators.states import ArrayState
from faircascade.random import ln
from faircascade.registry import register
from faircascade.types import Bools, Ids, Ints, Items, Pool, Rows

MOST_ITEMS = 256
"""Each user has a number for each pair of items: half a megabyte for so many."""
CONSTANT = 3.43
"""c of the source, which also writes 4 sqrt(2 / pi) / erf(sqrt(2)): that is 3.34."""


@dataclass(kw_only=True, eq=False)
class TopRankState(ArrayState):
    """What was learned of the pairs of items met so far, a row for each user."""

    ids: Ids
    """Items as text, in ascending order, (m,)."""
    lead: NDArray[np.int32]
    """S_ij: how often i was clicked and j was not, less how often j was and i was not, while
    they were in one block, (n, m, m)."""
    apart: NDArray[np.int32]
    """N_ij: how often one of the two was clicked, (n, m, m)."""
    better: Bools
    """Whether i is known to be better than j, (n, m, m)."""

    def __len__(self) -> int:
        return len(self.lead)


@register("toprank", engines=("cpu",))
@dataclass(frozen=True, slots=True, kw_only=True)
class TopRankBlocks(Estimator):
    """Blocks of items, the better ones first; within a block nobody knows (Lattimore et al. 2018).

    While two items share a block, their clicks are compared: j sinks below i when
    S_ij >= sqrt(2 N_ij ln(3.43 sqrt(N_ij) / delta)). Where items of a block are shown in random
    order, as `shuffled-blocks` does, that holds for any click model in which higher positions and
    more attractive items are clicked more. Items of the block that were not shown count as not
    clicked, so all items must be there in every round, and slates are to be answered in turn.
    Takes up to 256 items.
    """

    offers: ClassVar[frozenset[str]] = frozenset({"order"})
    needs_features: ClassVar[bool] = False
    needs_every_item: ClassVar[bool] = True
    refuses_weights: ClassVar[str] = (
        "it compares clicks of items that are shuffled, which leaves nothing of their positions "
        "to correct"
    )

    refuses_values: ClassVar[str] = "it compares clicks"

    delta: float = 1e-5
    """How likely a comparison may go wrong, in (0, 1): 1 / rounds in the source."""

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ParameterError("delta", "must be above 0 and below 1", self.delta)

    def kernel(self) -> Mapping[str, Any]:
        return {"compares": True, "delta": float(self.delta)}

    def dim_of(self, items: Items) -> int:
        check_few(items.ids[items.eligible])
        return items.dim

    def start(self, users: int, dim: int) -> TopRankState:
        return _state(np.empty(0, dtype="<U1"), users)

    def update(self, state: TopRankState, rows: Rows, evidence: Evidence) -> None:
        """Compare each clicked item with those of its block that were not."""
        clicked = evidence.clicks & (evidence.seen > 0)  # (n, K)
        users = np.arange(len(state))[rows]
        columns = _columns(state, evidence.items)
        for user in np.flatnonzero(clicked.any(axis=1)).tolist():
            self._compare(state, int(users[user]), columns[user, clicked[user]])

    def _compare(self, state: TopRankState, user: int, clicked: Ints) -> None:
        block = blocks(state.better[user : user + 1])[0]  # (m,)
        hit = np.zeros(len(state.ids), dtype=bool)
        hit[clicked] = True
        for i in clicked.tolist():
            others = np.flatnonzero((block == block[i]) & ~hit)
            for one, two, sign in ((i, others, 1), (others, i, -1)):
                state.lead[user, one, two] += sign
                state.apart[user, one, two] += 1
            needed = lead_needed(state.apart[user, i, others].astype(np.float64), self.delta)
            state.better[user, i, others] |= state.lead[user, i, others] >= needed

    def beliefs(self, state: TopRankState, rows: Rows, pool: Pool) -> BlockBeliefs:
        columns = _columns(state, pool.items.ids[pool.rows])
        return BlockBeliefs(blocks(state.better[rows][:, columns[:, None], columns]))

    def take(self, state: TopRankState, rows: Rows) -> TopRankState:
        parts = {name: getattr(state, name)[rows].copy() for name in ("lead", "apart", "better")}
        return replace(state, **parts)

    def join(self, states: Sequence[TopRankState]) -> TopRankState:
        ids = reduce(np.union1d, [state.ids for state in states])
        whole = [_spread(state, ids) for state in states]
        return TopRankState(
            ids=ids,
            lead=np.concatenate([state.lead for state in whole]),
            apart=np.concatenate([state.apart for state in whole]),
            better=np.concatenate([state.better for state in whole]),
        )

    def describe(self, state: TopRankState, row: int) -> dict[str, Any]:
        block = blocks(state.better[row : row + 1])[0]
        number = int(block.max(initial=-1)) + 1
        return {"blocks": [state.ids[block == each].tolist() for each in range(number)]}


class BlockBeliefs(Beliefs):
    """The block of each item, (n, p)."""

    def __init__(self, order: Ints) -> None:
        self._order = order

    def order(self) -> Ints:
        return self._order


def _state(ids: Ids, users: int) -> TopRankState:
    shape = (users, len(ids), len(ids))
    return TopRankState(
        ids=ids,
        lead=np.zeros(shape, dtype=np.int32),
        apart=np.zeros(shape, dtype=np.int32),
        better=np.zeros(shape, dtype=bool),
    )


def _columns(state: TopRankState, items: Ids) -> Ints:
    """Return the columns of items, which get one if they have none."""
    names = np.asarray(items).astype(str)
    if not np.isin(names, state.ids).all():
        grown = _spread(state, check_few(np.union1d(state.ids, names)))
        for each in fields(TopRankState):
            setattr(state, each.name, getattr(grown, each.name))
    return np.searchsorted(state.ids, names)


def check_few(ids: Ids) -> Ids:
    """Return items, unless there are too many for a number for each pair."""
    if len(ids) > MOST_ITEMS:
        raise ValueError(
            f"estimator 'toprank' compares all pairs of items, so it takes up to {MOST_ITEMS} "
            f"of them, got {len(ids):,}"
        )
    return ids


def lead_needed(apart: Any, delta: Any) -> Any:
    """Return the lead from which on an item is better than another, given N_ij >= 1."""
    return np.sqrt(2.0 * apart * ln(CONSTANT * np.sqrt(apart) / delta))


def _spread(state: TopRankState, ids: Ids) -> TopRankState:
    """Return a state with columns for some items, those met so far among them."""
    grown = _state(ids, len(state))
    here = np.searchsorted(ids, state.ids)
    for name in ("lead", "apart", "better"):
        getattr(grown, name)[:, here[:, None], here] = getattr(state, name)
    return grown


def blocks(better: Bools) -> Ints:
    """Return the block of each item (n, m), given which are better than which (n, m, m).

    A block holds the items that nothing left is better than; with comparisons that contradict each
    other (in a circle) there may be none, and the rest is one block.
    """
    n, m, _ = better.shape
    block = np.full((n, m), -1)
    for number in range(m):
        left = block < 0
        if not left.any():
            break
        beaten: Bools = np.any(better & left[:, :, None], axis=1)  # (n, m)
        free = left & ~beaten
        stuck: Bools = np.asarray(left.any(axis=1) & ~free.any(axis=1))
        block[free | (left & stuck[:, None])] = number
    return block
