"""Columns of attributes give back what was put in, however they are cut and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from faircascade.service.catalogue.attribute_columns import AttributeColumns, Vocabulary, kind_of

VALUES = {
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "flag": st.booleans(),
    "text": st.text(min_size=1, max_size=3),
    "tags": st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
}
ITEM = st.fixed_dictionaries({}, optional=VALUES)


def rows_of(columns: AttributeColumns, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    return [columns.row(row, vocabulary) for row in range(len(columns))]


@given(first=st.lists(ITEM, max_size=6), second=st.lists(ITEM, max_size=6), data=st.data())
def test_columns_are_their_rows(
    first: list[dict[str, Any]], second: list[dict[str, Any]], data: st.DataObject
) -> None:
    vocabulary = Vocabulary()
    parts = [AttributeColumns.of(part, vocabulary) for part in (first, second)]
    both = AttributeColumns.join(parts)
    assert rows_of(both, vocabulary) == first + second
    rows = data.draw(st.lists(st.integers(0, max(len(both) - 1, 0)), max_size=len(both)))
    taken = both.take(np.array(rows, dtype=np.int64))
    assert rows_of(taken, vocabulary) == [(first + second)[row] for row in rows]
    assert {name for name, _ in taken.columns} == {n for row in rows for n in (first + second)[row]}
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(both), max_size=len(both))), bool
    )
    kept = [row for row, keep in zip(first + second, mask, strict=True) if keep]
    assert rows_of(both.take(mask), vocabulary) == kept
    assert rows_of(both.take(slice(1, 4)), vocabulary) == (first + second)[1:4]


def test_a_name_with_two_kinds_keeps_both_apart() -> None:
    vocabulary = Vocabulary()
    items: list[dict[str, Any]] = [{"x": 1.0}, {"x": "one"}, {"x": True}, {"x": ["one"]}]
    columns = AttributeColumns.of(items, vocabulary)
    assert {kind for _, kind in columns.columns} == {kind_of(item["x"]) for item in items}
    assert rows_of(columns, vocabulary) == items
