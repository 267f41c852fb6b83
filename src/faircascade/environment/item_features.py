"""Features of the items of a log, from a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.log import Log
from faircascade.data.log.log_columns import USUAL
from faircascade.data.log.row_streams import RowStream, open_rows
from faircascade.data.log.values import numbers, raw
from faircascade.data.log.vocabulary import Vocabulary
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
    blocks = [block for block in rows.blocks(rows.names) if block.num_rows]
    if not blocks:
        raise DataError(f"{rows.label}: there are no rows in it")
    table = pa.concat_tables(blocks, promote_options="permissive")
    ids, at = _rows_by_item(rows, table[key], key)
    wanted = log.item_ids.astype(str).tolist()
    missing = next((item for item in wanted if item not in at), None)
    if missing is not None:
        raise DataError(f"{rows.label}: item {missing!r} of the log is not in column {key!r}")
    names = [name for name in rows.names if name != key]
    if not names:
        raise DataError(f"{rows.label}: there must be a column of numbers beside {key!r}")
    found = np.stack([_numbers(rows, table[name], name) for name in names], axis=1)
    logged = np.array([at[item] for item in wanted])
    others = np.setdiff1d(np.arange(len(table)), logged)
    return ItemFeatures(logged=found[logged], other_ids=ids[others], others=found[others])


def _rows_by_item(rows: RowStream, column: Any, key: str) -> tuple[Ids, dict[str, int]]:
    """Return the item of each row, and the row of each item, by its id as text."""
    vocabulary = Vocabulary()
    codes = vocabulary.codes(column)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        rule = "must be text or a whole number"
        raise DataError(f"{rows.where(row)}: column {key!r} {rule}, got {raw(column, row)!r}")
    ids = vocabulary.ids[codes]
    at: dict[str, int] = {}
    for row, item in enumerate(ids.astype(str).tolist()):
        if at.setdefault(item, row) != row:
            rule = f"must have each item once, got {item!r} again"
            raise DataError(f"{rows.where(row)}: column {key!r} {rule}")
    return ids, at


def _numbers(rows: RowStream, column: Any, name: str) -> Floats:
    found = numbers(column)
    bad = ~np.isfinite(found)
    if bad.any():
        row = int(np.argmax(bad))
        rule = "must be a number, as features are; leave out columns that are none"
        raise DataError(f"{rows.where(row)}: column {name!r} {rule}, got {raw(column, row)!r}")
    return found
