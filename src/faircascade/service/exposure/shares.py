"""Who got which share of the exposure, against the share of merit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faircascade.rerankers.ledger import UNIT
from faircascade.service.exposure.counts import Counts
from faircascade.service.exposure.recipients import Groups, NameRank, Recipients
from faircascade.types import Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares:
    """Exposure of some recipients, items or groups, one row each."""

    names: Sequence[str]
    rank: Ints | NameRank
    """Place of each in the order of names, (n,)."""
    items: Ints
    """Items behind each, (n,)."""
    counts: Ints
    """Appearances and exposure in units that were shown, and clicks, (3, n)."""
    handed_out: Ints
    """Appearances and exposure in units that were handed out, (2, n)."""
    exposure_share: Floats
    """Of the exposure E_P of the catalogue that was shown, (n,); 0 if nothing was."""
    merit_share: Floats
    """Of the merit of the catalogue, (n,)."""
    ratio: Floats
    """Exposure share over merit share, (n,)."""

    @classmethod
    def of_items(cls, counts: Counts, recipients: Recipients) -> Shares:
        """Return what each item of the catalogue got."""
        columns = counts.columns(recipients.slots)
        shown = np.maximum(columns[:2] - columns[3:], 0)  # as `Counts.of`
        ours = np.concatenate([shown, columns[2:3]])
        return cls._of(
            names=recipients.ids,
            rank=recipients.rank,
            items=np.ones(len(recipients), dtype=np.int64),
            counts=ours,
            handed_out=columns[:2],
            merit_share=recipients.merit_share,
            everything=int(ours[1].sum()),
        )

    def of_groups(self, groups: Groups) -> Shares:
        """Return what groups of these items got."""
        g = len(groups.names)
        counts = np.zeros((5, g), dtype=np.int64)
        merit_share = np.zeros(g)
        for total, values in zip(counts, [*self.counts, *self.handed_out], strict=True):
            np.add.at(total, groups.into, values[groups.rows])
        np.add.at(merit_share, groups.into, self.merit_share[groups.rows])
        return self._of(
            names=groups.names,
            rank=np.arange(g),  # they come in the order of names
            items=np.bincount(groups.into, minlength=g),
            counts=counts[:3],
            handed_out=counts[3:],
            merit_share=merit_share,
            everything=int(self.counts[1].sum()),
        )

    @classmethod
    def _of(
        cls,
        names: Sequence[str],
        rank: Ints | NameRank,
        items: Ints,
        counts: Ints,
        handed_out: Ints,
        merit_share: Floats,
        everything: int,
    ) -> Shares:
        share = counts[1] / max(everything, 1)
        with np.errstate(divide="ignore", over="ignore"):  # merit may be next to nothing
            ratio = np.divide(share, merit_share, out=np.zeros(len(share)), where=share > 0)
        return cls(
            names=names,
            rank=rank,
            items=items,
            counts=counts,
            handed_out=handed_out,
            exposure_share=share,
            merit_share=merit_share,
            ratio=np.minimum(ratio, np.finfo(np.float64).max),
        )

    def rows(self, chosen: Ints) -> list[dict[str, Any]]:
        """Return some recipients as the API describes them."""
        appearances, units, clicks = self.counts[:, chosen]
        handed_out, units_handed_out = self.handed_out[:, chosen]
        columns = {
            "name": [self.names[row] for row in chosen.tolist()],
            "items": self.items[chosen].tolist(),
            "appearances": appearances.tolist(),
            "exposure": (units * UNIT).tolist(),
            "handed_out": handed_out.tolist(),
            "exposure_handed_out": (units_handed_out * UNIT).tolist(),
            "clicks": clicks.tolist(),
            "exposure_share": self.exposure_share[chosen].tolist(),
            "merit_share": self.merit_share[chosen].tolist(),
            "ratio": self.ratio[chosen].tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def leading(limit: int, first: Floats | Ints, *others: Floats | Ints | NameRank) -> Ints:
    """Return the rows that come first in ascending order of keys, the most important key first.

    The same as the start of a full sort, without sorting the rest.
    """
    keys = (first, *others)
    rows = np.arange(len(first))
    sure = [rows[:0]]
    left = limit
    for key in keys:
        if len(rows) <= left or left <= 0:
            break
        values = key[rows]
        last = np.partition(values, left - 1)[left - 1]
        sure.append(rows[values < last])
        left -= len(sure[-1])
        rows = rows[values == last]
    found = np.concatenate([*sure, rows])
    order = np.lexsort([key[found] for key in reversed(keys)])
    return found[order][: max(limit, 0)]
