"""Cells on this machine: several at once if they are many, threads inside one if they are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any, ClassVar

from faircascade.component_files import references
from faircascade.cores import cores
from faircascade.experiment.cell import Cell, own_parts_of
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.executors.base import Plan, check_counts
from faircascade.experiment.running.run_cell import CellOutcome, CellStatus, run_cell
from faircascade.experiment.running.worker_pool import Worker, WorkerMessage

MANY = 4
"""Cells for each core from which on each gets a core of its own."""
WORTH_IT = 4.0
"""Seconds that all cores must have to do before processes are worth starting."""
TRIES = 3
"""How often a cell is begun whose process dies."""
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Local:
    """Runs cells on this machine, with no more threads than cores unless asked for."""

    uses_gpu: ClassVar[bool] = False

    workers: int | None = None
    """Cells at once; None goes by how many and how long they are."""
    threads: int | None = None
    """Threads of all cells together; None is one for each core."""

    def __post_init__(self) -> None:
        check_counts(workers=self.workers, threads=self.threads)

    def run(self, plan: Plan) -> None:
        """Run all cells."""
        workers, threads = self.spread(plan.queue.left, plan.queue.costs)
        if workers == 1:
            run_in_process(plan, threads)
            return
        try:
            components = references(own_parts_of(plan.queue.left))
        except ValueError as error:
            plan.queue.say(f"Cells run in this process, one at a time: {error}.")
            run_in_process(plan, workers * threads)
        else:
            run_in_processes(plan, workers, threads, components)

    def describe(self, plan: Plan) -> str:
        """Say how many cells run at once, with how many threads each."""
        workers, threads = self.spread(plan.queue.left, plan.queue.costs)
        each = "1 thread" if threads == 1 else f"{threads} threads"
        return (
            f"1 cell at a time, {each}" if workers == 1 else f"{workers} cells at once, {each} each"
        )

    def cores(self, plan: Plan) -> int:
        """Return how many cores will be busy."""
        workers, threads = self.spread(plan.queue.left, plan.queue.costs)
        return min(workers, max(1, len(plan.queue.left))) * threads

    def spread(self, cells: Sequence[Cell], costs: CostModel) -> tuple[int, int]:
        """Return how many cells to run at once, and the threads of each."""
        threads = self.threads or cores()
        if self.workers is not None:
            return self.workers, max(1, threads // self.workers)
        many = len(cells) >= MANY * threads > MANY
        if many and sum(map(costs.of, cells)) > WORTH_IT * threads:
            return threads, 1
        return 1, threads


def run_in_process(plan: Plan, threads: int) -> None:
    """Run one cell after the other in this process."""
    queue, environments = plan.queue, plan.environments
    while len(queue):
        cell = queue.take()
        if cell is None:
            queue.wait()
            continue

        def tell(share: float, cell: Cell = cell) -> None:
            queue.tell({cell: share})

        ending = run_cell(cell, plan.results, environments, threads=threads, progress=tell)
        if ending.status is CellStatus.STOPPED:
            raise KeyboardInterrupt
        queue.end(cell, ending)


def run_in_processes(plan: Plan, workers: int, threads: int, components: Mapping[str, Any]) -> None:
    """Run several cells at once, each in a process."""
    queue = plan.queue
    queue.longest_first()
    messages: Queue[WorkerMessage] = Queue()
    workers_running: list[Worker] = []
    deaths: Counter[str] = Counter()

    def start_worker() -> None:
        workers_running.append(Worker(plan.results, messages, components))

    try:
        for _ in range(min(workers, len(queue))):
            start_worker()
        while len(queue) or any(worker.cell for worker in workers_running):
            for worker in workers_running:
                if worker.is_ready and worker.cell is None and (cell := queue.take()) is not None:
                    worker.give(cell, threads)
            if all(worker.is_ready and worker.cell is None for worker in workers_running):
                queue.wait()
                continue
            queue.tell(
                {worker.cell: worker.share for worker in workers_running if worker.cell is not None}
            )
            try:
                event = messages.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            if event.said is None:
                workers_running.remove(event.worker)
                handle_crash(plan, event.worker, deaths)
                start_worker()
            else:
                handle_message(plan, event.worker, event.said)
    finally:
        for worker in workers_running:
            worker.end()


def handle_message(plan: Plan, worker: Worker, said: Mapping[str, Any]) -> None:
    """Take note of what a process says."""
    if "ready" in said:
        worker.is_ready = True
    elif "share" in said:
        worker.share = said["share"]
    elif "said" in said:
        plan.queue.say(said["said"])
    elif "trouble" in said:
        raise OSError(said["trouble"])
    elif worker.cell is not None:
        plan.queue.end(worker.cell, CellOutcome(CellStatus(said["status"]), said["reason"]))
        worker.cell = None


def handle_crash(plan: Plan, worker: Worker, deaths: Counter[str]) -> None:
    """Put the cell of a process that died back to the others, unless that happens every time."""
    words = worker.exit_message()
    worker.end()
    if not worker.is_ready:
        raise OSError(f"cannot start worker processes: {words}")
    cell = worker.cell
    if cell is None:
        return
    deaths[cell.key] += 1
    if deaths[cell.key] < TRIES:
        plan.queue.left.append(cell)
    else:
        plan.queue.end(cell, CellOutcome(CellStatus.IMPOSSIBLE, f"{words} ({TRIES} times)"))
