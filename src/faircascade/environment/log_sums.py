"""Clicks of users on items, and how often they looked at these, from a log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.data.log import Impressions, Log
from faircascade.fitting import FittedClickModel
from faircascade.fitting.likelihood import predict
from faircascade.random import uniforms
from faircascade.types import Bools, Floats, Ints

MOST_HELD_OUT = 400_000
"""Impressions that are held out at most."""
_NEW = 1 << 22
"""Occurrences of pairs that are put aside at least before they are added up."""


class HeldOut(NamedTuple):
    """Impressions that no preference was made of."""

    users: NDArray[np.int32]
    items: Ints
    """0 where nothing is present, (n, K)."""
    clicks: Bools
    present: Bools
    lots: Floats

    def __len__(self) -> int:
        return len(self.users)

    def take(self, rows: Any) -> HeldOut:
        some: Any = (array[rows] for array in self)
        return HeldOut(*some)


class LogSums(NamedTuple):
    """Pairs of user and item that were shown, (p,) each, sorted by user and item."""

    users: Ints
    items: Ints
    clicks: Floats
    looks: Floats
    """How often the user looked at the item, as the click model has it, given the clicks above."""
    impressions: Ints
    """Of each user, (n,)."""
    n_items: int

    def of_items(self, values: Floats) -> Floats:
        """Add up values of pairs by item, (m,)."""
        return np.asarray(np.bincount(self.items, values, minlength=self.n_items), dtype=float)

    def of_users(self, values: Floats) -> Floats:
        """Add up values of pairs by user, (n,)."""
        n = len(self.impressions)
        return np.asarray(np.bincount(self.users, values, minlength=n), dtype=float)


def read_sums(
    log: Log, fitted: FittedClickModel, *, held_out: float, seed: int
) -> tuple[LogSums, HeldOut]:
    """Read a log once more, and hold out some impressions of whichever users.

    What is kept in memory are the pairs of user and item that occur, and what is held out.
    """
    n_items, k, share = len(fitted.attraction), fitted.k, held_out
    pairs, held = _Pairs(n_items), list[HeldOut]()
    for block in log.blocks():
        impressions = _part(block.widened(max(k, block.k)), log.has_users, seed)
        out = impressions.lots < share
        pairs.add(impressions.take(~out), fitted)
        held.append(impressions.take(out))
        while sum(map(len, held)) > MOST_HELD_OUT:
            share /= 2
            for part in held:
                pairs.add(part.take(part.lots >= share), fitted)
            held = [part.take(part.lots < share) for part in held]
    users = len(log.user_ids) if log.has_users else 1
    joined: Any = (np.concatenate(some) for some in zip(*held, strict=True))
    return pairs.sums(users), HeldOut(*joined)


def _part(block: Impressions, has_users: bool, seed: int) -> HeldOut:
    present = (block.items >= 0) & (np.arange(block.k) < block.shown[:, None])
    return HeldOut(
        users=block.users if has_users else np.zeros_like(block.users),
        items=np.where(present, block.items, 0).astype(np.int64),
        clicks=block.clicks & present,
        present=present,
        lots=uniforms(seed, "calibration", np.arange(block.first, block.first + len(block))),
    )


class _Pairs:
    """Sums of pairs, block by block."""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items
        self.keys: Ints = np.zeros(0, dtype=np.int64)
        self.values = np.zeros((2, 0))
        self._new: list[tuple[Ints, Floats]] = []  # occurrences that are not among the pairs yet
        self.impressions: Ints = np.zeros(0, dtype=np.int64)

    def add(self, part: HeldOut, fitted: FittedClickModel) -> None:
        if not len(part):
            return
        known = np.where(part.present, fitted.attraction[part.items], 0.0)
        looks = predict(fitted.click_model, known, part.items, part.clicks).examined
        key = (part.users.astype(np.int64)[:, None] * self.n_items + part.items)[part.present]
        more = np.stack([part.clicks[part.present].astype(float), looks[part.present]])
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

    def sums(self, users: int) -> LogSums:
        self._merge()
        impressions = np.pad(self.impressions, (0, users - len(self.impressions)))
        clicks, looks = self.values
        return LogSums(
            self.keys // self.n_items, self.keys % self.n_items, clicks, looks, impressions,
            self.n_items,
        )  # fmt: skip
