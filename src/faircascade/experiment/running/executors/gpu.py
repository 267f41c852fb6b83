"""Cells on a GPU, as many side by side as fill it; what it cannot run goes to the processor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

from faircascade.cores import cores
from faircascade.engine import Result, Wanted, simulate_together
from faircascade.engine.capabilities import unsupported
from faircascade.engine.gpu.device import NoGPU
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.cell_result import CellOutput
from faircascade.experiment.environment_options import all_options
from faircascade.experiment.running.executors.base import Plan, check_counts
from faircascade.experiment.running.executors.local import Local
from faircascade.experiment.running.run_cell import (
    CellOutcome,
    CellStatus,
    claim_cell,
    reason_of,
    write_cell,
)
from faircascade.experiment.store.environments import EnvironmentStore
from faircascade.registry import Component

USERS = 20_000
"""Users of all cells that run side by side: more do not make a GPU any faster."""
SPEED_UP = 40
"""About how many cores of a processor a GPU stands for, in the estimate of a plan."""


@dataclass(frozen=True)
class Gpu:
    """Runs cells on the GPU of this machine, to the bits that a processor gives."""

    uses_gpu: ClassVar[bool] = True

    threads: int | None = None
    """Threads that build environments and take metrics; None is one for each core."""

    def __post_init__(self) -> None:
        from faircascade.engine.gpu.run import the_gpu

        check_counts(threads=self.threads)
        the_gpu()  # or say what is missing, before anything is done

    def run(self, plan: Plan) -> None:
        """Run all cells; what comes before and after a batch is done while the GPU is busy."""
        left: list[Cell] = []
        with ThreadPoolExecutor(self.threads or cores()) as pool, ExitStack() as written:
            batches = [Batch(plan, pool, cells) for cells in _batches(plan)]
            try:
                for place, batch in enumerate(batches):
                    for near in batches[place : place + 2]:
                        near.prepare()
                    with ExitStack() as claims:
                        batch.claim(claims)
                        batch.run(batches[place - 1] if place else None)
                        written.close()  # the batch before
                        written.callback(batch.settle, claims.pop_all())
                    left += batch.left
            except BaseException:
                for batch in batches:
                    batch.cancel()
                raise
        if left or len(plan.queue):
            plan.queue.left.extend(left)
            Local(threads=self.threads).run(plan)

    def describe(self, plan: Plan) -> str:
        """Name the GPU."""
        from faircascade.engine.gpu.run import the_gpu

        return f"many cells at once on one {the_gpu().name}"

    def cores(self, plan: Plan) -> int:
        """Return how many cores a GPU stands for."""
        return SPEED_UP


def _batches(plan: Plan) -> Iterator[list[Cell]]:
    """Yield cells that can share a launch, as many as fill a GPU."""
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    while (cell := plan.queue.take()) is not None:
        options = all_options(cell.environment)
        slow = cell.policy.needs_all_scores  # those are not to hold up the others
        users = int(options["users"])
        parts = tuple(part for part in options.values() if isinstance(part, Component))
        sizes = (options["dim"], options["k"])
        alike = (users, *sizes, parts, cell.fingerprint, cell.checkpoints, slow)
        groups.setdefault(alike, []).append(cell)
    for (users, *_), cells in groups.items():
        most = max(1, USERS // users)
        yield from (cells[first : first + most] for first in range(0, len(cells), most))


class Batch:
    """Cells that run side by side."""

    def __init__(self, plan: Plan, pool: ThreadPoolExecutor, cells: Sequence[Cell]) -> None:
        self.plan = plan
        self.pool = pool
        self.cells = list(cells)
        self.left: list[Cell] = []
        """Those that a GPU cannot run."""
        self._environments: dict[str, Future[Environment | ValueError]] = {}
        self._writing: list[Future[CellOutcome]] = []

    def prepare(self) -> None:
        """Begin to build the environments, each once."""
        for cell in self.cells:
            if cell.environment_key not in self._environments:
                self._environments[cell.environment_key] = self.pool.submit(
                    _environment, self.plan, cell
                )

    def cancel(self) -> None:
        """Do not build what was not begun."""
        for environment in self._environments.values():
            environment.cancel()

    def claim(self, claims: ExitStack) -> None:
        """Keep the cells that are ours to run."""
        queue, results, ours = self.plan.queue, self.plan.results, []
        for cell in self.cells:
            standing = claims.enter_context(claim_cell(cell, results))
            environment = self._environments[cell.environment_key].result()
            if standing is not None:
                queue.end(cell, standing)
            elif isinstance(environment, ValueError):
                queue.end(cell, CellOutcome(CellStatus.IMPOSSIBLE, reason_of(environment)))
            elif unsupported(environment, cell.policy, "gpu"):
                self.left.append(cell)
            else:
                ours.append(cell)
        self.cells = ours

    def run(self, before: Batch | None) -> None:
        """Run them, and begin to write what came out, as was begun for the batch before."""
        if not self.cells:
            return
        written = dict.fromkeys(before.cells if before is not None else (), 1.0)

        def tell(share: float) -> None:
            self.plan.queue.tell(dict.fromkeys(self.cells, share) | written)

        wanted = [Wanted(self._environment(cell), cell.policy, cell.seed) for cell in self.cells]
        first = self.cells[0]
        try:
            results = simulate_together(
                wanted, rounds=first.rounds, checkpoints=first.checkpoints, progress=tell
            )
        except (ArithmeticError, NoGPU):  # of one of them, which each by itself tells; no memory
            self.left += self.cells
            self.cells = []
            return
        if results[0].interrupted:
            raise KeyboardInterrupt
        pairs = zip(self.cells, results, strict=True)
        self._writing = [self.pool.submit(_write, self.plan, *pair) for pair in pairs]
        self._environments.clear()

    def settle(self, claims: ExitStack) -> None:
        """Wait until all is written, and let go of it."""
        with claims:
            for cell, writing in zip(self.cells, self._writing, strict=True):
                self.plan.queue.end(cell, writing.result())

    def _environment(self, cell: Cell) -> Environment:
        environment = self._environments[cell.environment_key].result()
        assert isinstance(environment, Environment)
        return environment


def _environment(plan: Plan, cell: Cell) -> Environment | ValueError:
    """Return a cell's environment with all that a run needs to know of it, or why there is none."""
    try:
        env = EnvironmentStore(plan.results.environments, plan.sources).of(cell)
        env.optimum(1)  # made now, beside the GPU's work
    except ValueError as error:
        return error
    return env


def _write(plan: Plan, cell: Cell, result: Result) -> CellOutcome:
    return write_cell(cell, plan.results, CellOutput.of(cell, result))
