"""What a ranker knows of its users: a state for each, or sums until a state is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from faircascade.data.base import Progress
from faircascade.history import LogReader, has_sums, learn_in_order, learn_sums
from faircascade.policies import Policy
from faircascade.types import Floats, Users


class UserModels:
    """States by user. Those of users who were learned from a log are made when they come back."""

    def __init__(self, policy: Policy, dim: int) -> None:
        """Keep what a policy learns of users from `dim` numbers of an item."""
        self._policy = policy
        self._dim = dim
        self._states: dict[str, Any] = {}
        self._rows: dict[str, int] = {}  # of users without a state
        self._sums = np.empty((0, 0))

    def __contains__(self, user: str) -> bool:
        return user in self._states or user in self._rows

    def __setitem__(self, user: str, state: Any) -> None:
        self._states[user] = state
        self._rows.pop(user, None)

    def after(
        self, reader: LogReader, threads: int | None, progress: Progress | None
    ) -> tuple[UserModels, Iterable[tuple[str, int]]]:
        """Return what is known after a log, its users, and how many slates each had in it."""
        after = UserModels(self._policy, self._dim)
        if has_sums(self._policy, reader.items):
            known = self._known_sums if self._states or self._rows else None
            found = learn_sums(
                self._policy, reader, known=known, threads=threads, progress=progress
            )
            after._rows = dict(zip(found.users, range(len(found.users)), strict=True))
            after._sums = found.sums
            after._take_others(self)
            return after, zip(found.users, found.rounds.tolist(), strict=True)
        states, had = learn_in_order(self._policy, reader, self.__getitem__, progress=progress)
        after._states, after._rows, after._sums = self._states | states, self._rows, self._sums
        return after, had.items()

    def _take_others(self, before: UserModels) -> None:
        """Take what was known before of users of whom nothing is known here."""
        rows = self._rows
        self._states = {name: s for name, s in before._states.items() if name not in rows}
        others = [user for user in before._rows if user not in rows]
        if others:
            sums = before._sums[[before._rows[user] for user in others]]
            rows.update(zip(others, range(len(rows), len(rows) + len(others)), strict=True))
            self._sums = np.concatenate([self._sums, sums])

    def __getitem__(self, user: str) -> Any:
        """Return the state of a user, a new one if nothing is known."""
        known = self._states.get(user)
        if known is not None:
            return known
        users, row = Users(ids=np.array([user])), self._rows.get(user)
        if row is None:
            return self._policy.start(users, self._dim)
        return self._policy.from_sums(users, self._sums[row : row + 1], self._dim)

    def joined(self, users: Sequence[str]) -> Any:
        """Return one state of users, in their order."""
        if not self._rows:
            return self._policy.join([self._states[user] for user in users])
        waiting = [user for user in users if user in self._rows]
        rows = [self._rows[user] for user in waiting]
        made = self._policy.from_sums(Users(ids=np.array(waiting)), self._sums[rows], self._dim)
        ready = [user for user in users if user not in self._rows]
        state = self._policy.join([*(self._states[user] for user in ready), made])
        place = {user: row for row, user in enumerate((*ready, *waiting))}
        return self._policy.take(state, np.array([place[user] for user in users]))

    def sums(self, users: Sequence[str]) -> Floats:
        """Return what was learned of users as sums, in their order, (n, s)."""
        nobody = self._policy.start(Users(ids=np.empty(0, dtype=str)), self._dim)
        found = np.zeros((len(users), self._policy.sums(nobody).shape[1]))
        ready = [place for place, user in enumerate(users) if user in self._states]
        if ready:
            state = self._policy.join([self._states[users[place]] for place in ready])
            found[ready] = self._policy.sums(state)
        waiting = [place for place, user in enumerate(users) if user in self._rows]
        if waiting:
            found[waiting] = self._sums[[self._rows[users[place]] for place in waiting]]
        return found

    def _known_sums(self, users: Sequence[str]) -> Mapping[int, Floats]:
        """Return the sums of those users of whom something is known, by their places."""
        places = [place for place, user in enumerate(users) if user in self]
        found = self.sums([users[place] for place in places])
        return dict(zip(places, found, strict=True))
