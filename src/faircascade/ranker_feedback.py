"""What callers of a ranker say of slates: clicks by position or by item, and positions shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.types import Bools, Floats, Slate, id_text, whole

Positions = int | Iterable[int] | None
"""The 1-based position of a click, several, or None."""
Values = Mapping[int, float] | None
"""What positions are worth in place of 1 for a click, in [0, 1]."""
Answer = tuple[list[int], int, list[list[float]]]
"""The clicked positions of a slate, how many were shown, and positions with their values."""


def read_answer(
    slate: Slate, clicked: Positions, clicked_item: object, shown: int | None, values: Values = None
) -> Answer:
    """Check what is said of a slate."""
    size = len(slate)
    shown = size if shown is None else whole(shown, "shown")
    if not 1 <= shown <= size:
        raise ParameterError("shown", f"must be between 1 and {size}", shown)
    if clicked is not None and clicked_item is not None:
        raise ParameterError(
            "clicked_item", "must be left out where clicked is given", clicked_item
        )
    positions = _positions(clicked, size) if clicked_item is None else _where(slate, clicked_item)
    if positions and positions[-1] > shown:
        rule = f"must be at least {positions[-1]}, a clicked position"
        raise ParameterError("shown", rule, shown)
    return positions, shown, _values(values or {}, shown)


def _values(values: Mapping[int, float], shown: int) -> list[list[float]]:
    """Return positions and their values, in order."""
    for position, value in values.items():
        if not 1 <= whole(position, "values") <= shown:
            raise ParameterError("values", f"must be of positions from 1 to {shown}", position)
        if not 0 <= value <= 1:
            raise ParameterError("values", "must be in [0, 1]", value)
    return [[int(position), float(values[position])] for position in sorted(values)]


def values_of(answer: Answer, size: int) -> Floats | None:
    """Return what positions are worth, (K,), 1 for a click without a value; None without any."""
    values = answer[2]
    if not values:
        return None
    found = clicks_of(answer, size).astype(np.float64)
    for position, value in values:
        found[int(position) - 1] = value
    return found


def clicks_of(answer: Answer, size: int) -> Bools:
    """Return which positions of a slate were clicked, (K,)."""
    return np.isin(np.arange(1, size + 1), answer[0])


def names_of(ids: Iterable[object], what: str) -> list[str]:
    """Return ids as text."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise TypeError(f"{what} must be a list of ids, got {ids!r}")
    return [id_text(i, what) for i in ids]


class Answers:
    """The slates of each user that wait for feedback, and what was said of others."""

    def __init__(self, most: int) -> None:
        """Remember the last `most` slates of each user, and as many answers."""
        self._most = most
        self._open: dict[str, dict[str, None]] = {}  # oldest first
        self._given: dict[str, dict[str, Answer]] = {}  # oldest first

    def expect(self, user: str, slate_id: str) -> None:
        """Wait for feedback on a new slate."""
        self._put(self._open, user, slate_id, None)

    def awaits(self, slate: Slate) -> bool:
        """Say whether a slate has no answer yet, and may have one."""
        return slate.slate_id in self._open.get(slate.user, {})

    def add(self, slate: Slate, answer: Answer) -> None:
        """Remember the answer of a slate that waited for it."""
        del self._open[slate.user][slate.slate_id]
        self._put(self._given, slate.user, slate.slate_id, answer)

    def to(self, slate: Slate) -> Answer | None:
        """Return what was said of a slate, if that is remembered."""
        return self._given.get(slate.user, {}).get(slate.slate_id)

    def _put(self, entries: dict[str, dict[str, Any]], user: str, slate: str, value: Any) -> None:
        kept = entries.setdefault(user, {})
        kept[slate] = value
        while len(kept) > self._most:
            del kept[next(iter(kept))]

    def of(self, user: str) -> tuple[list[str], dict[str, Answer]]:
        """Return a user's slates that wait for feedback, and the answers given, oldest first."""
        return [*self._open.get(user, ())], self._given.get(user, {})

    def restore(self, user: str, waiting: list[str], given: dict[str, Answer]) -> None:
        """Take what `of` returned for a user."""
        self._open[user], self._given[user] = dict.fromkeys(waiting), given


def _positions(clicked: Positions, size: int) -> list[int]:
    """Return the clicked positions in order."""
    several = isinstance(clicked, Iterable) and not isinstance(clicked, str | bytes)
    given: Iterable[Any] = clicked if several else () if clicked is None else (clicked,)  # type: ignore[assignment]
    positions = [whole(position, "clicked") for position in given]
    for position in positions:
        if not 1 <= position <= size:
            rule = f"must be a position from 1 to {size}, several, or None"
            raise ParameterError("clicked", rule, position)
    if len(set(positions)) < len(positions):
        raise ParameterError("clicked", "must name each position once", positions)
    return sorted(positions)


def _where(slate: Slate, clicked_item: Any) -> list[int]:
    """Return where clicked items stood, in order."""
    several = isinstance(clicked_item, list | tuple | set | frozenset)
    names = names_of(clicked_item if several else [clicked_item], "clicked_item")
    for name in names:
        if name not in slate.items:
            raise ParameterError("clicked_item", "must be an item of the slate", name)
    if len(set(names)) < len(names):
        raise ParameterError("clicked_item", "must name each item once", names)
    return sorted(slate.items.index(name) + 1 for name in names)
