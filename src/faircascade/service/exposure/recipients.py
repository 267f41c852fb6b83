"""Who exposure is shared among: the items of the catalogue, and the groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from faircascade.service.stores.base import Slots
from faircascade.types import Floats, Ints

Labels = Sequence[str | None]
"""One label per item: "a|b" is a member of both groups, once of each; None of none."""

FEW = 4_096
"""Rows up to which names are compared among themselves, and not put in order for all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumn:
    """Labels as numbers, in pieces; -1 stands for none."""

    codes: Sequence[NDArray[np.int32]]
    texts: Sequence[str]
    """The labels; nobody need have them any more."""

    @classmethod
    def of(cls, labels: Labels) -> LabelColumn:
        """Return a column of labels."""
        codes: dict[str, int] = {}
        code = [-1 if x is None else codes.setdefault(x, len(codes)) for x in labels]
        return cls(codes=(np.array(code, dtype=np.int32),), texts=list(codes))

    def __len__(self) -> int:
        return sum(map(len, self.codes))

    def any(self) -> bool:
        """Return whether there is a label."""
        return any((part >= 0).any() for part in self.codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Groups of items; an item may be in several, and counts in each."""

    names: tuple[str, ...]
    rows: NDArray[np.int32]
    """Item of each membership, by its row, (n,)."""
    into: NDArray[np.int32]
    """Group of each membership, (n,)."""

    @classmethod
    def of(cls, labels: LabelColumn) -> Groups:
        """Return the groups that labels name, by name."""
        code = np.concatenate([np.empty(0, np.int32), *labels.codes])
        members = np.flatnonzero(code >= 0)
        used, code = np.unique(code[members], return_inverse=True)
        texts = [labels.texts[number] for number in used.tolist()]
        parts = [list(dict.fromkeys(filter(None, label.split("|")))) for label in texts]
        names = tuple(sorted({name for part in parts for name in part}))
        place = {name: g for g, name in enumerate(names)}
        # labels repeat: each is taken apart once, however many items have it
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        flat = np.array([place[name] for part in parts for name in part], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        first = np.repeat(np.cumsum(lengths[code]) - lengths[code], lengths[code])
        within = np.arange(len(first)) - first
        return cls(
            names=names,
            rows=np.repeat(members.astype(np.int32), lengths[code]),
            into=flat.astype(np.int32)[np.repeat(starts[code], lengths[code]) + within],
        )


class NameRank:
    """Places of rows in the order of their names, found out when somebody asks."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __getitem__(self, rows: Ints) -> Ints:
        """Return places that put some rows into the order of their names, (n,)."""
        return self._places(rows.tolist()) if len(rows) <= FEW else self._all[rows]

    @cached_property
    def _all(self) -> Ints:
        return self._places(range(len(self._names)))

    def _places(self, rows: Sequence[int]) -> Ints:
        named = [self._names[row] for row in rows]
        places = np.empty(len(named), dtype=np.int64)
        places[sorted(range(len(named)), key=named.__getitem__)] = np.arange(len(named))
        return places


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipients:
    """The catalogue as far as exposure is concerned, one row per item. Never changed.

    What is derived from it is made when it is first needed, and kept: make one for each change of
    the catalogue, not for each call.
    """

    slots: Slots | Ints
    """Slot of each item, (m,)."""
    ids: Sequence[str]
    """Its id, (m,)."""
    merit: Floats
    """Its merit, > 0, (m,)."""
    groups: Labels | LabelColumn | None = None
    """Its groups, if there is such a column, (m,)."""
    suppliers: Labels | LabelColumn | None = None
    """Its suppliers, if there is such a column, (m,)."""

    def __post_init__(self) -> None:
        for name in ("ids", "merit", "groups", "suppliers"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self.slots):
                raise ValueError(
                    f"{name} must be one for each of the {len(self.slots)} items, got {len(column)}"
                )

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def merit_share(self) -> Floats:
        """Share of each item in the merit of all, (m,)."""
        scaled = self.merit / self.merit.max(initial=0.0)  # so that the sum does not overflow
        return np.asarray(scaled / scaled.sum())

    @cached_property
    def rank(self) -> NameRank:
        """Place of each item in the order of ids."""
        return NameRank(self.ids)

    @cached_property
    def by_group(self) -> Groups:
        """The groups; none without such a column."""
        return _groups_of(self.groups)

    @cached_property
    def by_supplier(self) -> Groups:
        """The suppliers; none without such a column."""
        return _groups_of(self.suppliers)


def _groups_of(labels: Labels | LabelColumn | None) -> Groups:
    return Groups.of(labels if isinstance(labels, LabelColumn) else LabelColumn.of(labels or ()))
