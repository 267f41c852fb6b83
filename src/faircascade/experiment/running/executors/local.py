"""Cells on this machine: several at once if they are many, threads inside one if they are few."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar

from faircascade.engine.simulation import cores
from faircascade.experiment.cell import Cell
from faircascade.experiment.running.costs import Costs
from faircascade.experiment.running.executors.base import Plan, check_counts
from faircascade.experiment.running.pool import News, Worker
from faircascade.experiment.running.work import Ending, Status, work
from faircascade.registry import ENTRY_POINTS, Component, parameters_of

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
        workers, threads = self.spread(plan.todo.left, plan.todo.costs)
        modules = own_modules(plan.todo.left)
        if workers == 1 or "__main__" in modules:  # which another process cannot import
            run_here(plan, threads if workers == 1 else workers * threads)
        else:
            run_apart(plan, workers, threads, modules)

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


def run_apart(plan: Plan, workers: int, threads: int, modules: Sequence[str] = ()) -> None:
    """Run several cells at once, each in a process."""
    todo = plan.todo
    todo.longest_first()
    news: queue.Queue[News] = queue.Queue()
    team: list[Worker] = []
    deaths: Counter[str] = Counter()

    def hire() -> None:
        team.append(Worker(plan.results, news, modules))

    try:
        for _ in range(min(workers, len(todo))):
            hire()
        while len(todo) or any(worker.cell for worker in team):
            for worker in team:
                if worker.is_ready and worker.cell is None and (cell := todo.take()) is not None:
                    worker.give(cell, threads)
            if all(worker.is_ready and worker.cell is None for worker in team):
                todo.wait()
                continue
            todo.tell({worker.cell: worker.share for worker in team if worker.cell is not None})
            try:
                event = news.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if event.said is None:
                team.remove(event.worker)
                bury(plan, event.worker, deaths)
                hire()
            else:
                hear(plan, event.worker, event.said)
    finally:
        for worker in team:
            worker.end()


def hear(plan: Plan, worker: Worker, said: Mapping[str, Any]) -> None:
    """Take note of what a process says."""
    if "ready" in said:
        worker.is_ready = True
    elif "share" in said:
        worker.share = said["share"]
    elif "said" in said:
        plan.todo.say(said["said"])
    elif "trouble" in said:
        raise OSError(said["trouble"])
    elif worker.cell is not None:
        plan.todo.end(worker.cell, Ending(Status(said["status"]), said["reason"]))
        worker.cell = None


def bury(plan: Plan, worker: Worker, deaths: Counter[str]) -> None:
    """Put the cell of a process that died back to the others, unless that happens every time."""
    words = worker.last_words()
    worker.end()
    if not worker.is_ready:
        raise OSError(f"processes that run cells cannot be started: {words}")
    cell = worker.cell
    if cell is None:
        return
    deaths[cell.key] += 1
    if deaths[cell.key] < TRIES:
        plan.todo.left.append(cell)
    else:
        plan.todo.end(cell, Ending(Status.IMPOSSIBLE, f"{words} ({TRIES} times)"))


def own_modules(cells: Iterable[Cell]) -> list[str]:
    """Return the modules of policies and their parts that other processes do not know of."""
    found = {type(part).__module__: None for cell in cells for part in parts_of(cell.policy)}
    advertised = {entry.module for entry in entry_points(group=ENTRY_POINTS)}
    return [
        name for name in found if name.partition(".")[0] != "faircascade" and name not in advertised
    ]


def parts_of(component: Component) -> Iterator[Component]:
    """Yield a component and those inside it."""
    yield component
    for parameter in parameters_of(type(component)):
        value = getattr(component, parameter.name)
        if isinstance(value, Component):
            yield from parts_of(value)
