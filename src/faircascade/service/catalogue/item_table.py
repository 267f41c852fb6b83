"""Items from a user's file: ids, features and what else is known of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from faircascade.data.base import DataError
from faircascade.data.columns import (
    LONGEST_NAME,
    USUAL_NAMES,
    id_column,
    listed,
    number_column,
    text_values,
)
from faircascade.data.tables import Role, Table
from faircascade.service.catalogue.attribute_table import check_names, read_attributes
from faircascade.service.catalogue.feature_columns import (
    columns_of,
    find_features,
    named_columns,
    read_features,
    usual_column,
)
from faircascade.service.catalogue.item_file import open_items, rephrased_errors
from faircascade.service.ids import LONGEST_ID, Id
from faircascade.service.messages import ItemChange
from faircascade.types import Floats

log = logging.getLogger(__name__)

SHORTEST, LONGEST = 0.01, 10.0
"""Lengths of feature rows that a policy copes with; it is made for about 1."""

IDS = (*USUAL_NAMES["item"], "id", "name")
LABELS = {
    "group": ("group", "groups", "genre", "genres", "category"),
    "supplier": ("supplier", "supplier_id", "provider", "artist", "seller", "vendor"),
}
NUMBERS = {"merit": ("merit",), "popularity": ("popularity",)}

_IDS = TypeAdapter(list[Id])


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTable:
    """What a file of items says."""

    items: list[ItemChange]
    dim: int
    topics: int
    notes: tuple[str, ...]
    """How it was read: which columns were taken for what."""


def read_items(
    path: str | Path,
    features: str | None = None,
    topics: str | None = None,
    attributes: str | None = None,
) -> ItemTable:
    """Read a Parquet, CSV or TSV file of items; the rest name columns of these."""
    table = open_items(path)
    for name in table.names:
        if table.names.count(name) > 1:
            raise DataError(f"{table.label}: column {name[:LONGEST_NAME]!r} appears more than once")
    item = usual_column(table, IDS)
    if item is None:
        raise DataError(
            f"{table.label}: no column looks like item ids ({', '.join(IDS[:3])}, id); "
            f"the columns are {listed(table.names)}; call one of them item_id"
        )
    labels = _found(table, LABELS)
    numbers = _found(table, NUMBERS)
    about = None if topics is None else named_columns(table, topics, "--topics")
    topic_names = () if about is None else about.names
    more = () if attributes is None else columns_of(table, attributes, "--attributes")
    check_names(more, table)
    taken = (item, *labels.values(), *numbers.values(), *topic_names, *more)
    where = find_features(table, features, taken)
    wanted: dict[str, Role] = {
        **dict.fromkeys(more, "text"),
        **dict.fromkeys(labels.values(), "text"),
        **dict.fromkeys(numbers.values(), "number"),
        **where.roles(table),
        **({} if about is None else about.roles(table)),
        item: "id",
    }
    with rephrased_errors(table.names):
        columns = table.read(wanted)
    if len(columns[item]) == 0:
        raise DataError(f"{table.label}: has no items")
    ids = _ids(columns[item], table, item)
    X = read_features(where, columns, table)
    T = np.zeros((len(ids), 0))
    if about is not None:
        T = read_features(about, columns, table, lowest=0.0, largest=1.0)
    _check_length(X, table)
    known: dict[str, Any] = {
        name: text_values(columns[column], np.arange(len(ids))).tolist()
        for name, column in labels.items()
    }
    known |= {
        name: _numbers(columns[column], table, column, positive=name == "merit").tolist()
        for name, column in numbers.items()
    }
    attributes_of = read_attributes(columns, more, table) or [{}] * len(ids)
    others = [name for name in table.names if name not in wanted]
    return ItemTable(
        items=[
            ItemChange(
                item=name,
                features=X[row],
                topics=T[row],
                attributes=attributes_of[row],
                **{what: values[row] for what, values in known.items()},
            )
            for row, name in enumerate(ids)
        ],
        dim=X.shape[1],
        topics=T.shape[1],
        notes=(
            f"features: {where}",
            *([] if about is None else [f"topics: {about}"]),
            *([f"attributes: {listed(more)}"] if more else []),
            *([f"not used: {listed(others)} (--attributes keeps them)"] if others else []),
        ),
    )


def _found(table: Table, usual: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the columns that are there by what they say."""
    columns = {what: usual_column(table, names) for what, names in usual.items()}
    return {what: name for what, name in columns.items() if name is not None}


def _ids(column: Any, table: Table, name: str) -> list[str]:
    """Return the ids of all rows as text, each there once."""
    coded = id_column(column, table, name)
    ids: list[str] = coded.ids[coded.codes].astype(str).tolist()
    check_ids(ids, lambda row: f"{table.where(row)}: column {name!r}")
    first: dict[str, int] = {}
    for row, text in enumerate(ids):
        if first.setdefault(text, row) != row:
            raise DataError(
                f"{table.where(row)}: column {name!r} must name each item once, got {text!r} again"
            )
    return ids


def check_ids(ids: list[str], where: Callable[[int], str]) -> None:
    """Refuse ids that no request could name; `where(row)` says what it is about."""
    try:
        _IDS.validate_python(ids)
    except ValidationError as error:
        row = int(error.errors()[0]["loc"][0])
        raise DataError(
            f"{where(row)} must be text of 1 to {LONGEST_ID} characters, none of them a control "
            f"character, got {ids[row][:60]!r}"
        ) from None


def _numbers(column: Any, table: Table, name: str, *, positive: bool) -> Floats:
    if not positive:
        return number_column(column, table, name, at_least=0)
    values = number_column(column, table, name)
    good = values > 0
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(
            f"{table.where(row)}: column {name!r} must be a finite number > 0, "
            f"got {float(values[row])}"
        )
    return values


def _check_length(X: Floats, table: Table) -> None:
    """Warn of features that make scores and exploration too large or too small to matter."""
    length = float(np.median(np.linalg.norm(X, axis=1)))
    if not SHORTEST <= length <= LONGEST:
        log.warning(
            f"{table.label}: features have a length of about {length:.3g}; "
            "scores and exploration assume about 1: scale them"
        )
