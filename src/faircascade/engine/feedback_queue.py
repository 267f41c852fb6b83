"""Feedback that is on its way to the policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.types import Bools, Ints


class Waiting(NamedTuple):
    """Feedback of one round on some users."""

    round: int
    """When the slates were shown."""
    users: Ints  # rows, (n,)
    slates: Ints  # catalogue rows, (n, K)
    clicks: Bools  # (n, K)


class FeedbackQueue:
    """Keeps feedback until its round comes."""

    def __init__(self) -> None:
        self._due: dict[int, list[Waiting]] = {}

    def __bool__(self) -> bool:
        return bool(self._due)

    def put(self, feedback: Waiting, waits: Ints) -> None:
        """Keep feedback for some rounds, (n,), each at least 0."""
        for wait in np.unique(waits).tolist():
            these = waits == wait
            part = (feedback.users[these], feedback.slates[these], feedback.clicks[these])
            self._due.setdefault(feedback.round + wait, []).append(Waiting(feedback.round, *part))

    def take(self, round: int) -> list[Waiting]:
        """Return what is due in a round, the oldest first."""
        return sorted(self._due.pop(round, []), key=lambda feedback: feedback.round)

    def arrays(self, first_user: int) -> dict[str, NDArray[Any]]:
        """Return what is waiting as arrays; the first of these users has that row in all."""
        kept = [(due, f) for due, waiting in self._due.items() for f in waiting]
        if not kept:
            return {}
        return {
            "due": np.concatenate([np.full(len(f.users), due) for due, f in kept]),
            "round": np.concatenate([np.full(len(f.users), f.round) for _, f in kept]),
            "users": np.concatenate([f.users + first_user for _, f in kept]),
            "slates": np.concatenate([f.slates for _, f in kept]),
            "clicks": np.concatenate([f.clicks for _, f in kept]),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], users: slice) -> FeedbackQueue:
        """Return the queue of some users out of what `arrays` described, of all."""
        queue = cls()
        if arrays:
            ours = (arrays["users"] >= users.start) & (arrays["users"] < users.stop)
            for due, round, these in _groups(arrays["due"], arrays["round"], ours):
                queue._due.setdefault(due, []).append(
                    Waiting(
                        round,
                        arrays["users"][these] - users.start,
                        arrays["slates"][these],
                        arrays["clicks"][these],
                    )
                )
        return queue


def _groups(due: Ints, round: Ints, ours: Bools) -> Iterator[tuple[int, int, Bools]]:
    pairs = np.unique(np.column_stack([due[ours], round[ours]]), axis=0)
    for d, r in pairs.tolist():
        yield d, r, ours & (due == d) & (round == r)
