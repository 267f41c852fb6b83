"""Finished cells in a folder: each is written whole or not at all, and never computed twice."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.engine import Result
from faircascade.experiment.cell import Cell
from faircascade.experiment.store import write_json, write_parquet
from faircascade.metrics.exposure import exposure_b, exposure_p
from faircascade.types import Floats

_ABOUT, _CURVES, _ITEMS = "cell.json", "curves.parquet", "items.parquet"


@dataclass(frozen=True, eq=False)
class Finished:
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

    def value(self, metric: str, rounds: int | None = None) -> float:
        """Return a metric at the end, or as it stood at a checkpoint; NaN where it has no value."""
        if rounds is None or rounds == self.rounds:
            value = self.about["metrics"][metric]
            return math.nan if value is None else float(value)
        at = np.flatnonzero(self.curves["round"] == rounds)
        if len(at) == 0:
            raise ValueError(f"rounds must be a checkpoint of the run, got {rounds}")
        return float(self.curves[metric][at[0]])


@dataclass(frozen=True)
class Results:
    """A folder of finished cells, found by their keys."""

    folder: Path

    def find(self, cell: Cell) -> Finished | None:
        """Return a cell's result, if it was finished."""
        folder = self._place(cell)
        return Finished(folder) if (folder / _ABOUT).is_file() else None

    def add(self, cell: Cell, result: Result) -> Finished:
        """Write a result; one that somebody else wrote meanwhile stays as it is."""
        place = self._place(cell)
        draft = place.with_name(f".{place.name}.{os.getpid()}.part")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            write_parquet(draft / _CURVES, curves_of(result))
            write_parquet(draft / _ITEMS, items_of(result))
            write_json(draft / _ABOUT, about(cell, result))
            try:
                draft.rename(place)
            except OSError:
                if self.find(cell) is None:
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return Finished(place)

    def _place(self, cell: Cell) -> Path:
        return self.folder / "cells" / cell.key


def about(cell: Cell, result: Result) -> dict[str, Any]:
    """Return a finished cell as one plain document."""
    env = result.env
    return {
        "settings": cell.settings,
        "label": cell.label,
        "metrics": {n: None if math.isnan(v) else v for n, v in result.metrics.items()},
        "optimal_clicks": result.optimal_clicks,
        "users": len(env.users),
        "items": len(env.items),
        "environment": dict(env.info),
        "fingerprint": env.fingerprint,
        "largest_preference": float(np.sqrt((env.preferences**2).sum(axis=1)).max()),
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "seconds": result.seconds,
        "versions": {
            "faircascade": version("faircascade"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
        },
    }


def curves_of(result: Result) -> dict[str, Floats]:
    """Return every metric by checkpoint, with the clicks of each interval by themselves."""
    served = np.add.reduceat(result.tally.served, _starts(result))
    clicks = np.add.reduceat(result.tally.clicks, _starts(result))
    return {**result.curves, "interval_clicks": clicks / np.maximum(served, 1)}


def items_of(result: Result) -> dict[str, Any]:
    """Return one row an item."""
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


def _read(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
