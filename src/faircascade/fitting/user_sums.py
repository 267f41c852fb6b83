"""Clicks of users on items, and how often they looked at these, from a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log import Impressions
from faircascade.fitting.log_sample import KnownLog
from faircascade.types import Bools, Floats, Ints


class UserSlates(NamedTuple):
    """Impressions in memory: whose, of what, and what was clicked."""

    users: NDArray[np.int32]
    items: Ints
    """0 where nothing is present, (n, K)."""
    clicks: Bools
    present: Bools

    def __len__(self) -> int:
        return len(self.users)

    @classmethod
    def of(cls, block: Impressions, k: int, has_users: bool) -> UserSlates:
        """Return a block, at least k positions wide; without users it is all of one."""
        block = block.widened(max(k, block.k))
        present = (block.items >= 0) & (np.arange(block.k) < block.shown[:, None])
        return cls(
            users=block.users if has_users else np.zeros_like(block.users),
            items=np.where(present, block.items, 0).astype(np.int64),
            clicks=block.clicks & present,
            present=present,
        )

    def take(self, rows: Any) -> UserSlates:
        some: Any = (array[rows] for array in self)
        return UserSlates(*some)


_NEW = 1 << 22
"""Occurrences of pairs that are put aside at least before they are added up."""
Looks = Callable[[UserSlates], Floats]
"""Returns how likely users looked at each position, given the clicks above, (n, K)."""


class UserSums(NamedTuple):
    """Pairs of user and item that were shown, (p,) each, sorted by user and item."""

    users: Ints
    items: Ints
    clicks: Floats
    looks: Floats
    """Expected, given the clicks above."""
    times: Floats
    """How often the user may have looked."""
    impressions: Ints
    """Of each user, (n,)."""
    n_items: int

    def of_items(self, values: Floats) -> Floats:
        """Add up values of pairs by item, (m,)."""
        return np.asarray(np.bincount(self.items, values, minlength=self.n_items), dtype=float)


def read_sums(log: KnownLog, looks: Looks, *, k: int, until: int | None = None) -> UserSums:
    """Read a log, or its first so many impressions; pairs that occur are kept in memory."""
    pairs = _Pairs(len(log.item_ids))
    for block in log.blocks():
        if until is not None and block.first >= until:
            break
        slates = UserSlates.of(block, k, log.has_users)
        if until is not None and block.first + len(block) > until:
            slates = slates.take(slice(until - block.first))
        pairs.add(slates, looks)
    return pairs.sums(len(log.user_ids) if log.has_users else 1)


class _Pairs:
    """Sums of pairs, block by block."""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items
        self.keys: Ints = np.zeros(0, dtype=np.int64)
        self.values = np.zeros((3, 0))
        self._new: list[tuple[Ints, Floats]] = []  # occurrences that are not among the pairs yet
        self.impressions: Ints = np.zeros(0, dtype=np.int64)

    def add(self, part: UserSlates, looks: Looks) -> None:
        if not len(part):
            return
        key = (part.users.astype(np.int64)[:, None] * self.n_items + part.items)[part.present]
        more = np.stack([part.clicks[part.present], *_looks(looks(part)[part.present])])
        self._new.append((key, more))
        if sum(len(keys) for keys, _ in self._new) > max(len(self.keys), _NEW):
            self._merge()
        counts = np.bincount(part.users)
        size = max(len(counts), len(self.impressions))
        self.impressions = np.pad(self.impressions, (0, size - len(self.impressions)))
        self.impressions[: len(counts)] += counts

    def _merge(self) -> None:
        """Add occurrences to their pairs, in the order of the log; each time costs all pairs."""
        keys, values = zip((self.keys, self.values), *self._new, strict=True)
        self.keys, of = np.unique(np.concatenate(keys), return_inverse=True)
        together = np.concatenate(values, axis=1)
        self.values = np.stack([np.bincount(of, each, len(self.keys)) for each in together])
        self._new = []

    def sums(self, users: int) -> UserSums:
        self._merge()
        impressions = np.pad(self.impressions, (0, users - len(self.impressions)))
        clicks, looks, times = self.values
        return UserSums(
            self.keys // self.n_items, self.keys % self.n_items, clicks, looks, times,
            impressions, self.n_items,
        )  # fmt: skip


def _looks(looks: Floats) -> tuple[Floats, Floats]:
    """Return looks, and where there may have been one."""
    return looks, (looks > 0).astype(np.float64)
