"""Some users of a log with all of their impressions, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from faircascade.data.base import Progress
from faircascade.data.log import Impressions, Log
from faircascade.data.log.impressions import NOTHING
from faircascade.random import uniforms
from faircascade.types import Ids


class KnownLog(Protocol):
    """A log, or a part of one, that was read before."""

    @property
    def name(self) -> str: ...
    @property
    def item_ids(self) -> Ids: ...
    @property
    def user_ids(self) -> Ids: ...
    @property
    def has_users(self) -> bool: ...
    def blocks(self, progress: Progress | None = None) -> Iterator[Impressions]: ...


@dataclass(frozen=True)
class LogSample:
    """A log in memory."""

    name: str
    item_ids: Ids
    user_ids: Ids
    has_users: bool
    parts: tuple[Impressions, ...]
    k: int
    """The longest slate of the log."""
    of: int
    """Impressions of the log."""
    several: int = 0
    """Those with more than one click."""
    clicks: int = 0
    """All clicks."""

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def blocks(self, progress: Progress | None = None) -> Iterator[Impressions]:
        """Yield the impressions in the order of the log."""
        yield from self.parts


def sample_users(log: Log, most: int, seed: int) -> LogSample:
    """Read a log once more, and keep users drawn at random whose impressions are `most` or fewer;
    of a single user, the first ones."""
    share, kept, k, total = 1.0, list[Impressions](), 1, 0
    several = clicks = 0
    for block in log.blocks():
        k, total = max(k, block.k), total + len(block)
        here = block.clicks & (np.arange(block.k) < block.shown[:, None])
        several, clicks = several + int((here.sum(axis=1) > 1).sum()), clicks + int(here.sum())
        kept.append(_of_users(block, share, seed))
        while sum(map(len, kept)) > most:
            share /= 2
            fewer = [_of_users(part, share, seed) for part in kept]
            if not sum(map(len, fewer)):
                break
            kept = fewer
    users = np.unique(np.concatenate([part.users for part in kept]))
    codes = np.full(int(users.max(initial=NOTHING)) + 1, NOTHING, dtype=np.int32)
    codes[users] = np.arange(len(users))
    parts, first = [], 0
    for part in kept:
        parts.append(replace(part, users=codes[part.users], first=first))
        first += len(part)
    ids = log.user_ids[users] if log.has_users else log.user_ids
    return LogSample(
        log.name, log.item_ids, ids, log.has_users, tuple(parts), k, total, several, clicks
    )


def _of_users(block: Impressions, share: float, seed: int) -> Impressions:
    lots = uniforms(seed, "sample of users", block.users)
    return block.take(lots < share)
