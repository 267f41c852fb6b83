"""Working on one cell: claim it, run it, write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from faircascade.engine import Result, simulate
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.store.claims import claimed
from faircascade.experiment.store.results import Product, Results
from faircascade.experiment.store.worlds import Worlds


class Status(StrEnum):
    """How working on a cell ended."""

    FINISHED = "finished"
    """It is there, whoever wrote it."""
    TAKEN = "taken"
    """Another runner has it under way."""
    IMPOSSIBLE = "impossible"
    """It cannot be run, and never will."""
    STOPPED = "stopped"
    """Ctrl-C came; it goes on from there next time."""


@dataclass(frozen=True)
class Ending:
    """How working on a cell ended, and why."""

    status: Status
    reason: str = ""


def work(
    cell: Cell,
    results: Results,
    worlds: Worlds,
    *,
    threads: int,
    progress: Callable[[float], None] | None = None,
) -> Ending:
    """Run a cell unless somebody else does, and write what came out.

    A long cell is kept while it is under way, and goes on from there after a crash.
    """
    place = results.underway(cell)
    with claimed(place) as mine:
        if results.find(cell) is not None:
            return Ending(Status.FINISHED)
        if not mine:
            return Ending(Status.TAKEN)
        results.sweep(cell)
        try:
            result = run(cell, worlds.of(cell), threads, progress=progress, snapshot=str(place))
        except (ValueError, ArithmeticError) as error:
            return Ending(Status.IMPOSSIBLE, str(error))
        if result.interrupted:
            return Ending(Status.STOPPED)
        results.add(cell, Product.of(cell, result, threads=threads))
        return Ending(Status.FINISHED)


def run(
    cell: Cell,
    env: Environment,
    threads: int,
    *,
    progress: Callable[[float], None] | None = None,
    snapshot: str | None = None,
) -> Result:
    """Simulate a cell in its world, or in a part of it."""
    return simulate(
        env,
        cell.policy,
        rounds=cell.rounds,
        seed=cell.seed,
        checkpoints=cell.checkpoints,
        threads=threads,
        progress=progress,
        snapshot=snapshot,
    )
