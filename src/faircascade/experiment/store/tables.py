"""Results as one tidy table: a row for each policy, seed, checkpoint and metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.errors import check_choice
from faircascade.experiment.cell_result import CellResult
from faircascade.experiment.comparison import Comparison
from faircascade.experiment.store.files import write_json, write_table
from faircascade.experiment.store.manifest import read_studies
from faircascade.experiment.study_results import EnvironmentResults, StudyResults
from faircascade.registry import flat_spec

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
    installed (pyarrow always is).
    """
    chosen = backend or next(name for name in BACKENDS if find_spec(name) is not None)
    check_choice("backend", chosen, BACKENDS)
    if find_spec(chosen) is None:
        raise ValueError(f"backend {chosen!r} is not installed: pip install {chosen}")
    table = tidy(read_studies(run))
    if chosen == "pandas":
        return table.to_pandas()
    if chosen == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def tidy(studies: Sequence[StudyResults]) -> Any:
    """Return the finished runs of some studies as one table (pyarrow)."""
    import pyarrow as pa

    found = list(_runs(studies))
    sources = _varying([_source(environment) for _, environment, _, _ in found])
    options = _varying([environment.options for _, environment, _, _ in found])
    parameters = _varying([flat_spec(e.policies[label]) for _, e, label, _ in found])
    parts = [_rows(*each, sources, options, parameters) for each in found]
    columns: dict[str, Any] = {}
    for name in ("spec", "data", *sources, *options, "policy", *parameters, *_LAST):
        values = [value for part in parts for value in part.get(name, ())]
        kinds = {type(value) for value in values} - {type(None)}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [None if value is None else str(value) for value in values]
        array = pa.array(values, type=_TYPES.get(name))
        columns[name] = array.dictionary_encode() if name in _REPEATED else array
    return pa.table(columns)


def save_comparison(comparison: Comparison, folder: str | Path) -> list[Path]:
    """Write results.json, results.parquet and items.parquet; return the paths."""
    places = [Path(folder) / f"results.{form}" for form in ("json", "parquet")]
    write_json(places[0], comparison.document())
    write_table(places[1], tidy([comparison]))
    places.append(Path(folder) / "items.parquet")
    write_table(places[2], _items(comparison))
    return places


def _items(study: StudyResults) -> Any:
    """Return one row for each policy, seed and item: exposure by every notion, and clicks."""
    import pyarrow as pa

    parts = []
    for _, _, label, run in _runs([study]):
        n = len(run.items["item"])
        columns = {**run.items, **run.exposures._asdict()}
        parts.append(pa.table({"policy": [label] * n, "seed": [run.seed] * n, **columns}))
    return pa.concat_tables(parts)


def _runs(
    studies: Iterable[StudyResults],
) -> Iterator[tuple[str, EnvironmentResults, str, CellResult]]:
    """Yield every finished run with its study, environment and policy."""
    for study in studies:  # over the catalogue: metrics over eligible items have names of their own
        for environment in study.measured("catalogue").environments:
            for label, runs in environment.runs.items():
                for run in runs:
                    yield study.name, environment, label, run


def _source(environment: EnvironmentResults) -> dict[str, Any]:
    """Return the options of the data by their dotted names."""
    return {f"data.{name}": value for name, value in environment.data.items() if name != "name"}


def _rows(
    spec: str,
    environment: EnvironmentResults,
    label: str,
    run: CellResult,
    sources: Sequence[str],
    options: Sequence[str],
    parameters: Sequence[str],
) -> dict[str, list[Any]]:
    """Return the rows of one run, by column."""
    curves = run.curves
    metrics = [name for name in curves if name != "round"]
    rounds = curves["round"].astype(np.int64).tolist()
    n = len(rounds) * len(metrics)
    source, policy = _source(environment), flat_spec(environment.policies[label])
    same: dict[str, Any] = {
        "spec": spec,
        "data": str(environment.data["name"]),
        **{name: _plain(source.get(name)) for name in sources},
        **{name: _plain(environment.options.get(name)) for name in options},
        "policy": label,
        **{name: _plain(policy.get(name)) for name in parameters},
        "seed": run.seed,
        "cell": run.key,
    }
    return {name: [value] * n for name, value in same.items()} | {
        "round": rounds * len(metrics),
        "last": [at == run.rounds for at in rounds] * len(metrics),
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
