"""Policies whose knowledge is more than sums, fed from a log in its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import Impressions
from faircascade.history.reader import LogReader, by_length
from faircascade.policies import Policy
from faircascade.types import Ints, Items, Users

TOGETHER = 256
"""Users who are fed together at most."""


def learn_in_order(
    policy: Policy,
    reader: LogReader,
    state_of: Callable[[str], Any],
    *,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the states of all users of a log after its impressions, and how many each had.

    `state_of` returns the state of a user before.
    """
    states: dict[str, Any] = {}
    had: Counter[str] = Counter()
    together, known = 0, list[str]()  # names of users by their codes
    for block in reader.blocks(progress):
        together = together or _users_together(policy, reader.items, block)
        codes, users = np.unique(block.users, return_inverse=True)
        known.extend(map(str, reader.log.user_ids_from(len(known))))
        names = [known[code] for code in codes.tolist()]
        had.update(dict(zip(names, np.bincount(users).tolist(), strict=True)))
        order = np.argsort(users, kind="stable")
        firsts = np.arange(0, len(codes), together)
        edges = np.append(np.searchsorted(users[order], firsts), len(order))
        for first, (begin, end) in zip(firsts.tolist(), pairwise(edges.tolist()), strict=True):
            some, mine = names[first : first + together], order[begin:end]
            joined = policy.join([states[n] if n in states else state_of(n) for n in some])
            _feed(policy, joined, reader.items, block.take(mine), users[mine] - first)
            for row, name in enumerate(some):
                states[name] = policy.take(joined, slice(row, row + 1))
    return states, dict(had)


def _users_together(policy: Policy, items: Items, block: Impressions) -> int:
    """Return how many users to feed together: one if what is known of a user grows with items.

    A joined state has the items of all its users, and so would theirs.
    """
    state = policy.start(Users(ids=np.array(["anybody"])), policy.dim_of(items))
    before = {name: array.shape for name, array in policy.arrays(state).items()}
    _feed(policy, state, items, block.take(slice(1)), np.zeros(1, dtype=np.int64))
    after = {name: array.shape for name, array in policy.arrays(state).items()}
    return TOGETHER if before == after else 1


def _feed(policy: Policy, state: Any, items: Items, some: Impressions, users: Ints) -> None:
    """Feed impressions sorted by user, first the first one of each, then the second, ..."""
    turn = np.arange(len(users)) - np.searchsorted(users, users)
    for now in range(int(turn.max(initial=-1)) + 1):
        rows = np.flatnonzero(turn == now)
        for which, feedback in by_length(items, some.take(rows)):
            mine = users[rows[which]]
            if policy.ledger_scope is not None:
                slates = some.items[rows[which], : feedback.clicks.shape[1]].astype(np.int64)
                state.ledger.enter(mine, slates, items)
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                policy.update(state, mine, feedback)
            policy.give_back(state, mine, feedback)
