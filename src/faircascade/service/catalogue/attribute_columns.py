"""Attributes of items side by side: a typed column for each, and texts as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from faircascade.service.catalogue.labels import Codes, Labels
from faircascade.service.stores.attributes import Attributes, Value
from faircascade.types import Bools, Floats, Ints

Key = tuple[str, str]
"""Name and kind. A name has one kind, unless services that share a store gave it two at a time."""
_NO_LABELS = Labels()


class Column(ABC):
    """Values of some items, one for each row; some may be missing. Never changed."""

    kind: ClassVar[str]
    """What the values are, as messages say it."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def known(self) -> Bools:
        """Which items have a value, (n,)."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that it takes, without texts."""

    @classmethod
    @abstractmethod
    def fits(cls, value: Value) -> bool:
        """Return whether it is for such values."""

    @classmethod
    @abstractmethod
    def of(cls, values: Sequence[Any], labels: Labels) -> Self:
        """Lay out values of this kind; None is missing."""

    @classmethod
    @abstractmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the values of several columns, one after the other."""

    @abstractmethod
    def take(self, rows: Ints) -> Self:
        """Return the values of some rows."""

    @abstractmethod
    def value(self, row: int, labels: Labels) -> Value | None:
        """Return the value of a row."""


@dataclass(frozen=True, eq=False)
class NumberColumn(Column):
    """Numbers; a missing one is none (NaN). 8 bytes each."""

    kind: ClassVar[str] = "number"
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def known(self) -> Bools:
        return ~np.isnan(self.values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @classmethod
    def fits(cls, value: Value) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    @classmethod
    def of(cls, values: Sequence[Any], labels: Labels) -> Self:
        return cls(np.array([np.nan if v is None else v for v in values], dtype=np.float64))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        return cls(np.concatenate([part.values for part in parts]))

    def take(self, rows: Ints) -> Self:
        return type(self)(self.values[rows])

    def value(self, row: int, labels: Labels) -> Value | None:
        value = float(self.values[row])
        return None if np.isnan(value) else value


@dataclass(frozen=True, eq=False)
class _Coded(Column):
    """Values as numbers; -1 is missing."""

    codes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def known(self) -> Bools:
        return np.asarray(self.codes >= 0)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        return cls(np.concatenate([part.codes for part in parts]))

    def take(self, rows: Ints) -> Self:
        return type(self)(self.codes[rows])


class FlagColumn(_Coded):
    """True or false. A byte each."""

    kind: ClassVar[str] = "true or false"

    @classmethod
    def fits(cls, value: Value) -> bool:
        return isinstance(value, bool)

    @classmethod
    def of(cls, values: Sequence[Any], labels: Labels) -> Self:
        return cls(np.array([-1 if v is None else v for v in values], dtype=np.int8))

    def value(self, row: int, labels: Labels) -> Value | None:
        code = int(self.codes[row])
        return None if code < 0 else bool(code)


class TextColumn(_Coded):
    """Texts. 4 bytes each, and each different text once."""

    kind: ClassVar[str] = "text"

    @classmethod
    def fits(cls, value: Value) -> bool:
        return isinstance(value, str)

    @classmethod
    def of(cls, values: Sequence[Any], labels: Labels) -> Self:
        return cls(labels.codes(values))

    def value(self, row: int, labels: Labels) -> Value | None:
        return labels.text(int(self.codes[row]))


@dataclass(frozen=True, eq=False)
class TagColumn(Column):
    """Lists of texts; an empty one is missing. 4 bytes each and 4 for each text of a list."""

    kind: ClassVar[str] = "list of texts"
    starts: NDArray[np.int32]
    """Where the list of each row begins, and the last one ends, (n + 1,)."""
    codes: Codes
    """All lists, one after the other."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """How many texts each list has, (n,)."""
        return np.diff(self.starts)

    @property
    def known(self) -> Bools:
        return self.lengths > 0

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.codes.nbytes

    @classmethod
    def fits(cls, value: Value) -> bool:
        return isinstance(value, list)

    @classmethod
    def of(cls, values: Sequence[Any], labels: Labels) -> Self:
        lists = [value or () for value in values]
        return cls(
            _starts([len(part) for part in lists]), labels.codes([t for x in lists for t in x])
        )

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(_starts(lengths), np.concatenate([part.codes for part in parts]))

    def take(self, rows: Ints) -> Self:
        lengths = self.lengths[rows]
        starts = _starts(lengths)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        return type(self)(starts, self.codes[np.repeat(self.starts[:-1][rows], lengths) + within])

    def value(self, row: int, labels: Labels) -> Value | None:
        codes = self.codes[self.starts[row] : self.starts[row + 1]].tolist()
        return [labels.texts[code] for code in codes] or None

    def count(self, wanted: Bools) -> Ints:
        """Return how many texts of each list are wanted, by number, (n,)."""
        found = np.zeros(len(self.codes) + 1, dtype=np.int32)
        np.cumsum(wanted[self.codes], out=found[1:])
        return np.asarray(found[self.starts[1:]] - found[self.starts[:-1]])


def _starts(lengths: Sequence[int] | Ints) -> NDArray[np.int32]:
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=starts[1:])
    return starts


KINDS: tuple[type[Column], ...] = (FlagColumn, NumberColumn, TextColumn, TagColumn)
BY_KIND = {column.kind: column for column in KINDS}


def kind_of(value: Value) -> str:
    """Return of which kind a value is."""
    return next(column.kind for column in KINDS if column.fits(value))


def _by_kind(values: Sequence[Value | None]) -> Iterator[tuple[str, Sequence[Value | None]]]:
    """Yield each kind that there is with the values of that kind, None in place of others."""
    examples = {type(value): value for value in values if value is not None}  # few, of many values
    kinds: dict[type, str] = {of: kind_of(value) for of, value in examples.items()}
    for kind in dict.fromkeys(kinds.values()):
        alone = len(set(kinds.values())) == 1
        yield kind, values if alone else [v if kinds.get(type(v)) == kind else None for v in values]


class Vocabulary:
    """The texts that attributes have, each with a number that stays: those of one name together."""

    def __init__(self) -> None:
        self._labels: dict[str, Labels] = {}

    def of(self, name: str) -> Labels:
        """Return the texts of an attribute."""
        return self._labels.get(name, _NO_LABELS)

    def made_for(self, name: str) -> Labels:
        """Return the texts of an attribute, to be added to."""
        return self._labels.setdefault(name, Labels())


@dataclass(frozen=True, eq=False)
class AttributeColumns:
    """The attributes of some items. Never changed."""

    size: int
    """Items."""
    columns: Mapping[Key, Column]
    """Those that any of the items has."""

    def __len__(self) -> int:
        return self.size

    @classmethod
    def none(cls, size: int) -> AttributeColumns:
        """Return items without attributes."""
        return cls(size, {})

    @classmethod
    def of(cls, items: Sequence[Attributes], vocabulary: Vocabulary) -> AttributeColumns:
        """Lay out the attributes of items."""
        columns: dict[Key, Column] = {}
        for name in dict.fromkeys(chain.from_iterable(items)):
            labels = vocabulary.made_for(name)
            for kind, values in _by_kind([attributes.get(name) for attributes in items]):
                columns[name, kind] = BY_KIND[kind].of(values, labels)
        return cls(len(items), columns)

    def take(self, rows: Ints | Bools | slice) -> AttributeColumns:
        """Return the attributes of some rows."""
        if not self.columns:
            return AttributeColumns.none(
                len(range(self.size)[rows])
                if isinstance(rows, slice)
                else int(np.count_nonzero(rows))
                if rows.dtype == bool
                else len(rows)
            )
        rows = np.arange(self.size)[rows]
        taken = {key: column.take(rows) for key, column in self.columns.items()}
        return AttributeColumns(len(rows), {k: c for k, c in taken.items() if c.known.any()})

    @classmethod
    def join(cls, parts: Sequence[AttributeColumns]) -> AttributeColumns:
        """Return the attributes of the items of several, one after the other."""
        keys = dict.fromkeys(key for part in parts for key in part.columns)
        return cls(
            sum(map(len, parts)),
            {key: BY_KIND[key[1]].join([part._whole(key) for part in parts]) for key in keys},
        )

    def _whole(self, key: Key) -> Any:
        """Return a column, also one of nothing but missing values."""
        known = self.columns.get(key)
        return BY_KIND[key[1]].of([None] * self.size, _NO_LABELS) if known is None else known

    def row(self, row: int, vocabulary: Vocabulary) -> dict[str, Value]:
        """Return the attributes of an item."""
        found: dict[str, Value] = {}
        for (name, _), column in self.columns.items():
            value = column.value(row, vocabulary.of(name))
            if value is not None:
                found[name] = value
        return found
