"""Cells on a GPU, as many side by side as fill it; what it cannot run goes to the processor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from faircascade.engine import Result, Wanted, simulate_together
from faircascade.engine.abilities import unknown_part
from faircascade.engine.simulation import cores
from faircascade.environment import Environment
from faircascade.experiment.cell import ENVIRONMENT_DEFAULTS, Cell
from faircascade.experiment.running.costs import scores_every_item
from faircascade.experiment.running.executors.base import Plan, check_counts
from faircascade.experiment.running.executors.local import Local
from faircascade.experiment.running.work import Ending, Status, reason_of
from faircascade.experiment.store.claims import Claim, claimed
from faircascade.experiment.store.results import Product
from faircascade.experiment.store.worlds import Worlds

USERS = 20_000
"""Users of all cells that run side by side: more do not make a GPU any faster."""
SPEED_UP = 40
"""About how many cores of a processor a GPU stands for, in the estimate of a plan."""


@dataclass(frozen=True)
class Gpu:
    """Runs cells on the GPU of this machine, to the bits that a processor gives."""

    threads: int | None = None
    """Threads that build worlds and take metrics; None is one for each core."""

    def __post_init__(self) -> None:
        check_counts(threads=self.threads)

    def run(self, plan: Plan) -> None:
        """Run all cells; the next ones are made ready while the GPU is busy."""
        from faircascade.engine.gpu.run import the_gpu

        the_gpu()  # or say what is missing, before anything is done
        left: list[Cell] = []
        with ThreadPoolExecutor(self.threads or cores()) as pool:
            ready: list[Future[Environment | ValueError]] = []
            batches = list(_batches(plan))
            for place, batch in enumerate(batches):
                worlds = ready or _begin(pool, plan, batch)
                ready = _begin(pool, plan, batches[place + 1]) if place + 1 < len(batches) else []
                left += _run_batch(plan, pool, batch, [world.result() for world in worlds])
        if left or len(plan.todo):
            plan.todo.left.extend(left)
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
    groups: dict[object, list[Cell]] = {}
    while (cell := plan.todo.take()) is not None:
        options = ENVIRONMENT_DEFAULTS | dict(cell.environment)
        slow = scores_every_item(cell.policy)  # those are not to hold up the others
        alike = (options["dim"], options["k"], cell.fingerprint, cell.checkpoints, slow)
        groups.setdefault(alike, []).append(cell)
    for cells in groups.values():
        users = int((ENVIRONMENT_DEFAULTS | dict(cells[0].environment))["users"])
        most = max(1, USERS // users)
        yield from (cells[first : first + most] for first in range(0, len(cells), most))


def _begin(
    pool: ThreadPoolExecutor, plan: Plan, batch: Sequence[Cell]
) -> list[Future[Environment | ValueError]]:
    """Begin to build the worlds of cells, each once."""
    known: dict[str, Future[Environment | ValueError]] = {}
    for cell in batch:
        if cell.world_key not in known:
            known[cell.world_key] = pool.submit(_world, plan, cell)
    return [known[cell.world_key] for cell in batch]


def _world(plan: Plan, cell: Cell) -> Environment | ValueError:
    """Return a cell's world with all that a run needs to know of it, or why there is none."""
    try:
        env = Worlds(plan.results.worlds, plan.sources).of(cell)
        env.optimal_rewards  # noqa: B018 - made now, beside the GPU's work
    except ValueError as error:
        return error
    return env


def _run_batch(
    plan: Plan,
    pool: ThreadPoolExecutor,
    batch: Sequence[Cell],
    worlds: Sequence[Environment | ValueError],
) -> list[Cell]:
    """Run cells side by side and write them; return those that a GPU cannot run."""
    todo, left, wanted = plan.todo, [], []
    with ExitStack() as claims:
        cells: list[Cell] = []
        for cell, world in zip(batch, worlds, strict=True):
            claim = claims.enter_context(claimed(plan.results.underway(cell)))
            if plan.results.find(cell) is not None:
                todo.end(cell, Ending(Status.FINISHED))
            elif claim is Claim.TAKEN:
                todo.end(cell, Ending(Status.TAKEN))
            elif isinstance(world, ValueError):
                todo.end(cell, Ending(Status.IMPOSSIBLE, reason_of(world)))
            elif unknown_part(world, cell.policy, yardsticks=False):
                left.append(cell)
            else:
                cells.append(cell)
                wanted.append(Wanted(world, cell.policy, cell.seed))
        if not cells:
            return left

        def tell(share: float) -> None:
            todo.tell(dict.fromkeys(cells, share))

        checkpoints = cells[0].checkpoints
        try:
            results = simulate_together(
                wanted, rounds=cells[0].rounds, checkpoints=checkpoints, progress=tell
            )
        except ArithmeticError:  # one of them; each by itself tells which
            return [*left, *cells]
        if results[0].interrupted:
            raise KeyboardInterrupt
        for written in [
            pool.submit(_write, plan, *pair) for pair in zip(cells, results, strict=True)
        ]:
            written.result()
        for cell in cells:
            todo.end(cell, Ending(Status.FINISHED))
    return left


def _write(plan: Plan, cell: Cell, result: Result) -> None:
    plan.results.add(cell, Product.of(cell, result))
