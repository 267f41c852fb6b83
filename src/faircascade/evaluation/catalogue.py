"""The items that a policy may show, and where those of a log stand among them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faircascade.data.base import DataError
from faircascade.data.columns import (
    USUAL_NAMES,
    find_column,
    id_column,
    number_column,
    usual_column,
)
from faircascade.data.layouts import TextOptions
from faircascade.data.text_tables import open_table
from faircascade.data.vectors import VECTORS, vectors
from faircascade.errors import ParameterError
from faircascade.policies import Policy
from faircascade.types import Floats, Ids, Ints, Items


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """Items of a policy and items of a log, in one numbering: the policy's come first."""

    items: Items
    row_of_code: Ints
    """Where each logged item stands; beyond the catalogue if the policy does not have it, (m,)."""
    code_of_row: Ints
    """The code of each item of the policy in the log, -1 if it was never logged, (p,)."""
    size: int
    """Items of both together."""

    @classmethod
    def of(cls, items: Items, logged: Ids) -> Catalogue:
        """Find the items of a log, whose ids count as text."""
        rows = {str(item): row for row, item in enumerate(items.ids.tolist())}
        found = np.array([rows.get(str(item), -1) for item in logged.tolist()], dtype=np.int64)
        missing = np.flatnonzero(found < 0)
        if len(missing) == len(logged):
            raise ParameterError(
                "items", f"must have items of the log, such as {logged[0]!s}", items.ids[0]
            )
        codes = np.full(len(items), -1, dtype=np.int64)
        codes[found[found >= 0]] = np.flatnonzero(found >= 0)
        found[missing] = len(items) + np.arange(len(missing))
        return cls(
            items=items,
            row_of_code=found,
            code_of_row=codes,
            size=len(items) + len(missing),
        )

    @property
    def not_of_policy(self) -> int:
        """How many logged items the policy does not have."""
        return self.size - len(self.items)

    def rows(self, codes: Any) -> Ints:
        """Return rows of item codes of any shape; -1 stays -1."""
        return np.asarray(np.where(codes >= 0, self.row_of_code[codes], -1))

    def codes(self, rows: Any) -> Ints:
        """Return the codes of rows of the policy's items, -1 for items that were not logged."""
        return np.asarray(self.code_of_row[rows])


def read_items(source: Any, ids: Any = None) -> Items:
    """Return items from a catalogue, features (m, d) with their ids, or a table.

    In a table a column names the items. Their features are a column of vectors, if one is called
    like that (`features`, `vector`, `embedding`), or else all columns of numbers.
    """
    if isinstance(source, Items):
        return source
    if isinstance(source, np.ndarray):
        if ids is None:
            rule = "must be given with an array of features: the ids of its rows"
            raise ParameterError("item_ids", rule, ids)
        return Items.of(source, ids=ids)
    table = open_table(Path(source) if isinstance(source, str) else source, TextOptions())
    name = find_column(table, "item", None, (*USUAL_NAMES["item"], "id"))
    columns = table.read({name: "id"})
    coded = id_column(columns[name], table, name)
    if len(coded.ids) < len(coded.codes):
        raise DataError(f"{table.label}: column {name!r} must have every item once")
    features = _features(table, name)
    return Items.of(features, ids=coded.ids[coded.codes])


def _features(table: Any, ids: str) -> Floats:
    name = usual_column(table, VECTORS)
    if name not in (None, ids) and _numbers(table, name) is None:
        return vectors(table.read({name: "text"})[name], table, name)
    columns = [
        found
        for name in table.names
        if name != ids and (found := _numbers(table, name)) is not None
    ]
    if not columns:
        raise DataError(f"{table.label}: there is no column of numbers, so there are no features")
    return np.column_stack(columns)


def _numbers(table: Any, name: str) -> Floats | None:
    """Return a column of numbers; nothing if it is text: a name, a group."""
    try:
        return number_column(table.read({name: "number"})[name], table, name)
    except DataError:
        return None


def items_for(policy: Policy, items: Items | None, logged: Ids, clicks: Floats) -> Items:
    """Return the catalogue for a policy: the one given, or the items of the log without features.

    How often items were clicked in the log is their popularity there, (m,).
    """
    if items is not None:
        return items
    if policy.needs_features or policy.needs_topics:
        raise ParameterError(
            "items",
            f"must be given for policy {policy.label!r}, which knows items by their features",
            None,
        )
    return Items.of(np.ones((len(logged), 1)), ids=logged, popularity=clicks)
