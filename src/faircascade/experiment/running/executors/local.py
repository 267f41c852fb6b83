"""Cells on this machine: several at once if they are many, threads inside one if they are few."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from faircascade.engine.simulation import cores
from faircascade.experiment.cell import Cell
from faircascade.experiment.running.costs import Costs
from faircascade.experiment.running.executors.base import Plan
from faircascade.experiment.running.pool import News, Worker
from faircascade.experiment.running.work import Ending, Status, work

MANY = 4
"""Cells for each core from which on each gets a core of its own."""
WORTH_IT = 4.0
"""Seconds that all cores must have to do before processes are worth starting."""
TRIES = 3
"""How often a cell is begun whose process dies."""
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Local:
    """Runs cells on this machine; together they never have more threads than asked for."""

    workers: int | None = None
    """Cells at once; None goes by how many and how long they are."""
    threads: int | None = None
    """Threads of all cells together; None is one for each core."""

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")

    def run(self, plan: Plan) -> None:
        """Run all cells."""
        workers, threads = self.spread(plan.todo.left, plan.todo.costs)
        if workers == 1:
            run_here(plan, threads)
        else:
            run_apart(plan, workers, threads)

    def describe(self, plan: Plan) -> str:
        """Say how many cells run at once, with how many threads each."""
        workers, threads = self.spread(plan.todo.left, plan.todo.costs)
        each = "1 thread" if threads == 1 else f"{threads} threads"
        return (
            f"1 cell at a time, {each}" if workers == 1 else f"{workers} cells at once, {each} each"
        )

    def cores(self, plan: Plan) -> int:
        """Return how many cores will be busy."""
        workers, threads = self.spread(plan.todo.left, plan.todo.costs)
        return min(workers, max(1, len(plan.todo.left))) * threads

    def spread(self, cells: Sequence[Cell], costs: Costs) -> tuple[int, int]:
        """Return how many cells to run at once, and the threads of each."""
        threads = self.threads or cores()
        if self.workers is not None:
            return self.workers, max(1, threads // self.workers)
        many = len(cells) >= MANY * threads > MANY
        if many and sum(map(costs.of, cells)) > WORTH_IT * threads:
            return threads, 1
        return 1, threads


def run_here(plan: Plan, threads: int) -> None:
    """Run one cell after the other in this process."""
    todo, worlds = plan.todo, plan.worlds
    while len(todo):
        cell = todo.take()
        if cell is None:
            todo.wait()
            continue

        def tell(share: float, cell: Cell = cell) -> None:
            todo.tell({cell: share})

        ending = work(cell, plan.results, worlds, threads=threads, progress=tell)
        if ending.status is Status.STOPPED:
            raise KeyboardInterrupt
        todo.end(cell, ending)


def run_apart(plan: Plan, workers: int, threads: int) -> None:
    """Run several cells at once, each in a process."""
    todo = plan.todo
    todo.longest_first()
    news: queue.Queue[News] = queue.Queue()
    team: list[Worker] = []
    deaths: Counter[str] = Counter()

    def hire() -> Worker:
        worker = Worker(plan.results, news)
        team.append(worker)
        return worker

    try:
        idle = [hire() for _ in range(min(workers, len(todo)))]
        while len(todo) or len(idle) < len(team):
            while idle and (cell := todo.take()) is not None:
                idle.pop().give(cell, threads)
            if len(idle) == len(team):
                todo.wait()
                continue
            todo.tell({worker.cell: worker.share for worker in team if worker.cell is not None})
            try:
                event = news.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            worker, said = event.worker, event.said
            if said is None:
                team.remove(worker)
                todo_again(plan, worker, deaths)
                idle.append(hire())
            elif "share" in said:
                worker.share = said["share"]
            elif "said" in said:
                todo.say(said["said"])
            elif "trouble" in said:
                raise OSError(said["trouble"])
            else:
                assert worker.cell is not None
                todo.end(worker.cell, Ending(Status(said["status"]), said["reason"]))
                worker.cell = None
                idle.append(worker)
    finally:
        for worker in team:
            worker.end()


def todo_again(plan: Plan, worker: Worker, deaths: Counter[str]) -> None:
    """Put the cell of a process that died back to the others, unless that happens every time."""
    words = worker.last_words()
    worker.end()
    cell = worker.cell
    if cell is None:
        raise OSError(f"a process that runs cells could not be started: {words}")
    deaths[cell.key] += 1
    if deaths[cell.key] < TRIES:
        plan.todo.left.append(cell)
    else:
        plan.todo.end(cell, Ending(Status.IMPOSSIBLE, f"{words} ({TRIES} times; memory?)"))
