"""Estimates how long cells take, for the plan, the progress bar and the scheduling."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faircascade.experiment.cell import Cell
from faircascade.experiment.environment_options import all_options
from faircascade.experiment.store.environments import Sources
from faircascade.experiment.store.results import FinishedCell
from faircascade.policies import ComposedPolicy, Policy

if TYPE_CHECKING:
    from faircascade.experiment.running.executors import Executor, Plan

ITEMS = 3000
"""Items of a catalogue that is not known yet."""

# Seconds of one core, from runs of 1,000 users on 2,800 items (docs/benchmarks.md).
_SLATE = 0.08e-6
"""For each slate and feature, if only what can matter is scored."""
_WARM_UP = 0.11e-6
"""For each item and feature of a user, while little is known of that user."""
_WARM_ROUNDS = 1000
_SCORE = 0.3e-9
"""For each item and feature, where every slate needs the scores of all."""
_RERANK = 9e-9
"""For each item, where a re-ranker looks at all (merit-draws, exposure-charge)."""
_CELL = 0.1
"""For each cell: its environment is read, metrics are taken, results are written."""
_BEGIN = 3.0
"""Before the first cell: data is read, engines are loaded."""


@dataclass(frozen=True)
class CostModel:
    """About how many seconds of one core a cell takes."""

    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Users and items of the ratings, by their fingerprint, as far as they are known."""

    @classmethod
    def on(cls, sources: Sources) -> CostModel:
        """Return what cells cost on some data."""
        return cls({key: (r.n_users, r.n_items) for key, r in sources.known.items()})

    def of(self, cell: Cell) -> float:
        """Return what a cell costs."""
        options = all_options(cell.environment)
        known = self.sizes.get(cell.fingerprint, (int(options["users"]), ITEMS))
        users, items = min(int(options["users"]), known[0]), known[1]
        slates, dim = users * cell.rounds, int(options["dim"])
        if cell.policy.needs_all_scores:
            seconds = slates * items * (_SCORE * dim + (_RERANK if ranks_all(cell.policy) else 0.0))
        else:
            warm = min(1.0, cell.rounds / _WARM_ROUNDS) ** (1 / 3)  # most of it comes early
            seconds = users * items * dim * _WARM_UP * warm
        return _CELL + seconds + slates * dim * _SLATE

    def longest_first(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return cells so that no long one is left for the end."""
        return sorted(cells, key=lambda cell: -round(self.of(cell), 1))


def ranks_all(policy: Policy) -> bool:
    """Say whether a re-ranker looks at all items for every slate."""
    return isinstance(policy, ComposedPolicy) and policy.parts.reranker.needs_all_scores


def duration(cells: Sequence[Cell], plan: Plan, executor: Executor) -> float:
    """Return about how many seconds it takes to run what is missing of some cells.

    What is finished tells how far this machine is from the one of the figures; what a GPU finished
    tells nothing of a processor, and the other way round.
    """
    costs, found = plan.queue.costs, [(cell, plan.results.find(cell)) for cell in cells]
    cores = executor.cores(plan)
    ratios = [
        seconds_of(run, cores) / costs.of(cell)
        for cell, run in found
        if run is not None and on_gpu(run) == executor.uses_gpu
    ]
    missing = sum(costs.of(cell) for cell, run in found if run is None)
    return _BEGIN + missing * (statistics.median(ratios) if ratios else 1.0) / cores


def on_gpu(found: FinishedCell) -> bool:
    """Say whether a GPU ran a finished cell."""
    return bool(found.about["engine"] == "gpu")


def seconds_of(found: FinishedCell, cores: int) -> float:
    """Return the seconds of one core that a finished cell took; a GPU stands for several."""
    busy = cores if on_gpu(found) else int(found.about["threads"])
    return float(found.about["seconds"]) * busy
