"""A comparison on disk: one JSON document and tidy Parquet tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faircascade.experiment.comparison import Comparison
from faircascade.experiment.machine import platform_versions
from faircascade.experiment.store.files import write_json, write_parquet
from faircascade.metrics.exposure import Exposures, exposures


def save_comparison(comparison: Comparison, folder: str | Path) -> list[Path]:
    """Write results.json, results.parquet, curves.parquet and items.parquet; return the paths."""
    folder = Path(folder)
    tables = {
        "results": _results(comparison),
        "curves": _curves(comparison),
        "items": _items(comparison),
    }
    paths = [folder / "results.json", *(folder / f"{name}.parquet" for name in tables)]
    write_json(paths[0], document(comparison))
    for name, columns in tables.items():
        write_parquet(folder / f"{name}.parquet", columns)
    return paths


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as one plain document."""
    return {
        **platform_versions(),
        "baseline": comparison.baseline,
        "rounds": comparison.rounds,
        "seeds": list(comparison.seeds),
        "interrupted": comparison.interrupted,
        "table": [{key: _plain(value) for key, value in row.items()} for row in comparison.table()],
        "runs": [result.summary() for runs in comparison.results.values() for result in runs],
    }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


def _runs(comparison: Comparison) -> list[tuple[str, Any]]:
    return [(label, result) for label, runs in comparison.results.items() for result in runs]


def _results(comparison: Comparison) -> dict[str, Any]:
    """One row for each policy, seed and metric."""
    rows = [
        (label, result.seed, metric, result.metrics[metric])
        for label, result in _runs(comparison)
        for metric in comparison.metrics
    ]
    return dict(
        zip(("policy", "seed", "metric", "value"), map(list, zip(*rows, strict=True)), strict=True)
    )


def _curves(comparison: Comparison) -> dict[str, Any]:
    """One row for each policy, seed, checkpoint and metric."""
    parts = [
        (label, result.seed, result.curves["round"], name, column)
        for label, result in _runs(comparison)
        for name, column in result.curves.items()
        if name != "round"
    ]
    return {
        "policy": [label for label, _, rounds, _, _ in parts for _ in rounds],
        "seed": [seed for _, seed, rounds, _, _ in parts for _ in rounds],
        "round": np.concatenate([rounds for _, _, rounds, _, _ in parts]).astype(np.int64),
        "metric": [name for _, _, rounds, name, _ in parts for _ in rounds],
        "value": np.concatenate([column for *_, column in parts]),
    }


def _items(comparison: Comparison) -> dict[str, Any]:
    """One row for each policy, seed and item: exposure by every notion, and clicks."""
    runs = _runs(comparison)
    columns: dict[str, Any] = {
        "policy": [label for label, result in runs for _ in range(len(result.env.items))],
        "seed": [result.seed for _, result in runs for _ in range(len(result.env.items))],
        "item": np.concatenate([result.env.items.ids.astype(str) for _, result in runs]),
        "merit": np.concatenate([result.env.items.merit for _, result in runs]),
    }
    shared = [exposures(result.record) for _, result in runs]
    for name in Exposures._fields:
        columns[name] = np.concatenate([getattr(one, name) for one in shared])
    columns["clicks"] = np.concatenate([r.record.item_clicks.sum(axis=1) for _, r in runs])
    return columns
