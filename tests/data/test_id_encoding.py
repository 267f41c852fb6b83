"""Ids and repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faircascade.data.base import DataError
from faircascade.data.id_encoding import Coded, assemble, code_dictionary, code_integers

small_or_wide = st.one_of(st.integers(-5, 5), st.integers(-(2**62), 2**62))


@given(st.lists(small_or_wide, max_size=30))
def test_codes_of_integers_lead_back_to_them(values: list[int]) -> None:
    coded = code_integers(np.array(values, dtype=np.int64))
    assert coded.ids[coded.codes].tolist() == values
    assert coded.ids.tolist() == sorted(set(values))
    assert coded.ids.dtype == np.int64
    assert coded.codes.dtype == np.int32


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=30))
def test_narrow_integers_do_not_overflow(values: list[int]) -> None:
    coded = code_integers(np.array(values, dtype=np.int32))
    assert coded.ids[coded.codes].tolist() == values


@given(
    table=st.lists(st.sampled_from(["b", "a", "c", "10", "9"]), min_size=1, max_size=6),
    data=st.data(),
)
def test_codes_of_a_dictionary_leave_out_what_is_not_used(
    table: list[str], data: st.DataObject
) -> None:
    indices = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=20))
    coded = code_dictionary(np.array(table), np.array(indices))
    texts = [table[index] for index in indices]
    assert coded.ids[coded.codes].tolist() == texts
    assert coded.ids.tolist() == sorted(set(texts))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_last_rating_of_each_pair_is_kept_in_order(pairs: list[tuple[int, int]]) -> None:
    users, items = (code_integers(np.array(column)) for column in zip(*pairs, strict=True))
    data = assemble(
        name="x", users=users, items=items, ratings=np.arange(len(pairs)) + 1.0, where=str
    )
    last = {pair: row for row, pair in enumerate(pairs)}
    assert (data.ratings - 1).tolist() == sorted(last.values())
    kept = zip(data.user_ids[data.users], data.item_ids[data.items], strict=True)
    assert [(int(u), int(i)) for u, i in kept] == [pairs[row] for row in sorted(last.values())]
    repeats = len(pairs) - len(last)
    assert data.notes == (
        (f"{repeats:,} ratings repeated a user and item: the last one counts",) if repeats else ()
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_a_rating_that_is_not_finite_is_refused_with_its_place(value: float) -> None:
    ids = Coded(np.array([1, 2]), np.array([0, 1], dtype=np.int32))
    with pytest.raises(DataError, match=r"^row 1: the rating must be a finite number, got"):
        assemble(
            name="x",
            users=ids,
            items=ids,
            ratings=np.array([1.0, value]),
            where=lambda row: f"row {row}",
        )
