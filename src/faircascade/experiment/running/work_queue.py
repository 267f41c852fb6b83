"""The queue of cells: which is next, how the others ended, and the progress of all."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from faircascade.experiment.cell import Cell
from faircascade.experiment.running.cost_model import CostModel
from faircascade.experiment.running.run_cell import CellOutcome, CellStatus
from faircascade.experiment.store.results import Results
from faircascade.progress import Report

PAUSE_SECONDS = 0.5
"""How long to wait before checking again what other processes are running."""


class WorkQueue:
    """Cells that are not finished, in the order in which they are to be run."""

    def __init__(
        self,
        cells: Iterable[Cell],
        results: Results,
        costs: CostModel | None = None,
        progress: Report | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        missing = {cell.key: cell for cell in cells if results.find(cell) is None}
        self.left = deque(missing.values())
        self.costs = costs or CostModel()
        self.failures: dict[str, str] = {}
        """Cells that cannot be run, and why."""
        self._elsewhere: list[Cell] = []
        self._results = results
        self._progress = progress
        self._say = say
        self._said: set[str] = set()
        self._total = sum(map(self.costs.of, self.left)) or 1.0
        self._done = 0.0

    def __len__(self) -> int:
        """Count the cells that nobody is known to have finished, but for those handed out."""
        return len(self.left) + len(self._elsewhere)

    def longest_first(self) -> None:
        """Put the cells in an order in which no long one is left for the end."""
        self.left = deque(self.costs.longest_first(self.left))

    def take(self) -> Cell | None:
        """Hand out the next cell; None if the others are all under way elsewhere."""
        while self.left:
            cell = self.left.popleft()
            if self._results.find(cell) is None:
                return cell
            self._done += self.costs.of(cell)  # another runner has been here
        return None

    def wait(self) -> None:
        """Give other runners time, then look again at what they had under way."""
        self.say(
            "Waiting for cells that another process is running in this folder. "
            "Ctrl-C is safe; --out chooses another folder."
        )
        time.sleep(PAUSE_SECONDS)
        self.left.extend(self._elsewhere)
        self._elsewhere.clear()

    def end(self, cell: Cell, ending: CellOutcome) -> None:
        """Take note of how working on a cell ended."""
        if ending.status is CellStatus.TAKEN:
            self._elsewhere.append(cell)
            return
        if ending.status is CellStatus.IMPOSSIBLE:
            self.failures[cell.name] = ending.reason
        self._done += self.costs.of(cell)

    def tell(self, underway: Mapping[Cell, float]) -> None:
        """Say how far it all is, given how far the cells under way are."""
        if self._progress is None:
            return
        done = self._done + sum(share * self.costs.of(cell) for cell, share in underway.items())
        label = next((f"{cell.label}, seed {cell.seed}" for cell in underway), "")
        more = f" and {len(underway) - 1} more" if len(underway) > 1 else ""
        self._progress(label + more, min(1.0, done / self._total))

    def say(self, text: str) -> None:
        """Pass on what a process has to say, once."""
        if self._say is not None and text not in self._said:
            self._said.add(text)
            self._say(text)
