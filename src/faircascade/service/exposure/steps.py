"""A stretch of time that is over: what was counted in it, kept small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faircascade.service.exposure.counts import Counts
from faircascade.types import Floats, Ints

Packed = NDArray[np.unsignedinteger[Any]]
"""Numbers in the smallest type that holds them all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Counts of the slots that were touched. Never changed, so that threads may share it."""

    gaps: Packed
    """Distance of each slot from the one before, the first one from 0, (t,)."""
    columns: tuple[Packed, Packed, Packed]
    """Appearances, exposure in units and clicks of each, (t,)."""
    totals: Ints
    """Lists, answers and clicks, (3,)."""
    fairness: Floats
    """By notion, over the catalogue at the time it was over, (5,)."""

    @classmethod
    def pack(cls, counts: Counts, fairness: Floats) -> Step:
        """Return counts made small."""
        slots = np.flatnonzero(counts.by_slot.any(axis=0))
        appearances, units, clicks = counts.by_slot[:, slots]
        return cls(
            gaps=smallest(np.diff(slots, prepend=0)),
            columns=(smallest(appearances), smallest(units), smallest(clicks)),
            totals=counts.totals.copy(),
            fairness=fairness,
        )

    @property
    def slots(self) -> Ints:
        """The slots that were touched, ascending, (t,)."""
        return np.cumsum(self.gaps, dtype=np.int64)

    def add_to(self, counts: Counts, sign: int = 1) -> None:
        """Add what was counted here to other counts; -1 takes it away again."""
        slots = self.slots
        counts.grow(int(slots[-1]) + 1 if len(slots) else 0)
        for row, column in zip(counts.by_slot, self.columns, strict=True):
            row[slots] += sign * column.astype(np.int64)  # each slot is there once
        counts.totals += sign * self.totals


def smallest(values: Ints | Packed) -> Packed:
    """Return numbers >= 0 in the smallest type that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
