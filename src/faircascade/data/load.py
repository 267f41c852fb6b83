"""Load ratings from a name, a file or a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faircascade.data.base import DataError, Dataset, Progress, Ratings
from faircascade.data.tabular import Tabular
from faircascade.registry import build, components, find, suggest


def load_dataset(
    source: Any,
    *,
    path: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Ratings:
    """Load ratings from a data set's name, a file or a DataFrame.

    `source` is a registered name ("synthetic", "ml-1m", "yahoo-r2", ...), the path of a CSV, TSV,
    Parquet or RecBole file (text may be compressed), or a pandas or polars DataFrame. `path` is
    where the files of a named data set lie, if they are not to be downloaded. `options` are the
    parameters of the data set; files and DataFrames take those of "table" (`user=`, `item=`,
    `rating=`, `layout=`, ...).
    """
    if find(Dataset.kind, source) is not None:
        dataset: Dataset = build(Dataset.kind, source, options)
        return dataset.load(None if path is None else Path(path).expanduser(), progress)
    if path is not None:
        raise DataError(f"path= goes with the name of a data set, not with {_described(source)}")
    table: Tabular = build(Dataset.kind, Tabular.name, options)
    if not isinstance(source, str | Path):
        return table.read(source, progress)
    file = Path(source).expanduser()
    if not str(source) or not file.exists():
        raise DataError(_unknown(str(source)))
    return table.load(file, progress)


def _described(source: Any) -> str:
    return repr(str(source)) if isinstance(source, str | Path) else f"a {type(source).__name__}"


def _unknown(source: str) -> str:
    known = list(components(Dataset.kind))
    return (
        f"{source!r} is neither a data set{suggest(source, known)} nor a file; "
        f"the data sets are {', '.join(known)}"
    )
