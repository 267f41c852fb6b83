"""What groups of items got in a run: their members added up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from faircascade.metrics.exposure import FAIRNESS, Exposures, evenness
from faircascade.types import Floats


class GroupSums(NamedTuple):
    """What the groups of one item column got in one run."""

    items: Mapping[str, int]
    merit: Mapping[str, float]
    """Share of all merit."""
    clicks: Mapping[str, float]
    """Share of all clicks."""
    exposures: Exposures
    """By group, in the order of `merit`."""

    @classmethod
    def of(cls, items: Mapping[str, Any], column: str) -> GroupSums:
        """Add up the items of each group, by a column of labels; `a|b` counts in both groups."""
        memberships = [str(label).split("|") for label in items[column]]
        names = sorted({group for row in memberships for group in row})
        place = {group: g for g, group in enumerate(names)}
        rows = np.array([i for i, row in enumerate(memberships) for _ in row])
        into = np.array([place[group] for row in memberships for group in row])

        def add(values: Floats) -> Floats:
            return np.asarray(np.bincount(into, values[rows], len(names)), dtype=np.float64)

        def named(values: Floats) -> dict[str, float]:
            return dict(zip(names, values.tolist(), strict=True))

        counts, merit = add(np.ones(len(memberships))), add(items["merit"])
        exposure_b, exposure_p = (add(items[f"exposure_{notion}"]) for notion in "bp")
        return cls(
            dict(zip(names, map(int, counts), strict=True)),
            named(_shares(merit)),
            named(_shares(add(items["clicks"]))),
            Exposures.of(exposure_b, exposure_p, merit),
        )

    def evenness(self, metric: str) -> float:
        """Return a metric of fairness over the groups; NaN for others."""
        notions = dict(zip(FAIRNESS, self.exposures, strict=True))
        return evenness(notions[metric]) if metric in notions else math.nan

    def shares(self, notion: str = "exposure_p") -> dict[str, float]:
        """Return each group's share of exposure."""
        return dict(zip(self.merit, _shares(getattr(self.exposures, notion)).tolist(), strict=True))


def _shares(values: Floats) -> Floats:
    return np.asarray(values / (float(values.sum()) or math.nan))
