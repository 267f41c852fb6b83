"""Working on one cell: claim it, run it, write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from faircascade.engine import Result, simulate
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.store.environments import EnvironmentStore
from faircascade.experiment.store.locks import Claim, claimed
from faircascade.experiment.store.results import Results
from faircascade.registry.own_parts import own_fault


class CellStatus(StrEnum):
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
class CellOutcome:
    """How working on a cell ended, and why."""

    status: CellStatus
    reason: str = ""


def run_cell(
    cell: Cell,
    results: Results,
    environments: EnvironmentStore,
    *,
    threads: int,
    progress: Callable[[float], None] | None = None,
) -> CellOutcome:
    """Run a cell unless somebody else does, and write what came out.

    A long cell is kept while it is under way, and goes on from there after a crash.
    """
    place = results.underway(cell)
    with claim_cell(cell, results) as standing:
        if standing is not None:
            return standing
        try:
            result = simulate_cell(
                cell, environments.of(cell), threads, progress=progress, snapshot=place
            )
            if result.interrupted:
                return CellOutcome(CellStatus.STOPPED)
            product = CellOutput.of(cell, result, threads=threads)
        except OSError:  # a full disk is not the cell's fault
            raise
        except Exception as error:
            return CellOutcome(CellStatus.IMPOSSIBLE, reason_of(error))
        return write_cell(cell, results, product)


@contextmanager
def claim_cell(cell: Cell, results: Results) -> Iterator[CellOutcome | None]:
    """Claim a cell; yield None if it is ours to run, else how it stands."""
    with claimed(results.underway(cell)) as claim:
        if claim is Claim.MINE:
            results.sweep(cell)
        if results.find(cell) is not None:
            yield CellOutcome(CellStatus.FINISHED)
        else:
            yield CellOutcome(CellStatus.TAKEN) if claim is Claim.TAKEN else None


def write_cell(cell: Cell, results: Results, product: CellOutput) -> CellOutcome:
    """Write what came out of a cell that was claimed, and drop its snapshot."""
    results.add(cell, product)
    results.underway(cell).unlink(missing_ok=True)
    return CellOutcome(CellStatus.FINISHED)


def reason_of(error: BaseException) -> str:
    """Return why a cell cannot be run; what nobody foresaw comes with its kind."""
    if fault := own_fault(error):
        return fault
    foreseen = isinstance(error, ValueError | ArithmeticError)
    return str(error) if foreseen else f"{type(error).__name__}: {error}"


def simulate_cell(
    cell: Cell,
    env: Environment,
    threads: int,
    *,
    progress: Callable[[float], None] | None = None,
    snapshot: Path | None = None,
) -> Result:
    """Simulate a cell in its environment, or in a part of it."""
    return simulate(
        env,
        cell.policy,
        rounds=cell.rounds,
        seed=cell.seed,
        checkpoints=cell.checkpoints,
        threads=threads,
        progress=progress,
        snapshot=snapshot,
        keep_snapshot=True,
    )
