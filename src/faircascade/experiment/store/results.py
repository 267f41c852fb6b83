"""Finished cells in a folder: each is written whole or not at all, and never computed twice."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.engine import Result
from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell
from faircascade.experiment.machine import describe_machine, platform_versions
from faircascade.experiment.store.files import write_json, write_parquet
from faircascade.metrics.exposure import exposure_b, exposure_p
from faircascade.storage import draft_of, sweep, to_disk
from faircascade.theory import environment_conditions
from faircascade.types import Floats

_ABOUT, _CURVES, _ITEMS = "cell.json", "curves.parquet", "items.parquet"
_ROUNDING = 1e-9
"""How far apart the same environment can be, built on two machines; seen so far: 1e-15."""


@dataclass(frozen=True, eq=False)
class FinishedCell:
    """A cell that was run, as its files tell it."""

    folder: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """The settings, the final metrics, and how the run went."""
        about: dict[str, Any] = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))
        return about

    @property
    def seed(self) -> int:
        return int(self.about["settings"]["seed"])

    @property
    def rounds(self) -> int:
        return int(self.about["settings"]["rounds"])

    @cached_property
    def curves(self) -> dict[str, Floats]:
        """Every metric at every checkpoint: columns of a table, `round` among them."""
        return _read(self.folder / _CURVES)

    @cached_property
    def items(self) -> dict[str, Any]:
        """One row an item: id, merit, exposure_b, exposure_p, clicks."""
        return _read(self.folder / _ITEMS)

    def is_paired(self, other: FinishedCell) -> bool:
        """Say whether another run took place in the same environment, if perhaps built elsewhere.

        Another machine's linear algebra rounds differently, so bits cannot be asked for.
        """
        marks = ("optimal_value", "largest_preference")
        return all(math.isclose(self.about[m], other.about[m], rel_tol=_ROUNDING) for m in marks)

    def is_whole(self, cell: Cell) -> bool:
        """Say whether the files are there, as they were written, and are of that cell."""
        try:
            if self.about["settings"] != cell.settings or not self.about["metrics"]:
                return False
            hashes = self.about["files"]
            return all(_hash(self.folder / name) == hashes[name] for name in (_CURVES, _ITEMS))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def value(self, metric: str, rounds: int | None = None) -> float:
        """Return a metric at the end, or as it stood at a checkpoint; NaN where it has no value."""
        if rounds is None or rounds == self.rounds:
            value = self.about["metrics"].get(metric)  # it may have been registered since
            return math.nan if value is None else float(value)
        at = np.flatnonzero(self.curves["round"] == rounds)
        if len(at) == 0:
            raise ParameterError("rounds", "must be a checkpoint of the run", rounds)
        return float(self.curves[metric][at[0]]) if metric in self.curves else math.nan


@dataclass(frozen=True, eq=False)
class CellOutput:
    """What came out of a cell, as it is written."""

    about: dict[str, Any]
    curves: dict[str, Floats]
    items: dict[str, Any]

    @classmethod
    def of(cls, cell: Cell, result: Result, *, threads: int = 1) -> CellOutput:
        """Return what is kept of a result."""
        return cls(about(cell, result) | {"threads": threads}, curves_of(result), items_of(result))


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
        """Remove how far cells had come that are finished by now."""
        for cell in cells:
            if self.find(cell) is not None:
                self.underway(cell).unlink(missing_ok=True)

    def sweep(self, cell: Cell) -> None:
        """Remove what runners that were killed left of a cell; call it with the cell claimed."""
        sweep(self._place(cell))
        sweep(self.underway(cell))

    def _place(self, cell: Cell) -> Path:
        return self.folder / "cells" / cell.key


def about(cell: Cell, result: Result) -> dict[str, Any]:
    """Return a finished cell as one plain document."""
    env, here = result.env, describe_machine()
    return {
        "settings": cell.settings,
        "label": cell.label,
        "metrics": {n: v if math.isfinite(v) else None for n, v in result.metrics.items()},
        "optimal_value": result.optimal_value,
        "users": len(env.users),
        "items": len(env.items),
        "environment": dict(env.info),
        "fingerprint": env.fingerprint,
        "largest_preference": float(np.sqrt((env.preferences**2).sum(axis=1)).max()),
        "proof": {c.rule: c.reason for c in environment_conditions(env)},
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "seconds": result.seconds,
        "machine": here["machine"],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": platform_versions(),
    }


def curves_of(result: Result) -> dict[str, Floats]:
    """Return every metric by checkpoint, with the clicks of each interval by themselves."""
    served = np.add.reduceat(result.tally.served, _starts(result))
    clicks = np.add.reduceat(result.tally.clicks, _starts(result))
    return {**result.curves, "interval_clicks": clicks / np.maximum(served, 1)}


def items_of(result: Result) -> dict[str, Any]:
    """Return one row per item."""
    items, record = result.env.items, result.record
    return {
        "item": items.ids.astype(str),
        "merit": items.merit,
        "exposure_b": exposure_b(record),
        "exposure_p": exposure_p(record),
        "clicks": record.item_clicks.sum(axis=1),
    }


def _starts(result: Result) -> Any:
    return np.concatenate([[0], result.tally.checkpoints[:-1]])


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _read(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
