"""Find the items that filters let through, and remember them while there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from threading import Lock
from typing import Self
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from faircascade.registry import suggest
from faircascade.service.catalogue.catalogue import Catalogue
from faircascade.service.catalogue.pieces import Piece
from faircascade.service.catalogue.segment import Segment
from faircascade.service.catalogue.selection import Bits, Selection, bools_of
from faircascade.service.messages import conflict
from faircascade.service.rules.comparisons import (
    COMPARISONS,
    Comparison,
    Groups,
    Numbers,
    comparison_of,
)
from faircascade.service.rules.where import Condition, key_of
from faircascade.types import Bools

MEMORY = 32 * 2**20
"""Bytes that remembered filters may take, an eighth of one for each item, and copies of the items
that few of them let through; the newest is remembered in any case."""
MOST = 1_000
"""Filters that are remembered at most."""
_SPARSE = 8
"""A segment of which fewer than one in so many items are meant is copied without the others:
scoring the copy costs less, and it is small. Of other segments the rest is passed over."""
_NAMED = 20
"""Attributes that a message names at most."""

FIELDS = ("group", "supplier", "merit", "popularity")
"""What every item may have, beside attributes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of which all must be satisfied."""

    wheres: tuple[Mapping[str, Condition], ...]
    key: str
    """The same for filters that say the same."""

    @classmethod
    def of(cls, *wheres: Mapping[str, Condition]) -> Self:
        return cls(wheres, key_of(wheres))


@dataclass(frozen=True, slots=True, eq=False)
class _Copy:
    """Some items of a segment, without the others."""

    rows: NDArray[np.int32]
    segment: Segment
    nbytes: int

    @classmethod
    def of(cls, segment: Segment, allowed: Bools) -> _Copy:
        rows = np.flatnonzero(allowed)
        copy = segment.without_attributes.take(rows)
        return cls(rows.astype(np.int32), copy, 4 * len(rows) + copy.nbytes)


@dataclass(eq=False)
class _Filter:
    """What is remembered of a filter, by segment: a change of the catalogue makes few of them anew.

    A segment that goes takes what is said of it along.
    """

    allowed: WeakKeyDictionary[Segment, Bits] = field(default_factory=WeakKeyDictionary)
    copies: WeakKeyDictionary[Segment, _Copy] = field(default_factory=WeakKeyDictionary)
    last: tuple[ref[Catalogue], Selection] | None = None

    @property
    def nbytes(self) -> int:
        """Memory that it takes, about."""
        return self.copied + sum(map(len, self.allowed.values()))

    @property
    def copied(self) -> int:
        """Memory that copies of items take."""
        return sum(copy.nbytes for copy in self.copies.values())


class Selections:
    """The filters that were used last. Safe for several threads."""

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._filters: OrderedDict[str, _Filter] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = Lock()

    def known(self, catalogue: Catalogue, filters: Filters) -> Selection | None:
        """Return the items of a catalogue that satisfy filters, if they are remembered."""
        kept = self._filters.get(filters.key)
        last = None if kept is None else kept.last
        return last[1] if last is not None and last[0]() is catalogue else None

    def select(self, catalogue: Catalogue, filters: Filters) -> Selection:
        """Return the items of a catalogue that satisfy filters."""
        key, segments = filters.key, catalogue.segments
        kept = self._filter(key)
        if (known := self.known(catalogue, filters)) is not None:
            return known
        parts = []
        for segment in segments:
            known_part = kept.allowed.get(segment)
            if known_part is None:
                known_part = np.packbits(_allowed(catalogue, segment, filters))
            parts.append(known_part)
        bits = np.concatenate([np.empty(0, np.uint8), *parts])
        parts = np.split(bits, np.cumsum([0, *map(len, parts)]))[1:-1]  # they share its memory
        first_rows = catalogue.first_rows
        make = partial(self._pieces, key, parts, segments, first_rows.tolist())
        selection = Selection(key, bits, first_rows, make)
        with self._lock:
            kept.allowed.update(zip(segments, parts, strict=True))
            kept.last = ref(catalogue), selection
            self._make_room(key)
        return selection

    def _filter(self, key: str) -> _Filter:
        """Return what is remembered of a filter; it is used now."""
        with self._lock:
            kept = self._filters.setdefault(key, _Filter())
            self._filters.move_to_end(key)
            return kept

    def _pieces(
        self,
        key: str,
        parts: Sequence[Bits],
        segments: Sequence[Segment],
        first_rows: Sequence[int],
    ) -> tuple[Piece, ...]:
        """Return what is to be scored of a selection."""
        kept, copies, pieces = self._filter(key), {}, []
        for place, segment in enumerate(segments):
            first, here = first_rows[place], bools_of(parts[place], len(segment))
            count = int(np.count_nonzero(here))
            if count * _SPARSE >= len(segment):
                pieces.append(Piece(segment, first, None, np.flatnonzero(~here)))
            elif count:
                copy = copies[segment] = kept.copies.get(segment) or _Copy.of(segment, here)
                pieces.append(Piece(copy.segment, first, copy.rows))
        with self._lock:
            kept.copies.update(copies)
            self._make_room(key)
        return tuple(pieces)

    def follow(self, catalogue: Catalogue) -> None:
        """Let go of catalogues before this one: what segments have in common stays known."""
        with self._lock:
            for kept in self._filters.values():
                if kept.last is not None and kept.last[0]() is not catalogue:
                    kept.last = None

    def _make_room(self, key: str) -> None:
        """Forget what was not used for longest, copies first, until the rest has room."""
        if key in self._filters:  # another thread may have made room meanwhile
            self._sizes[key] = self._filters[key].nbytes
        total = sum(self._sizes.values())
        for other, kept in self._filters.items():  # the oldest first
            if total > self._memory and other != key and kept.copies:
                kept.copies.clear()
                total += kept.nbytes - self._sizes.get(other, 0)
                self._sizes[other] = kept.nbytes
        while len(self._filters) > 1 and (total > self._memory or len(self._filters) > MOST):
            oldest, _ = self._filters.popitem(last=False)
            total -= self._sizes.pop(oldest, 0)


def check_where(catalogue: Catalogue, where: Mapping[str, Condition], field: str = "where") -> None:
    """Refuse a filter on what no item has, or that compares what cannot be compared."""
    kinds = kinds_of(catalogue)
    for name, condition in where.items():
        if name not in kinds:
            raise conflict(f"{field}.{name[:60]}", _unknown(name, kinds))
        for operator, operand in condition.given.items():
            if not any(_makes_sense(kind, operator, operand) for kind in kinds[name]):
                raise conflict(f"{field}.{name}", _wrong(kinds[name], operator, operand))


def kinds_of(catalogue: Catalogue) -> dict[str, list[type[Comparison]]]:
    """Return what items have that filters can be about: attributes of any item, and the fields."""
    kinds: dict[str, list[type[Comparison]]] = {
        name: [Groups if name in ("group", "supplier") else Numbers] for name in FIELDS
    }
    for name, kind in catalogue.attributes:
        kinds.setdefault(name, []).append(COMPARISONS[kind])
    return kinds


def _makes_sense(kind: type[Comparison], operator: str, operand: object) -> bool:
    if operator not in kind.operators:
        return False
    if operator == "known":
        return True
    return all(map(kind.takes, _operands(operand)))


def _operands(operand: object) -> list[object]:
    """Return what a condition compares with, one value or several."""
    return operand if isinstance(operand, list) else [operand]


def _unknown(name: str, kinds: Mapping[str, list[type[Comparison]]]) -> str:
    there = [f"{other} ({kind.kind})" for other, some in sorted(kinds.items()) for kind in some]
    more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
    hint = suggest(name, list(kinds))
    return f"is not an attribute of any item{hint}; there are: {', '.join(there[:_NAMED])}{more}"


def _wrong(kinds: list[type[Comparison]], operator: str, operand: object) -> str:
    kind = kinds[0]
    if operator not in kind.operators:
        return f"is {kind.kind}, which {operator!r} cannot compare; use {', '.join(kind.operators)}"
    what = {str: "text", bool: "true or false"}.get(kind.operand[0], "a number")
    wrong = next(one for one in _operands(operand) if not kind.takes(one))
    return f"is {kind.kind}: {operator!r} must be {what}, got {wrong!r}"


def _allowed(catalogue: Catalogue, segment: Segment, filters: Filters) -> Bools:
    """Return which items of a segment satisfy filters."""
    allowed = np.ones(len(segment), dtype=bool)
    for name, condition in chain.from_iterable(where.items() for where in filters.wheres):
        values = _values(catalogue, segment, name)
        for operator, operand in condition.given.items():
            allowed &= _holds(values, operator, operand, len(segment))
    return allowed


def _values(catalogue: Catalogue, segment: Segment, name: str) -> list[Comparison]:
    """Return the values of a segment's items, of each kind that there is."""
    if name in ("group", "supplier"):
        return [Groups(getattr(segment, f"{name}s"), catalogue.labels)]
    if name in FIELDS:
        return [Numbers(getattr(segment, name))]
    labels = catalogue.vocabulary.of(name)
    columns = segment.attributes.columns
    return [comparison_of(column, labels) for (of, _), column in columns.items() if of == name]


def _holds(values: list[Comparison], operator: str, operand: object, size: int) -> Bools:
    """Return which items satisfy a condition; those without a value are none of anything."""
    useful = [one for one in values if _makes_sense(type(one), operator, operand)]
    if operator == "known":
        known = np.logical_or.reduce([np.zeros(size, dtype=bool), *(one.known for one in values)])
        return np.asarray(known == operand)
    found = [one.holds(operator, operand) for one in useful]
    if operator == "not":
        return np.asarray(np.logical_and.reduce([np.ones(size, dtype=bool), *found]))
    return np.asarray(np.logical_or.reduce([np.zeros(size, dtype=bool), *found]))
