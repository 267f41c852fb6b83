"""Running cells: what is finished is skipped, and Ctrl-C keeps what is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from faircascade.data.base import Ratings
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.results import Results

Progress = Callable[[str, float], None]
"""Called with the cell that runs and the share of the missing work that is done."""


@dataclass
class Worlds:
    """Environments of one data set; the last one is kept, as cells come world by world."""

    ratings: Ratings
    _made: tuple[tuple[str, int], Environment] | None = field(default=None, repr=False)

    def of(self, cell: Cell) -> Environment:
        """Return a cell's world."""
        wanted = (cell.world, cell.seed)
        if self._made is None or self._made[0] != wanted:
            made = Environment.from_ratings(self.ratings, seed=cell.seed, **cell.environment)
            self._made = (wanted, made)
        return self._made[1]


def run_cells(
    cells: Sequence[Cell],
    ratings: Ratings,
    results: Results,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> bool:
    """Run what is not finished; return False if Ctrl-C came before the end of it."""
    missing = {cell.key: cell for cell in cells if results.find(cell) is None}
    worlds = Worlds(ratings)
    total = sum(cell.rounds for cell in missing.values())
    done = 0
    try:
        for cell in missing.values():
            report = _part(progress, cell, done, total)
            result = simulate(
                worlds.of(cell),
                cell.policy,
                rounds=cell.rounds,
                seed=cell.seed,
                checkpoints=cell.checkpoints,
                threads=threads,
                progress=report,
            )
            if result.interrupted:
                return False
            results.add(cell, result)
            done += cell.rounds
    except KeyboardInterrupt:
        return False
    return True


def _part(
    progress: Progress | None, cell: Cell, done: int, total: int
) -> Callable[[float], None] | None:
    if progress is None:
        return None
    label = f"{cell.label}, seed {cell.seed}"
    return lambda share: progress(label, (done + share * cell.rounds) / total)
