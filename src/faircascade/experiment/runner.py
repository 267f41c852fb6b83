"""Running cells: what is finished is skipped, and Ctrl-C keeps what is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from faircascade.data.base import Ratings
from faircascade.engine import simulate
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.comparison import Progress, part_of
from faircascade.experiment.results import Results


@dataclass(frozen=True)
class Outcome:
    """How running cells ended."""

    complete: bool
    """False if Ctrl-C came before the end."""
    failures: Mapping[str, str]
    """Cells that cannot be run, and why."""


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
) -> Outcome:
    """Run what is not finished. A cell that cannot be run is noted, and the others go on."""
    missing = {cell.key: cell for cell in cells if results.find(cell) is None}
    worlds = Worlds(ratings)
    total = sum(cell.rounds for cell in missing.values())
    done = 0
    failures: dict[str, str] = {}
    try:
        for cell in missing.values():
            name = f"{cell.label}, seed {cell.seed}"
            if results.find(cell) is None:  # another runner may have been here
                try:
                    result = simulate(
                        worlds.of(cell),
                        cell.policy,
                        rounds=cell.rounds,
                        seed=cell.seed,
                        checkpoints=cell.checkpoints,
                        threads=threads,
                        progress=part_of(progress, name, done / total, cell.rounds / total),
                    )
                except (ValueError, ArithmeticError) as error:
                    failures[f"{name}, {cell.world}"] = str(error)
                else:
                    if result.interrupted:
                        return Outcome(False, failures)
                    results.add(cell, result)
            done += cell.rounds
    except KeyboardInterrupt:
        return Outcome(False, failures)
    return Outcome(True, failures)
