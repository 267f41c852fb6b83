"""Features of the items of a log, from a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log import Log
from faircascade.data.log.log_columns import USUAL
from faircascade.data.log.row_streams import open_rows
from faircascade.data.log.values import numbers
from faircascade.errors import ParameterError
from faircascade.types import Floats, Ids


class ItemFeatures(NamedTuple):
    """Features of a table with a row for each item."""

    logged: Floats
    """Of the items of a log, in its order, (m, d)."""
    other_ids: Ids
    """Items that never were in the log."""
    others: Floats  # (o, d)


def item_features(table: Any, log: Log) -> ItemFeatures:
    """Read the features of the items of a log, and of others, from a table."""
    import pyarrow as pa

    rows = open_rows(table, member=None, sep=None, encoding="utf-8")
    key = log.columns.item if log.columns.item in rows.names else None
    named = [name for name in rows.names if name.lower() in USUAL["item"]]
    key = key or (named[0] if named else rows.names[0])
    table = pa.concat_tables(
        [block for block in rows.blocks(rows.names) if block.num_rows],
        promote_options="permissive",
    )
    codes = {str(value): row for row, value in enumerate(table[key].to_pylist())}
    wanted = [str(item) for item in log.item_ids.tolist()]
    missing = next((item for item in wanted if item not in codes), None)
    if missing is not None:
        raise DataError(f"{rows.label}: item {missing!r} of the log is not in column {key!r}")
    columns = [numbers(table[name]) for name in rows.names if name != key]
    found = np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))
    if not found.size or not np.isfinite(found).all():
        rule = f"must have numbers in all columns but {key!r}"
        raise ParameterError("features", rule, list(rows.names))
    rest = sorted(set(codes.values()) - {codes[item] for item in wanted})
    ids = np.array(table[key].to_pylist(), dtype=object)[rest]
    return ItemFeatures(
        logged=found[[codes[item] for item in wanted]],
        other_ids=ids.astype(str if log.item_ids.dtype.kind in "OU" else log.item_ids.dtype),
        others=found[rest],
    )
