"""Who exposure is shared among: the items of the catalogue, and the groups that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faircascade.service.stores.base import Slots
from faircascade.types import Floats, Ints

Labels = Sequence[str | None]
"""One label per item: "a|b" is a member of both groups, once of each; None of none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Groups of items; an item may be in several, and counts in each."""

    names: tuple[str, ...]
    rows: Ints
    """Item of each membership, by its row, (n,)."""
    into: Ints
    """Group of each membership, (n,)."""

    @classmethod
    def of(cls, labels: Labels) -> Groups:
        """Return the groups that labels name, by name."""
        codes: dict[str, int] = {}
        code = np.array([-1 if x is None else codes.setdefault(x, len(codes)) for x in labels])
        parts = [list(dict.fromkeys(filter(None, label.split("|")))) for label in codes]
        names = tuple(sorted({name for part in parts for name in part}))
        place = {name: g for g, name in enumerate(names)}
        # labels repeat: each is taken apart once, however many items have it
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        flat = np.array([place[name] for part in parts for name in part], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        members = np.flatnonzero(code >= 0)
        code = code[members].astype(np.int64)
        first = np.repeat(np.cumsum(lengths[code]) - lengths[code], lengths[code])
        within = np.arange(len(first)) - first
        return cls(
            names=names,
            rows=np.repeat(members, lengths[code]),
            into=flat[np.repeat(starts[code], lengths[code]) + within],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Recipients:
    """The catalogue as far as exposure is concerned, one row per item. Never changed.

    What is derived from it is kept: make one for each change of the catalogue, not for each call.
    """

    slots: Slots | Ints
    """Slot of each item, (m,)."""
    ids: Sequence[str]
    """Its id, (m,)."""
    merit: Floats
    """Its merit, > 0, (m,)."""
    groups: Labels | None = None
    """Its groups, if there is such a column, (m,)."""
    suppliers: Labels | None = None
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
    def rank(self) -> Ints:
        """Place of each item in the order of ids, (m,)."""
        rank = np.empty(len(self), dtype=np.int64)
        rank[sorted(range(len(self)), key=self.ids.__getitem__)] = np.arange(len(self))
        return rank

    @cached_property
    def by_group(self) -> Groups:
        """The groups; none without such a column."""
        return Groups.of(self.groups or ())

    @cached_property
    def by_supplier(self) -> Groups:
        """The suppliers; none without such a column."""
        return Groups.of(self.suppliers or ())
