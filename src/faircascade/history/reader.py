"""Impressions of a log as a policy can learn from them, and what becomes of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.data.base import DataError, Progress
from faircascade.data.log import Impressions, Log
from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.types import Bools, Feedback, Ints, Items

GAP = "a position has no item"
UNKNOWN_ITEM = "an item is not in the catalogue"
NOT_SHOWN = "no position was shown"
UNANSWERED = "no feedback came"


@dataclass(frozen=True, kw_only=True)
class LearnedLog:
    """What was learned from a log."""

    impressions: int
    """Impressions that were learned."""
    users: int
    """Users who saw them."""
    left_out: Mapping[str, int]
    """Impressions that were not learned, by the reason."""

    def __str__(self) -> str:
        known = f"{self.impressions:,} impressions of {self.users:,} users"
        return "; ".join((known, *self.reasons))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why impressions were left out, the most frequent reason first."""
        found = sorted(self.left_out.items(), key=lambda each: -each[1])
        return tuple(f"{n:,} left out: {why}" for why, n in found)


def check_learnable(policy: Policy, log: Log) -> None:
    """Refuse a policy that cannot learn from slates of others, and a log that names no users."""
    if policy.needs_every_item:
        rule = "must not need slates of its own: it compares items that it shuffled itself"
        raise ParameterError("policy", rule, policy.name)
    if not log.has_users:
        raise DataError(
            f"{log.name}: there is no column of users, so it teaches nothing about any; name it "
            "with user="
        )


class LogReader:
    """The impressions of a log that a policy can learn from, as rows of a catalogue."""

    def __init__(self, log: Log, items: Items, rows: Mapping[str, int]) -> None:
        """Read a log; `rows` are those of the items by their ids as text."""
        self.log = log
        self.items = items
        self.impressions = 0
        self.left_out: Counter[str] = Counter()
        self._rows = rows
        self._row_of = np.array([-1], dtype=np.int32)  # by the log's code; the last is of none
        self._met = np.empty(0, dtype=bool)  # users by the log's code

    def blocks(self, progress: Progress | None = None) -> Iterator[Impressions]:
        """Yield impressions with catalogue rows as items; empty ones come after the others."""
        for block in self.log.blocks(progress):
            items = self._found(block)
            empty = block.items < 0
            gap = empty[:, :-1] & ~empty[:, 1:]  # an item below a position nobody knows
            unknown = (items < 0) & ~empty
            good = np.ones(len(block), dtype=bool)
            for wrong, why in (
                (gap.any(axis=1), GAP),
                (unknown.any(axis=1), UNKNOWN_ITEM),
                (block.shown < 1, NOT_SHOWN),
                (np.False_ if block.answered is None else ~block.answered, UNANSWERED),
            ):
                if count := int((wrong & good).sum()):
                    self.left_out[why] += count
                good &= ~wrong
            whole = replace(block, items=items)
            learned = whole if good.all() else whole.take(good)
            self.impressions += len(learned)
            self._meet(learned.users)
            if len(learned):
                yield learned
        summary = self.log.summary
        self.left_out.update({} if summary is None else summary.dropped)

    def report(self) -> LearnedLog:
        """Return what was learned, once all was read."""
        return LearnedLog(
            impressions=self.impressions,
            users=int(self._met.sum()),
            left_out=dict(self.left_out),
        )

    @property
    def users(self) -> tuple[Ints, list[str]]:
        """Codes and names of the users whose impressions were learned."""
        codes = np.flatnonzero(self._met)
        names = list(map(str, self.log.user_ids_from(0)))
        return codes, names if len(codes) == len(names) else [names[code] for code in codes]

    def _found(self, block: Impressions) -> NDArray[np.int32]:
        """Return the catalogue rows of a block's items, -1 for none."""
        known = len(self._row_of) - 1
        if int(block.items.max(initial=-1)) >= known:
            new = [self._rows.get(str(item), -1) for item in self.log.item_ids_from(known)]
            self._row_of = np.concatenate(
                [self._row_of[:known], np.array([*new, -1], dtype=np.int32)]
            )
        return np.asarray(self._row_of[block.items])

    def _meet(self, users: Any) -> None:
        lengthen(self._met, int(users.max(initial=-1)) + 1)
        self._met[users] = True


def feedback_on(items: Items, slates: Ints, clicks: Bools, shown: Ints) -> Feedback:
    """Return feedback on slates of catalogue rows, (n, K)."""
    return Feedback(
        items=items.ids.take(slates),
        features=items.features.take(slates, axis=0),
        clicks=clicks,
        shown=shown,
        topics=items.topics.take(slates, axis=0),
    )


def by_length(items: Items, chunk: Impressions) -> Iterator[tuple[Ints, Feedback]]:
    """Yield the feedback of slates of each length, and which impressions it is of."""
    if (chunk.items[:, -1] >= 0).all():  # no slate has a gap
        lengths, several = np.full(len(chunk), chunk.k), [chunk.k]
    else:
        lengths = (chunk.items >= 0).sum(axis=1)
        several = np.unique(lengths).tolist()
    for k in several:
        rows = np.flatnonzero(lengths == k)
        same = chunk if len(rows) == len(chunk) else chunk.take(rows)
        shown = np.minimum(same.shown, k).astype(np.int64)
        slates = same.items[:, :k].astype(np.int64)
        yield rows, feedback_on(items, slates, same.clicks[:, :k], shown)


def lengthen(array: Any, size: int) -> None:
    """Make room in an array, which nobody else may look at, for `size` rows and then some: zeros.

    A large array grows where it is, without a copy.
    """
    if size > len(array):
        array.resize((max(size, 5 * len(array) // 4), *array.shape[1:]), refcheck=False)
