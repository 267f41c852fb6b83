"""Finished cells in a folder: each is written whole or not at all, and never computed twice."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.experiment.cell import Cell, hash_of
from faircascade.experiment.cell_result import CellOutput, CellResult
from faircascade.experiment.store.files import write_json, write_parquet
from faircascade.experiment.store.locks import Claim, claimed
from faircascade.metrics.base import GROUP
from faircascade.storage import draft_of, sweep, to_disk
from faircascade.types import Floats

_ABOUT, _CURVES, _ITEMS = "cell.json", "curves.parquet", "items.parquet"


@dataclass(frozen=True, eq=False)
class FinishedCell(CellResult):
    """A cell that was run, as its files tell it."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:  # type: ignore[override]
        about: dict[str, Any] = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))
        return about

    @property
    def key(self) -> str:
        return self.folder.name

    @cached_property
    def curves(self) -> dict[str, Floats]:  # type: ignore[override]
        return _read(self.folder / _CURVES)

    @cached_property
    def items(self) -> dict[str, Any]:  # type: ignore[override]
        return _read(self.folder / _ITEMS)

    def is_whole(self, cell: Cell) -> bool:
        """Say whether the files are there, as they were written, and are of that cell."""
        try:
            if hash_of(self.about["settings"]) != cell.key or not self.about["metrics"]:
                return False
            hashes = self.about["files"]
            return all(_hash(self.folder / name) == hashes[name] for name in (_CURVES, _ITEMS))
        except (OSError, ValueError, KeyError, TypeError):
            return False


@dataclass(frozen=True)
class Results:
    """A folder of finished cells, found by their keys.

    `cells/KEY` is a finished one, `environments/KEY.npz` an environment, and `underway` has
    what is claimed and how far long cells have come.
    """

    folder: Path
    _known: dict[str, FinishedCell] = field(default_factory=dict, repr=False, compare=False)

    @property
    def environments(self) -> Path:
        return self.folder / "environments"

    def underway(self, cell: Cell) -> Path:
        """Return where a cell that is not finished is claimed and kept."""
        return self.folder / "underway" / f"{cell.key}.npz"

    def find(self, cell: Cell) -> FinishedCell | None:
        """Return a cell's result, if it was finished; a damaged one counts as not."""
        if cell.key not in self._known:
            found = FinishedCell(self._place(cell))
            if not found.is_whole(cell):
                return None
            self._known[cell.key] = found
        return self._known[cell.key]

    def add(self, cell: Cell, product: CellOutput) -> FinishedCell:
        """Write what came out; what somebody else wrote meanwhile stays as it is."""
        place = self._place(cell)
        draft = draft_of(place)
        draft.mkdir(parents=True)
        try:
            write_parquet(draft / _CURVES, product.curves)
            write_parquet(draft / _ITEMS, product.items)
            hashes = {name: _hash(draft / name) for name in (_CURVES, _ITEMS)}
            write_json(draft / _ABOUT, {**product.about, "files": hashes})
            to_disk(draft)
            if self.find(cell) is None:
                shutil.rmtree(place, ignore_errors=True)  # what is there is damaged
                draft.rename(place)
                to_disk(place.parent)
        except OSError:
            if self.find(cell) is None:
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return FinishedCell(place)

    def forget(self, cells: Iterable[Cell]) -> None:
        """Remove what runners that were killed left under way of cells that are finished."""
        left = {path.name.lstrip(".").partition(".")[0] for path in self.folder.glob("underway/*")}
        for cell in cells:
            if cell.key in left and self.find(cell) is not None:
                with claimed(self.underway(cell)) as claim:
                    if claim is Claim.MINE:
                        self.sweep(cell)

    def sweep(self, cell: Cell) -> None:
        """Remove what runners that were killed left of a cell; call it with the cell claimed."""
        sweep(self._place(cell))
        sweep(self.underway(cell))
        if self.find(cell) is not None:
            self.underway(cell).unlink(missing_ok=True)

    def _place(self, cell: Cell) -> Path:
        return self.folder / "cells" / cell.key


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _read(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    for name in filter(lambda name: name.startswith(GROUP), columns):  # few values: keep each once
        columns[name] = np.array([sys.intern(value) for value in columns[name]], dtype=object)
    return columns
