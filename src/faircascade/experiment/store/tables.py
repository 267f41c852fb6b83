"""Results as one tidy table: a row for each policy, seed, checkpoint and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.errors import ParameterError
from faircascade.experiment.cell import Cell
from faircascade.experiment.environment_options import flat_options
from faircascade.experiment.store.manifest import read_studies
from faircascade.experiment.store.results import FinishedCell
from faircascade.experiment.study import Study
from faircascade.registry import flat_spec, suggest

BACKENDS = ("pandas", "polars", "pyarrow")

_LAST = ("seed", "round", "last", "metric", "value", "cell")
_REPEATED = ("spec", "data", "policy", "metric", "cell")
"""Columns of few and long values, which are stored once each."""
_TYPES = {
    **dict.fromkeys(_REPEATED, "string"),
    "seed": "int64",
    "round": "int64",
    "last": "bool",
    "value": "double",
}


def load_results(run: str | Path, *, backend: str | None = None) -> Any:
    """Return the results of a run, finished or not, as a DataFrame.

    One row for each policy, seed, checkpoint (`round`) and metric, with its `value`; `last` marks
    the end of a cell. Options of the environment and parameters of policies have columns as far
    as they vary. `backend` is "pandas", "polars" or "pyarrow"; by default the first that is
    installed.
    """
    chosen = backend or next(name for name in BACKENDS if find_spec(name) is not None)
    if chosen not in BACKENDS:
        raise ParameterError(
            "backend", f"must be one of {', '.join(BACKENDS)}{suggest(chosen, BACKENDS)}", chosen
        )
    table = tidy(read_studies(run))
    if chosen == "pandas":
        return table.to_pandas()
    if chosen == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def tidy(studies: Sequence[Study]) -> Any:
    """Return the finished cells of some studies as one table (pyarrow)."""
    import pyarrow as pa

    found = [
        (study, cell, finished)
        for study in studies
        for cell in study.cells
        if (finished := study.results.find(cell)) is not None
    ]
    sources = _varying([_source(cell) for _, cell, _ in found])
    options = _varying([flat_options(cell.environment) for _, cell, _ in found])
    parameters = _varying([flat_spec(cell.policy) for _, cell, _ in found])
    parts = [
        _rows(study.spec.name, cell, finished, sources, options, parameters)
        for study, cell, finished in found
    ]
    columns: dict[str, Any] = {}
    for name in ("spec", "data", *sources, *options, "policy", *parameters, *_LAST):
        values = [value for part in parts for value in part.get(name, ())]
        kinds = {type(value) for value in values} - {type(None)}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [None if value is None else str(value) for value in values]
        array = pa.array(values, type=_TYPES.get(name))
        columns[name] = array.dictionary_encode() if name in _REPEATED else array
    return pa.table(columns)


def _source(cell: Cell) -> dict[str, Any]:
    """Return the options of a cell's data by their dotted names."""
    return {f"data.{name}": value for name, value in cell.data.items() if name != "name"}


def _rows(
    spec: str,
    cell: Cell,
    finished: FinishedCell,
    sources: Sequence[str],
    options: Sequence[str],
    parameters: Sequence[str],
) -> dict[str, list[Any]]:
    """Return the rows of one cell, by column."""
    curves = finished.curves
    metrics = [name for name in curves if name != "round"]
    rounds = curves["round"].astype(np.int64).tolist()
    n = len(rounds) * len(metrics)
    source, policy = _source(cell), flat_spec(cell.policy)
    environment = flat_options(cell.environment)
    same: dict[str, Any] = {
        "spec": spec,
        "data": str(cell.data["name"]),
        **{name: _plain(source.get(name)) for name in sources},
        **{name: _plain(environment.get(name)) for name in options},
        "policy": cell.label,
        **{name: _plain(policy.get(name)) for name in parameters},
        "seed": cell.seed,
        "cell": cell.key,
    }
    return {name: [value] * n for name, value in same.items()} | {
        "round": rounds * len(metrics),
        "last": [at == cell.rounds for at in rounds] * len(metrics),
        "metric": [name for name in metrics for _ in rounds],
        "value": [float(value) for name in metrics for value in curves[name]],
    }


def _varying(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names that have several values."""
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if len({repr(r[name]) for r in records if name in r}) > 1]


def _plain(value: Any) -> Any:
    """Return a parameter as a column can hold it."""
    return value if isinstance(value, int | float | str | None) else str(value)
