"""The tables of an audit: items, groups, positions and periods, a row each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.evaluation.audit.intervals import Estimate, Estimates, plain
from faircascade.types import Floats, Ids, Ints

Row = dict[str, Any]
"""Plain values by column; None where there is none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTable:
    """What each item got, (m,)."""

    ids: Ids
    appearances: Ints
    exposure: Floats
    """Appearances weighed by position."""
    clicks: Ints
    merit: Floats
    share: Estimates
    """Of all exposure."""
    merit_share: Estimates
    """Of all merit: the share that it deserves."""
    ratio: Estimates
    """The first over the second: above 1 is more than it deserves."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def excess(self) -> Floats:
        """Exposure above what merit asks for, (m,)."""
        return np.asarray((self.share.value - self.merit_share.value) * self.exposure.sum())

    def most_over(self, n: int) -> Ints:
        """Return the rows of the items that have most more than they deserve."""
        return _extreme(-self.excess, n)

    def most_under(self, n: int) -> Ints:
        """Return the rows of the items that lack most."""
        return _extreme(self.excess, n)

    def row(self, i: int) -> Row:
        """Return an item as plain values."""
        return {
            "item": self.ids[i].item(),
            "appearances": int(self.appearances[i]),
            "exposure": float(self.exposure[i]),
            "clicks": int(self.clicks[i]),
            "merit": float(self.merit[i]),
            "excess": float(self.excess[i]),
            **_columns("share", self.share[i]),
            "merit_share": float(self.merit_share.value[i]),
            **_columns("ratio", self.ratio[i]),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTable:
    """What each group of a column got, (groups,), and how evenly that is shared."""

    column: str
    groups: tuple[str, ...]
    sizes: Ints
    """Items in each."""
    appearances: Ints
    clicks: Ints
    share: Estimates
    merit_share: Estimates
    ratio: Estimates
    rate: Estimates
    """Clicks per appearance."""
    metrics: dict[str, Estimate]

    def __len__(self) -> int:
        return len(self.groups)

    def largest(self, n: int) -> list[int]:
        """Return the rows of the largest groups, by exposure or by merit; the best-off first."""
        size = np.maximum(self.share.value, self.merit_share.value)
        chosen = np.argsort(-size, kind="stable")[:n]
        order = np.argsort(-self.ratio.value[chosen], kind="stable")
        return [int(g) for g in chosen[order]]

    def row(self, g: int) -> Row:
        """Return a group as plain values."""
        return {
            "group": self.groups[g],
            "items": int(self.sizes[g]),
            "appearances": int(self.appearances[g]),
            "clicks": int(self.clicks[g]),
            **_columns("share", self.share[g]),
            **_columns("merit_share", self.merit_share[g]),
            **_columns("ratio", self.ratio[g]),
            **_columns("rate", self.rate[g]),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionTable:
    """What happened at each position, (K,)."""

    appearances: Ints
    clicks: Ints
    rate: Estimates
    """Clicks per appearance."""
    examination: Estimates
    """The same relative to the first position, items being equal."""

    def __len__(self) -> int:
        return len(self.clicks)

    def row(self, at: int) -> Row:
        """Return a position, counted from 0, as plain values."""
        return {
            "position": at + 1,
            "appearances": int(self.appearances[at]),
            "clicks": int(self.clicks[at]),
            **_columns("rate", self.rate[at]),
            **_columns("examination", self.examination[at]),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodTable:
    """What happened in each period, (p,)."""

    starts: Floats
    length: float
    kind: str
    """What these are: "calendar" (seconds since 1970), "time" or "impressions" (numbers)."""
    impressions: Ints
    metrics: dict[str, Estimates]

    def __len__(self) -> int:
        return len(self.starts)

    def row(self, p: int) -> Row:
        """Return a period as plain values."""
        found: Row = {"start": float(self.starts[p]), "end": float(self.starts[p] + self.length)}
        found["impressions"] = int(self.impressions[p])
        for name, each in self.metrics.items():
            found |= _columns(name, each[p])
        return found


Table = ItemTable | GroupTable | PositionTable | PeriodTable


def rows(table: Table) -> Iterator[Row]:
    """Yield a table as plain rows."""
    return (table.row(i) for i in range(len(table)))


def _columns(name: str, of: Estimate) -> Row:
    return {name: plain(of.value), f"{name}_low": plain(of.low), f"{name}_high": plain(of.high)}


def _extreme(values: Floats, n: int) -> Ints:
    """Return the rows of the smallest values that are below 0, the smallest first."""
    order = np.argsort(values, kind="stable")[:n]
    return order[values[order] < 0]
