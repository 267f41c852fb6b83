"""Environments of a run: each is built once and kept, and shared by all policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faircascade.data.base import DataError, Progress, Ratings
from faircascade.data.load import load_dataset
from faircascade.environment import Environment
from faircascade.experiment.cell import Cell
from faircascade.experiment.environment_options import build_options
from faircascade.experiment.store.locks import Claim, claimed
from faircascade.storage import sweep


@dataclass
class Sources:
    """Ratings of the data sets that a run needs, loaded when they are first asked for."""

    known: dict[str, Ratings] = field(default_factory=dict)
    """By fingerprint."""

    def load(self, source: Mapping[str, Any], progress: Progress | None = None) -> Ratings:
        """Load the ratings that a spec describes."""
        options = {name: value for name, value in source.items() if name != "name"}
        ratings = load_dataset(source["name"], progress=progress, **options)
        self.known[ratings.fingerprint] = ratings
        return ratings

    def of(self, cell: Cell) -> Ratings:
        """Return the ratings of a cell, which must be those that it was planned with."""
        if cell.fingerprint not in self.known:
            self.load(cell.data)
        if cell.fingerprint not in self.known:
            raise DataError(f"{cell.data['name']}: the data changed during the run")
        return self.known[cell.fingerprint]


@dataclass
class EnvironmentStore:
    """Environments by cell; the last one is at hand, as cells come by environment."""

    folder: Path | None
    """Where they are kept; None keeps none."""
    sources: Sources
    _last: tuple[str, Environment] | None = field(default=None, repr=False)

    def of(self, cell: Cell) -> Environment:
        """Return a cell's environment: as it was kept, or built and kept now."""
        if self._last is None or self._last[0] != cell.environment_key:
            self._last = (cell.environment_key, self._kept(cell) or self._build(cell))
        return self._last[1]

    def _kept(self, cell: Cell) -> Environment | None:
        if self.folder is None:
            return None
        try:
            return Environment.load(self.folder / f"{cell.environment_key}.npz")
        except (OSError, ValueError, KeyError):  # not there, or damaged
            return None

    def _build(self, cell: Cell) -> Environment:
        if self.folder is None:
            return self._make(cell)
        place = self.folder / f"{cell.environment_key}.npz"
        with claimed(place, wait=True) as claim:
            made = self._kept(cell)  # another runner may have been faster
            if made is None:
                if claim is Claim.MINE:
                    sweep(place)
                made = self._make(cell)
                made.save(place)
        return made

    def _make(self, cell: Cell) -> Environment:
        ratings = self.sources.of(cell)
        return Environment.from_ratings(ratings, seed=cell.seed, **build_options(cell.environment))
