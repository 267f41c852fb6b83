"""Knowledge that is a list of sums, learned from a log in parallel.

What each impression adds is computed by threads, and added in the order of the log, so that the
sums have the bits of a service that learned slate by slate, whatever the number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.cores import cores
from faircascade.data.base import Progress
from faircascade.data.log import Impressions
from faircascade.errors import ParameterError
from faircascade.history.reader import LogReader, by_length, lengthen
from faircascade.policies import Policy
from faircascade.types import Floats, Ints, Items, Users

CHUNK = 2048
"""Impressions whose sums are computed together: what they need stays in the cache."""
AHEAD = 8
"""Chunks for each thread that are computed while others are read and added."""

Known = Callable[[Sequence[str]], Mapping[int, Floats]]
"""Takes names of users, and returns the sums of those who have some, by their places."""
_Pending = deque[tuple[Any, Future[Floats]]]


@dataclass(frozen=True, kw_only=True, eq=False)
class UserSums:
    """What was learned of users as sums, and how many slates each of them has had."""

    users: Sequence[str]
    sums: Floats
    """(n, s)."""
    rounds: Ints
    """(n,)."""


def has_sums(policy: Policy, items: Items) -> bool:
    """Tell whether all that a policy knows of a user is a fixed list of sums."""
    try:
        _sums_of_nobody(policy, items)
    except TypeError:
        return False
    return policy.ledger_scope is None


def _sums_of_nobody(policy: Policy, items: Items) -> Floats:
    """Return the sums of no users, (0, s)."""
    return policy.sums(policy.start(Users(ids=np.empty(0, dtype=str)), policy.dim_of(items)))


def learn_sums(
    policy: Policy,
    reader: LogReader,
    *,
    known: Known | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> UserSums:
    """Return the sums of all users of a log, and how many slates it has of each.

    `known` tells of users who have had feedback before: it is added to their sums. Memory holds
    the sums of all users, and no more than a block of the log.
    """
    if threads is not None and threads < 1:
        raise ParameterError("threads", "must be at least 1", threads)
    threads = threads or cores()
    table = _SumsTable(policy, reader, known)
    with ThreadPoolExecutor(threads) as pool:
        pending: _Pending = deque()
        for block in reader.blocks(progress):
            table.meet(block.users)
            for first in range(0, len(block), CHUNK):
                chunk = block.take(slice(first, first + CHUNK))
                pending.append((chunk.users, pool.submit(_increments, policy, reader.items, chunk)))
                while pending and (len(pending) > AHEAD * threads or pending[0][1].done()):
                    _add_oldest(table, pending)
        while pending:
            _add_oldest(table, pending)
    codes, names = reader.users
    return UserSums(users=names, sums=table.sums_of(codes), rounds=table.rounds[codes])


def _add_oldest(table: _SumsTable, pending: _Pending) -> None:
    users, increments = pending.popleft()
    table.add(users, increments.result())


def _increments(policy: Policy, items: Items, chunk: Impressions) -> Floats:
    """Return what each impression adds to the sums of its user, (n, s)."""
    found: Floats | None = None
    for rows, feedback in by_length(items, chunk):
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            some = policy.increments(feedback)
        if len(rows) == len(chunk):
            return some
        if found is None:
            found = np.empty((len(chunk), some.shape[1]))
        found[rows] = some
    assert found is not None
    return found


class _SumsTable:
    """Sums of users by their codes in a log; it grows as users are met."""

    def __init__(self, policy: Policy, reader: LogReader, known: Known | None) -> None:
        self.sums = np.zeros(_sums_of_nobody(policy, reader.items).shape)
        self.rounds = np.zeros(0, dtype=np.int64)
        self._log = reader.log
        self._known = known
        self._met = 0  # codes below this

    def meet(self, users: Any) -> None:
        """Make room for the users of a block."""
        size = int(users.max(initial=-1)) + 1
        lengthen(self.sums, size)
        lengthen(self.rounds, size)
        if size > self._met:
            if self._known is not None:
                names = list(map(str, self._log.user_ids_from(self._met)[: size - self._met]))
                for place, sums in self._known(names).items():
                    self.sums[self._met + place] = sums
            self._met = size

    def add(self, users: Any, increments: Floats) -> None:
        """Add what impressions teach, those of a user in their order."""
        np.add.at(self.rounds, users, 1)
        if not increments.shape[1]:
            return
        _, first = np.unique(users, return_index=True)
        if len(first) == len(users):
            self._add_once(users, increments)
            return
        self._add_once(users[first], increments.take(first, axis=0))
        again = np.ones(len(users), dtype=bool)
        again[first] = False
        size = increments.shape[1]
        places = users[again].astype(np.int64)[:, None] * size + np.arange(size)
        np.add.at(self.sums.reshape(-1), places.reshape(-1), increments[again].reshape(-1))

    def _add_once(self, users: Any, increments: Floats) -> None:
        """Add to the sums of users who are all different."""
        found = self.sums.take(users, axis=0)  # faster than by index
        found += increments
        self.sums[users] = found

    def sums_of(self, users: Ints) -> Floats:
        """Return the sums of users by ascending codes, (n, s); they are not kept here."""
        found, self.sums = self.sums, self.sums[:0]
        if len(users) == users.max(initial=-1) + 1:  # all of them
            found.resize((len(users), *found.shape[1:]), refcheck=False)
            return found
        return found[users]
