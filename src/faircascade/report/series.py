"""The numbers behind the figures, over the seeds of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from faircascade.experiment.cell_result import CellResult
from faircascade.metrics.exposure import percent_change
from faircascade.types import Floats


class Curve(NamedTuple):
    """One metric of one policy by round."""

    rounds: Floats
    mean: Floats
    low: Floats
    high: Floats


class PerItem(NamedTuple):
    """What items got under one policy, each per slate shown."""

    exposure: Floats
    """By one notion, (m,)."""
    clicks: Floats


class ItemShift(NamedTuple):
    """What changed for each item that any policy showed; by the baseline's exposure, falling."""

    exposure: Floats
    """In percent, (m,)."""
    clicks: Floats
    """In percent, (m,)."""
    shown_by_baseline: int
    """How many items the baseline showed at all: those come first."""
    left_out: int
    """Items that no policy of the comparison showed."""


def curve(runs: Sequence[CellResult], metric: str) -> Curve:
    """Return the mean, least and greatest value over seeds at the checkpoints they share."""
    shared = runs[0].curves["round"]
    for run in runs[1:]:
        shared = np.intersect1d(shared, run.curves["round"])
    values = np.stack(
        [run.curves[metric][np.isin(run.curves["round"], shared)] for run in runs]
    )  # (seeds, c)
    return Curve(shared, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def shifts(
    runs: Mapping[str, Sequence[CellResult]], baseline: str, notion: str, k: int
) -> dict[str, ItemShift]:
    """Return what changes from one of several policies to each other, by a notion of exposure.

    Environments of several seeds need not have the same items.
    """
    ids = np.unique(np.concatenate([run.items["item"] for found in runs.values() for run in found]))
    items = {label: _per_slate(found, ids, notion, k) for label, found in runs.items()}
    before = items[baseline]
    shown = np.any([of.exposure > 0 for of in items.values()], axis=0)
    order = np.argsort(-before.exposure, kind="stable")
    order = order[shown[order]]
    return {
        label: ItemShift(
            percent_change(after.exposure, before.exposure)[order],
            percent_change(after.clicks, before.clicks)[order],
            int((before.exposure > 0).sum()),
            int((~shown).sum()),
        )
        for label, after in items.items()
        if label != baseline
    }


def _per_slate(runs: Sequence[CellResult], ids: NDArray[Any], notion: str, k: int) -> PerItem:
    """Return exposure and clicks of each id per slate shown, so that runs of any length compare."""
    total, clicks, slates = np.zeros(len(ids)), np.zeros(len(ids)), 0.0
    for run in runs:
        at = np.searchsorted(ids, run.items["item"])
        total[at] += getattr(run.exposures, notion)
        clicks[at] += run.items["clicks"]
        slates += run.items["exposure_b"].sum() / k
    return PerItem(total / max(slates, 1.0), clicks / max(slates, 1.0))
