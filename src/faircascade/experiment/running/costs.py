"""What cells cost, roughly: for the plan, the progress bar, and how work is spread."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from faircascade.experiment.cell import ENVIRONMENT_DEFAULTS, Cell
from faircascade.experiment.store.results import Finished, Results
from faircascade.policies import Bandit, Policy

if TYPE_CHECKING:
    from faircascade.experiment.running.executors import Executor
    from faircascade.experiment.store.worlds import Sources

ITEMS = 3000
"""Items of a catalogue that is not known yet."""

# Seconds of one core, from runs of 1,000 users on 2,800 items (docs/benchmarks.md).
_LIST = 0.08e-6
"""For each list and feature, if only what can matter is scored."""
_WARM_UP = 0.11e-6
"""For each item and feature of a user, while little is known of that user."""
_WARM_ROUNDS = 800
_SCORE = 0.25e-9
"""For each item and feature, where every list needs the scores of all."""
_DRAW = 11e-9
"""For each item whose place in a list is drawn (fairx)."""
_START = 0.05
"""For each cell: its world is read, its results are written."""


def cost(cell: Cell, items: int = ITEMS) -> float:
    """Return about how many seconds of one core a cell takes."""
    options = ENVIRONMENT_DEFAULTS | dict(cell.environment)
    users, dim = int(options["users"]), int(options["dim"])
    lists = users * cell.rounds
    if _scores_all(cell.policy):
        seconds = lists * items * (_SCORE * dim + (_DRAW if _draws_all(cell.policy) else 0.0))
    else:
        warm = min(1.0, cell.rounds / _WARM_ROUNDS)
        seconds = users * items * dim * _WARM_UP * warm
    return _START + seconds + lists * dim * _LIST


def _scores_all(policy: Policy) -> bool:
    composed = policy.compose()
    if not isinstance(composed, Bandit):
        return False
    return composed.exploration.name == "thompson" or composed.reranker.name in ("fairx", "fairco")


def _draws_all(policy: Policy) -> bool:
    composed = policy.compose()
    return isinstance(composed, Bandit) and composed.reranker.name == "fairx"


def duration(
    cells: Sequence[Cell], results: Results, sources: Sources, executor: Executor
) -> float:
    """Return about how many seconds it takes to run what is missing.

    What is finished tells how far this machine is from the one of the figures.
    """
    items = {fingerprint: ratings.n_items for fingerprint, ratings in sources.known.items()}

    def expected(cell: Cell) -> float:
        return cost(cell, items.get(cell.fingerprint, ITEMS))

    found = [(cell, results.find(cell)) for cell in cells]
    ratios = [seconds_of(run) / expected(cell) for cell, run in found if run is not None]
    missing = [cell for cell, run in found if run is None]
    faster = statistics.median(ratios) if ratios else 1.0
    return sum(map(expected, missing)) * faster / executor.cores(missing)


def seconds_of(found: Finished) -> float:
    """Return the seconds of one core that a finished cell took."""
    return float(found.about["seconds"]) * int(found.about["threads"])


def longest_first(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells so that no long one is left for the end."""
    return sorted(cells, key=lambda cell: -round(cost(cell), 1))
