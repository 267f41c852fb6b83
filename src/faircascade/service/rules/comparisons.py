"""How the values of items are compared with conditions, kind by kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, ClassVar

import numpy as np

from faircascade.service.catalogue.attribute_columns import (
    Column,
    FlagColumn,
    NumberColumn,
    TagColumn,
    TextColumn,
)
from faircascade.service.catalogue.labels import Codes, Labels
from faircascade.types import Bools, Floats

_BOUNDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "at_least": ge,
    "at_most": le,
    "above": gt,
    "below": lt,
}


class Comparison(ABC):
    """The values of some items, which can be compared."""

    kind: ClassVar[str]
    operators: ClassVar[tuple[str, ...]]
    """Those that make sense of such values."""
    operand: ClassVar[tuple[type, ...]]
    """What they can be compared with."""

    @classmethod
    def takes(cls, value: Any) -> bool:
        """Return whether a value of the items can be compared with this one."""
        return isinstance(value, cls.operand) and (
            bool in cls.operand or not isinstance(value, bool)
        )

    @property
    @abstractmethod
    def known(self) -> Bools:
        """Which items have a value, (n,)."""

    @abstractmethod
    def any(self, wanted: Sequence[Any]) -> Bools:
        """Return which items have one of these values, (n,)."""

    def all(self, wanted: Sequence[Any]) -> Bools:
        """Return which items have all of these values, (n,)."""
        raise TypeError("all")

    def bound(self, operator: str, limit: float) -> Bools:
        """Return which items keep within a limit, (n,)."""
        raise TypeError(operator)

    def holds(self, operator: str, operand: Any) -> Bools:
        """Return which items satisfy a condition, (n,)."""
        return _OPERATORS[operator](self, operator, operand)


_OPERATORS: Mapping[str, Callable[[Comparison, str, Any], Bools]] = {
    "is": lambda values, _, operand: values.any([operand]),
    "any": lambda values, _, operand: values.any(operand),
    "all": lambda values, _, operand: values.all(operand),
    "not": lambda values, _, operand: ~values.any(operand),
    "known": lambda values, _, operand: values.known == operand,
    **dict.fromkeys(_BOUNDS, lambda values, operator, operand: values.bound(operator, operand)),
}


@dataclass(frozen=True, eq=False)
class Numbers(Comparison):
    """Numbers; NaN is missing."""

    kind: ClassVar[str] = NumberColumn.kind
    operators: ClassVar[tuple[str, ...]] = ("is", "any", "not", *_BOUNDS, "known")
    operand: ClassVar[tuple[type, ...]] = (int, float)
    values: Floats

    @property
    def known(self) -> Bools:
        return ~np.isnan(self.values)

    def any(self, wanted: Sequence[Any]) -> Bools:
        return np.isin(self.values, wanted)

    def bound(self, operator: str, limit: float) -> Bools:
        return np.asarray(_BOUNDS[operator](self.values, limit))  # False for what is missing


@dataclass(frozen=True, eq=False)
class Flags(Comparison):
    """True or false; -1 is missing."""

    kind: ClassVar[str] = FlagColumn.kind
    operators: ClassVar[tuple[str, ...]] = ("is", "not", "known")
    operand: ClassVar[tuple[type, ...]] = (bool,)
    codes: Any

    @property
    def known(self) -> Bools:
        return np.asarray(self.codes >= 0)

    def any(self, wanted: Sequence[Any]) -> Bools:
        return np.isin(self.codes, np.array(wanted, dtype=np.int8))


@dataclass(frozen=True, eq=False)
class Texts(Comparison):
    """Texts as numbers; -1 is missing."""

    kind: ClassVar[str] = TextColumn.kind
    operators: ClassVar[tuple[str, ...]] = ("is", "any", "not", "known")
    operand: ClassVar[tuple[type, ...]] = (str,)
    codes: Codes
    labels: Labels

    @property
    def known(self) -> Bools:
        return np.asarray(self.codes >= 0)

    def any(self, wanted: Sequence[Any]) -> Bools:
        codes = [code for text in wanted if (code := self.labels.code(text)) >= 0]
        return self.labels.lookup(codes)[self.codes]


@dataclass(frozen=True, eq=False)
class Tags(Comparison):
    """Lists of texts."""

    kind: ClassVar[str] = TagColumn.kind
    operators: ClassVar[tuple[str, ...]] = ("is", "any", "all", "not", "known")
    operand: ClassVar[tuple[type, ...]] = (str,)
    column: TagColumn
    labels: Labels

    @property
    def known(self) -> Bools:
        return self.column.known

    def any(self, wanted: Sequence[Any]) -> Bools:
        codes = [code for text in wanted if (code := self.labels.code(text)) >= 0]
        return np.asarray(self.column.count(self.labels.lookup(codes)) > 0)

    def all(self, wanted: Sequence[Any]) -> Bools:
        codes = {self.labels.code(text) for text in wanted}
        found = self.column.count(self.labels.lookup([code for code in codes if code >= 0]))
        return np.asarray(found == len(codes))  # a list has each text once


@dataclass(frozen=True, eq=False)
class Groups(Comparison):
    """Groups or suppliers, of which an item may have several: "a|b" is a member of both."""

    kind: ClassVar[str] = "text, or several"
    operators: ClassVar[tuple[str, ...]] = Tags.operators
    operand: ClassVar[tuple[type, ...]] = (str,)
    codes: Codes
    labels: Labels

    @property
    def known(self) -> Bools:
        return np.asarray(self.codes >= 0)

    def any(self, wanted: Sequence[Any]) -> Bools:
        codes = [code for group in wanted for code in self.labels.having(group)]
        return self.labels.lookup(codes)[self.codes]

    def all(self, wanted: Sequence[Any]) -> Bools:
        codes = set.intersection(*(set(self.labels.having(group)) for group in wanted))
        return self.labels.lookup(list(codes))[self.codes]


def comparison_of(column: Column, labels: Labels) -> Comparison:
    """Return the values of a column, to be compared."""
    return _OF_COLUMN[type(column)](column, labels)


_OF_COLUMN: Mapping[type[Column], Callable[[Any, Labels], Comparison]] = {
    NumberColumn: lambda column, _: Numbers(column.values),
    FlagColumn: lambda column, _: Flags(column.codes),
    TextColumn: lambda column, labels: Texts(column.codes, labels),
    TagColumn: Tags,
}
COMPARISONS: Mapping[str, type[Comparison]] = {
    one.kind: one for one in (Numbers, Flags, Texts, Tags, Groups)
}
