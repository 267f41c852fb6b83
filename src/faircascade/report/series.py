"""The numbers behind the figures, over the seeds of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from faircascade.engine import Result
from faircascade.experiment import Comparison
from faircascade.metrics import Record
from faircascade.metrics.exposure import exposure_b, exposure_p, lorenz, percent_change
from faircascade.types import Floats, Ints

_POINTS = 400
"""No line needs more points than this."""


class WithCurves(Protocol):
    """A run that knows its metrics by round."""

    @property
    def curves(self) -> Mapping[str, Floats]: ...


class Curve(NamedTuple):
    """One metric of one policy by round."""

    rounds: Floats
    mean: Floats
    low: Floats
    high: Floats


class PerItem(NamedTuple):
    """What items got under one policy, each per list shown."""

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


def curve(runs: Sequence[WithCurves], metric: str) -> Curve:
    """Return the mean, least and greatest value over seeds at the checkpoints they share."""
    shared = runs[0].curves["round"]
    for run in runs[1:]:
        shared = np.intersect1d(shared, run.curves["round"])
    values = np.stack(
        [run.curves[metric][np.isin(run.curves["round"], shared)] for run in runs]
    )  # (seeds, c)
    return Curve(shared, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def optimal_value(comparison: Comparison) -> float:
    """Return the clicks of the optimal lists, mean over seeds."""
    runs = comparison.results[comparison.baseline]
    return float(np.mean([run.optimal_value for run in runs]))


def mean_lorenz(
    runs: Sequence[Result], notion: Callable[[Record], Floats]
) -> tuple[Floats, Floats]:
    """Return the mean Lorenz curve over seeds: its area gives the mean metric of the table."""
    curves = [lorenz(notion(run.record)) for run in runs]
    items = max((x for x, _ in curves), key=len)
    mean = np.mean([np.interp(items, x, y) for x, y in curves], axis=0)
    chosen = _thin(len(items))
    return items[chosen], mean[chosen]


def exposure_by_rank(runs: Sequence[Result]) -> tuple[Floats, Floats, float]:
    """Return ranks, appearances in 1,000 lists of the item at each rank, and the share not shown.

    Means over seeds; only ranks that were shown.
    """
    longest = max(len(run.env.items) for run in runs)
    total, unseen = np.zeros(longest), 0.0
    for run in runs:
        exposure = np.sort(exposure_b(run.record))[::-1]
        total[: len(exposure)] += 1000.0 * exposure / max(run.record.served, 1)
        unseen += float((exposure == 0).mean())
    shown = int((total > 0).sum())
    chosen = _thin(shown)
    ranks = np.asarray(chosen + 1, dtype=np.float64)
    return ranks, total[chosen] / len(runs), unseen / len(runs)


def shift(comparison: Comparison, label: str) -> ItemShift:
    """Return the change in E_P and clicks of every item, summed over seeds, per list shown."""
    ids = _catalogue(comparison)
    lists = {name: _per_list(runs, ids) for name, runs in comparison.results.items()}
    return shift_between(lists, comparison.baseline, label)


def shift_between(lists: Mapping[str, PerItem], baseline: str, label: str) -> ItemShift:
    """Return what changes from one of several policies to another; items as in all of them."""
    before, after = lists[baseline], lists[label]
    shown = np.any([given.exposure > 0 for given in lists.values()], axis=0)
    order = np.argsort(-before.exposure, kind="stable")
    order = order[shown[order]]
    return ItemShift(
        percent_change(after.exposure, before.exposure)[order],
        percent_change(after.clicks, before.clicks)[order],
        int((before.exposure > 0).sum()),
        int((~shown).sum()),
    )


def exploration(runs: Sequence[Result], bins: int = 120) -> tuple[Floats, Floats]:
    """Return rounds and the mean bonus of a list, over runs of rounds that widen with time."""
    rounds = min(run.rounds for run in runs)
    edges = np.unique(np.rint(np.geomspace(1, rounds + 1, bins)).astype(np.int64))
    edges = edges if len(edges) > 1 else np.array([1, rounds + 1])
    served, sums = np.zeros(rounds), np.zeros(rounds)
    for run in runs:
        lists = run.tally.served[:rounds]
        served += lists
        sums += np.where(lists > 0, run.exploration_by_round[:rounds], 0.0) * lists
    starts = edges[:-1] - 1
    lists, bonus = np.add.reduceat(served, starts), np.add.reduceat(sums, starts)
    middle = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    known = (lists > 0) & (bonus > 0)  # a log axis has no place for none
    return middle[known], bonus[known] / lists[known]


def _thin(n: int) -> Ints:
    """Return places of n to draw: both ends, where curves are steep, and some between."""
    if n <= _POINTS:
        return np.arange(n)
    between = np.rint(np.linspace(0, n - 1, _POINTS // 2)).astype(np.int64)
    ends = np.arange(_POINTS // 4)
    return np.unique(np.concatenate([ends, between, n - 1 - ends]))


def _catalogue(comparison: Comparison) -> np.ndarray:
    """Return the ids of all items, sorted: environments of several seeds need not have the same."""
    runs = [run for runs in comparison.results.values() for run in runs]
    return np.unique(np.concatenate([run.env.items.ids.astype(str) for run in runs]))


def _per_list(runs: Sequence[Result], ids: np.ndarray) -> PerItem:
    """Return E_P and clicks of each id per list shown, so that runs of any length compare."""
    exposure, clicks, lists = np.zeros(len(ids)), np.zeros(len(ids)), 0
    for run in runs:
        at = np.searchsorted(ids, run.env.items.ids.astype(str))
        exposure[at] += exposure_p(run.record)
        clicks[at] += run.record.item_clicks.sum(axis=1)
        lists += run.record.served
    return PerItem(exposure / max(lists, 1), clicks / max(lists, 1))
